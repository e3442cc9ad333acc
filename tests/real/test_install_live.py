"""hostagent on a host that it runs on: live, and from a container that has the host's root as a directory. One host for all: each test leaves it as it was."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import psutil
import pytest

from tests.real.conftest import need_module, need_real
from tests.real.installing import TOOLKIT, changed
from tests.real.installroots import clone, place, tree
from tests.real.liveroot import Live

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and mounts need root")]
TOOLS = ("--only", "toolkit", "--only", "runtime")
#: The state file, which belongs to the checks of the site's own profile.
STATE = "/run/hostagent/state.json"
OLD, NEW = "570.211.01", "580.178.04"
WITHOUT_ANSIBLE = (
    "import sys, runpy; sys.modules['ansible_runner'] = None; runpy.run_module('hostagent', run_name='__main__', alter_sys=True)"
)


@pytest.fixture(scope="module")
def machine():
    need_real("mmdebstrap", "sudo bash tests/real/install.sh")
    need_module("ansible_runner", "pip install -e '.[dev]'")
    with place() as where:
        root = clone("debian", where)
        root.apt("install", f"linux-image-{os.uname().release}")
        host = Live(root, more="gpus: {required: false}\n")
        (root.path / "etc/hostagent").mkdir()
        (root.path / "etc/hostagent/profile.yaml").write_text(host.profile.read_text())
        host.gpu()
        yield host


@pytest.fixture
def host(machine):
    with machine.up():
        yield machine


def ended(done, code):
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def differences(before, after):
    return {
        key: changed(before[key], after[key]) if isinstance(before[key], dict) else (before[key], after[key])
        for key in before
        if before[key] != after[key]
    }


def answered(host, answer, *words):
    """At a terminal of its own."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(host.command("install", *words), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as process:
        os.close(theirs)
        os.write(ours, answer)
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            said += part
        process.wait(60)
    os.close(ours)
    return process.returncode, said.decode()


def test_nothing_changes_where_nobody_agrees_or_ansible_is_missing(host):
    before = tree(host.root.path)
    done = subprocess.run(host.command("install", *TOOLS), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert "neither --yes nor a terminal" in ended(done, 2)
    missing = [*host.enter(sys.executable, "-c", WITHOUT_ANSIBLE), "install", "--yes", "--profile", "/root/profile.yaml", *TOOLS]
    done = subprocess.run(missing, capture_output=True, text=True, check=False)
    said = ended(done, 2)
    assert "wanted what carries out a plan" in said
    assert re.search(r"Install it: \S+ install .*-r \S*requirements-install\.txt|Install the extra 'install' into /", said)
    assert "install 'hostagent[install]'" not in said  # a name of an index
    code, said = answered(host, b"n\n", *TOOLS)
    assert code == 4, said
    assert "Do this?" in said
    assert changed(before, tree(host.root.path)) == []


def _its_python(process):
    """hostagent itself, which nsenter has started."""
    return next(one for one in psutil.Process(process.pid).children(recursive=True) if "hostagent" in one.cmdline())


def _interrupted(host, number):
    """While a package's script works."""
    host.root.switch("nvidia-container-toolkit-base", "3")
    process = host.start("install", "--yes", *TOOLS)
    for line in process.stdout:
        if line.startswith("[") and "toolkit.packages" in line:
            break
    time.sleep(0.5)
    _its_python(process).send_signal(number)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert "Interrupted" in said
    host.root.switch("nvidia-container-toolkit-base", "")


def test_a_run_that_is_interrupted_midway_is_continued_by_the_next_which_waits_for_it(host):
    before = host.state()
    _interrupted(host, signal.SIGTERM)
    said = ended(host.install("--site", *TOOLS), 0)
    assert "READY: " in said
    assert {host.root.packages()[name] for name in TOOLKIT} == {"hi 1.19.0-1"}
    assert host.sh(f"ls {STATE}").strip() == STATE
    assert "NOTHING TO DO" in ended(host.install(*TOOLS), 0)
    assert [one for one in host.runs() if host.state_of(one) != "undone"] == [str(len(host.runs()))]
    ended(host.call("rollback", "--yes"), 0)
    assert differences(before, host.state()) == {}


def test_a_run_that_ctrl_c_ends_midway_can_be_taken_back_at_once(host):
    before = host.state()
    _interrupted(host, signal.SIGINT)
    ended(host.call("rollback", "--yes"), 0)
    assert differences(before, host.state()) == {}


@contextmanager
def full(host, path, size):
    """A file system with no more space than `size` at a directory of the host."""
    host.sh(f"mkdir -p {path} && mount -t tmpfs -o size={size} tmpfs {path}")
    try:
        yield
    finally:
        host.sh(f"umount {path}")


def test_a_host_that_has_no_space_midway_is_completed_and_asks_for_its_reboot_until_it_happened(machine):
    host = machine
    for name in ("nvidia", "nvidia_uvm"):
        host.module(name, OLD, users=1)
    with host.up():
        before = host.state()
        with full(host, "/usr/lib/firmware", "4k"):
            assert "No space left on device" in ended(host.install("--in-use", "--only", "driver"), 1)
        assert "READY: " in ended(host.install("--in-use"), 3)
        assert host.sh(f"ls {STATE} || true") == ""  # a profile was named
        for _ in range(2):
            assert "A reboot is due" in ended(host.install("--in-use"), 3)
        assert host.loaded() == {"nvidia": OLD, "nvidia_uvm": OLD}
    with host.up():
        host.sh("rm -r /sys/module/nvidia /sys/module/nvidia_uvm; modprobe nvidia; modprobe nvidia-uvm")
        done = host.install("--in-use")  # the made systemd starts no daemon, so that loading is not done
        assert "A reboot is due" not in done.stdout + done.stderr
        assert "driver.load: its programs told of no failure" in done.stdout + done.stderr
        for _ in range(2):  # that run, and the one before it
            ended(host.call("rollback", "--yes"), 0)
        assert differences(before, host.state()) == {}


def test_from_a_container_the_host_gets_the_same(host):
    before = host.state()
    host.from_container = True
    try:
        ended(host.install(*TOOLS), 0)
        assert {host.root.packages()[name] for name in TOOLKIT} == {"hi 1.19.0-1"}
        assert "NOTHING TO DO" in ended(host.install(*TOOLS), 0)
        ended(host.call("rollback", "--yes"), 0)
    finally:
        host.from_container = False
    assert differences(before, host.state()) == {}


def test_nobody_asks_the_driver_while_its_module_is_taken_out(host):
    """And a run that cannot have the driver for itself takes nothing out."""
    host.module("nvidia", OLD)
    unload = host.enter(sys.executable, "-m", "tests.real.live_inside")
    host.sh("mkdir -p /run/hostagent && : >/run/hostagent/nvidia.lock && chmod 600 /run/hostagent/nvidia.lock")
    with subprocess.Popen(host.enter("flock", "/run/hostagent/nvidia.lock", "cat"), stdin=subprocess.PIPE) as holder:
        time.sleep(0.5)
        said = subprocess.run([*unload, "2"], capture_output=True, text=True, check=False)
        assert "failed: another hostagent's worker" in said.stdout, said.stdout + said.stderr
        assert "nvidia" in host.loaded()
        holder.stdin.close()
    said = subprocess.run([*unload, "5"], capture_output=True, text=True, check=False)
    assert said.stdout.startswith("done"), said.stdout + said.stderr
    assert "nvidia" not in host.loaded()
    assert host.sh("cat /run/rmmod") == "locked\n"
