"""An image, or a host below another root, in which anything may lie: it is judged in time, nothing outside is read, nothing changed."""

import contextlib
import os
import shutil
import subprocess
import sys
import time

import pytest

from hostagent.outputs import FORMATS
from tests.attack import held_trees
from tests.attack.held_judge import PLACEABLE, wrongs
from tests.attack.held_run import FULL, Rows, some
from tests.trees import hosts

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("gcc"), reason="device nodes need root, the stub of NVML gcc")

ROWS = {**held_trees.BARE, **held_trees.ODD}
FEWEST = 44
DEADLINE_S = 8
#: Beyond the deadline, as docs/adr/0012 limits evaluation and writing; a busy machine may have to wait for a processor.
GRACE_S = 3 + 2
#: For what is only long: its reader is linear, and need not be stopped by the deadline.
QUICK_S = 5
_SWAP = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1].encode())
while True:
    libc.renameat2(-100, b"os-release", -100, b"swapped", 2)
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    with contextlib.closing(Rows(tmp_path_factory.mktemp("temporary"))) as running:
        yield running


def inventory(root):
    found = {}
    for directory, names, others in os.walk(os.fsencode(root)):
        for name in (*names, *others):
            one = os.lstat(os.path.join(directory, name))
            found[os.path.join(directory, name)] = (one.st_mode, one.st_size, one.st_mtime_ns, one.st_rdev, one.st_uid)
    return found


def test_no_fewer_are_tried_than_were_before():
    assert len(ROWS) * 2 >= FEWEST


@pytest.mark.parametrize("name", some(ROWS, 2, ("out", "FIFO", "of one word", "keyrings", "rpm", "sections")))
def test_an_odd_tree_is_judged_and_left_as_it_was(name, rows, tmp_path):
    root = hosts.hgx_h100_here(tmp_path / "host").root
    ROWS[name](root)
    before = inventory(root)
    found = []
    for option in ("--host-root", "--root"):
        outcome = rows.run("check", option, root, "--format", "json", "--deadline", DEADLINE_S, timeout_s=40)
        never = PLACEABLE if name in held_trees.BARE or "rpm" in name else ()
        codes = (1, 2) if "directories " in name else (0, 1)  # without proc and sys it is no host: a sentence says so
        found += [f"{option}: {one}" for one in wrongs(outcome, "json", never=never, codes=codes)]
        most_s = QUICK_S if name in held_trees.LONG else DEADLINE_S + GRACE_S
        found += [f"{option}: took {outcome.took_s:.1f} s"] if outcome.took_s > most_s else []
        found += [f"{option}: read what is outside"] if held_trees.SECRET in outcome.out + outcome.err else []
    assert not found, "\n".join(found)
    assert inventory(root) == before
    assert os.listdir(rows.temporary) == []


def test_no_link_out_of_a_tree_brings_anything_into_a_snapshot(rows, tmp_path):
    for name in ("links out", "links up and out"):
        root = hosts.hgx_h100_here(tmp_path / name / "host").root
        held_trees.BARE[name](root)
        for option in ("--host-root", "--root"):
            outcome = rows.run("snapshot", "save", tmp_path / "tape", "--no-redact", option, root, "--deadline", DEADLINE_S)
            assert wrongs(outcome, codes=(0,)) == []
            assert held_trees.SECRET not in (tmp_path / "tape").read_text()


def test_an_os_release_that_is_now_a_file_and_now_a_pipe(rows, tmp_path):
    root = hosts.hgx_h100_here(tmp_path / "host").root
    release = root / "etc/os-release"
    text = release.read_text()
    release.unlink()
    release.write_text(text)
    os.mkfifo(root / "etc/swapped")
    swapping = subprocess.Popen([sys.executable, "-c", _SWAP, str(root / "etc")])
    try:
        found = []
        for turn in range(30 if FULL else 10):
            started = time.monotonic()
            outcome = rows.run("check", "--host-root", root, "--only", "os", "--deadline", "5", "--format", FORMATS[turn % 2])
            found += wrongs(outcome, FORMATS[turn % 2], codes=(0, 1))
            found += ["it waited for the pipe"] if time.monotonic() - started > 4 else []
    finally:
        swapping.kill()
        swapping.wait()
    assert not found, "\n".join(found)


def _in_names(root):
    held_trees.odd_names(root)


def _in_the_log(root):
    evil = held_trees.EVIL.replace("\n", " ")
    with (root / "dev/kmsg").open("a") as stream:
        stream.write(f"4,9999,999999999,-;NVRM: Xid (PCI:0000:9d:00): 79, pid=1, name={evil}\n4,10000,999999999,-;nvidia: {evil}\n")
    with (root / "var/log/fabricmanager.log").open("a") as stream:
        stream.write(f"[Nov 10 2026 06:00:22] [ERROR] [tid 870] {evil}\n")


def _in_os_release(root):
    evil = held_trees.EVIL.replace('"', "").replace("\n", " ").replace("\\", "")
    held_trees.os_release(f'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="{evil}"\nNAME="{evil}"\n'.encode())(root)
    (root / "proc/sys/kernel/hostname").write_text(f"{evil}\n")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("place", [_in_names, _in_the_log, _in_os_release], ids=lambda place: place.__name__)
def test_what_ends_a_text_ends_no_report(place, form, rows, tmp_path):
    root = hosts.hgx_h100_here(tmp_path / "host").root
    place(root)
    outcome = rows.run("check", "--host-root", root, "--format", form, "-v", "--deadline", DEADLINE_S)
    assert wrongs(outcome, form, codes=(0, 1)) == []
