"""A run that is ended at any moment: no half file, no process, nothing in the temporary directory, no traceback."""

import contextlib
import json
import os
import random
import shutil
import signal
import time

import pytest

from tests.attack import held_trees
from tests.attack.held_judge import is_traceback
from tests.attack.held_run import FULL, HOSTS, Rows, finished, script
from tests.trees import hosts

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("gcc"), reason="device nodes need root, the stub of NVML gcc")

SIGNALS = ("KILL", "TERM", "INT", "PIPE", "HUP", "QUIT")
#: Of each signal.
TIMES = 60 if FULL else 6
OLD = '{"old": true}\n'
_AT_ONCE_S = 0.4


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    with contextlib.closing(Rows(tmp_path_factory.mktemp("temporary"))) as running:
        yield running


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    place = tmp_path_factory.mktemp("trees")
    healthy = hosts.hgx_h100_here(place / "healthy").root
    image = hosts.hgx_h100_here(place / "image").root
    held_trees.rpm(lambda database: (database / "rpmdb.sqlite").write_bytes(b"SQLite format 3\0" + os.urandom(16 << 20)))(image)
    return healthy, image


def commands(trees, file):
    healthy, image = trees
    return (
        ("check", "--profile", "default", "--format", "json", "-o", file),
        ("check", "--host-root", healthy, "--format", "json", "-o", file),
        ("check", "--root", image, "--format", "json", "-o", file),
        ("check", "--save-state"),
        ("snapshot", "save", file),
        ("snapshot", "adopt", HOSTS / "no-gpu-vm", f"{file}.d"),
    )


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_at_a_random_moment(name, rows, trees, tmp_path):
    dice = random.Random(name)
    number = getattr(signal, f"SIG{name}")
    file = tmp_path / "out"
    found = []
    for turn in range(TIMES):
        file.write_text(OLD)
        arguments = commands(trees, file)[turn % 6]
        after_s = dice.uniform(0, _AT_ONCE_S)
        if turn % 5 == 4:  # from the first instruction of the interpreter on
            process = script(*arguments, environment={"TMPDIR": str(rows.temporary)}, before=_PRIVATE)
            time.sleep(after_s * 2)
            process.send_signal(number)
            outcome = finished(process)
        else:
            outcome = rows.run(*arguments, kill=(int(number), after_s))
        found += [f"{' '.join(map(str, arguments[:2]))} after {after_s:.3f} s: {one}" for one in _rests(outcome, tmp_path, rows)]
    assert not found, "\n".join(found)


#: A state file of its own: the machine's is not for tests.
_PRIVATE = "from tests.attack import held_setups as h;os.makedirs('/run/hostagent',exist_ok=True);h.small('/run/hostagent','1024')"


def _rests(outcome, place, rows):
    if outcome.code == "late":
        yield "it did not end"
    if outcome.left:
        yield f"left {outcome.left}"
    if is_traceback(outcome) and ", in main\n" in outcome.err:  # what comes before is Python's own start
        yield f"traceback: {outcome.err[-200:]}"
    for name in os.listdir(place):
        path = place / name
        if name == "out":
            with contextlib.suppress(FileNotFoundError):
                json.loads(path.read_text())  # the old one or the new one, whole
        elif name == "out.d":
            if outcome.code == 0:
                assert sorted(os.listdir(path)) == ["expect.yaml", "tape.json"]
            shutil.rmtree(path)
        else:
            yield f"left the file {name}"
            path.unlink()
    for name in os.listdir(rows.temporary):
        yield f"left {name} in the temporary directory"
        shutil.rmtree(rows.temporary / name)
