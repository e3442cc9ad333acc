"""A hostile libnvidia-ml: what it tries is refused, and what it says is only what it was asked (S11 of the attack on 0.1.0)."""

import contextlib
import json
import os
import resource
import signal
import socket
import time

import pytest

from hostagent.domains.gpu.read_nvidia_worker import NVIDIA
from hostagent.engine.pipeline import examine, prepare
from hostagent.engine.target import Evidence, open_host
from hostagent.outputs import render
from hostagent.profiles import profile
from hostagent.sandbox import landlock
from hostagent.sandbox.worker import Worker
from hostagent.sandbox.worker_spec import CALL_S
from tests import stub_nvml
from tests.attack.livehost import enliven
from tests.real.conftest import need_real

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="device nodes and chroot need root: run the tests as root"),
]

NAME = ("nvml", "device", "0", "name")


@pytest.fixture
def tree(tmp_path):
    """A host with a GPU, a directory in which every user may do what he likes, and a secret of root's."""
    need_real("gcc", "apt-get install gcc libc6-dev")
    root = tmp_path / "host"
    root.mkdir()
    stub_nvml.install(root, 1)
    everybodys = root / "dev/marks"
    everybodys.mkdir()
    everybodys.chmod(0o777)
    (everybodys / "file").write_text("full")
    (everybodys / "file").chmod(0o666)
    secret = root / "usr/share/nvidia/secret"
    secret.write_text("the password of root")
    secret.chmod(0o600)
    return root


@contextlib.contextmanager
def running(tree, attack, seconds=20):
    stub_nvml.write_table(tree, stub_nvml.addresses(1), {"DeviceGetName 0": f"attack {attack}"})
    worker = Worker(NVIDIA, str(tree), time.monotonic() + seconds)
    worker.start()
    try:
        assert worker.ask("nvml", "init") is True, "the library is loaded and asked"
        yield worker
    finally:
        worker.close()


def tried(tree, attack):
    """What the library says came of it."""
    with running(tree, attack) as worker:
        return worker.ask(*NAME)


REFUSED = {
    "EPERM": (
        *("kill", "stop", "kill-group", "tkill", "tgkill", "sigqueue", "setown", "setown-ex", "setsig", "fiosetown", "pidfd", "ptrace"),
        *("vm-write", "renice", "affinity", "parents-limit", "outlive", "setfsuid", "setuid", "setgroups", "raise-limit", "fork"),
        *(
            "clone-user",
            "exec /bin/sh",
            "run /bin/sh",
            "unshare",
            "setns",
            "mount /dev/marks",
            "umount /",
            "open-tree /",
            "chroot /etc/passwd",
        ),
        *("module", "finit-module", "kexec", "reboot", "swapoff", "bpf", "perf", "userfaultfd", "io-uring", "keyctl", "clock", "hostname"),
        *("old-numbers", "other-numbers", "create /dev/marks/new", "make /dev/marks/new", "device /dev/marks/new", "link /dev/marks/new"),
        *("chmod /dev/marks/file", "remove /dev/marks/file", "truncate /dev/marks/file", "freeze", "type"),
        *("memfd", "shared-memory", "listen /dev/marks/socket", "listen @hostagent", "internet", "netlink", "packets"),
        "datagram /dev/marks/socket",
    ),
    "ENOSYS": ("clone3",),
    "EACCES": ("write /dev/marks/file", "read /usr/share/nvidia/secret"),
    "ENOMEM": ("memory",),
    "EMFILE": ("files",),
}


@pytest.fixture
def live(tree):
    enliven(tree)
    return tree


@pytest.mark.parametrize("attack", ["environ", "parents-memory", "read /etc/secret", "write /proc/sys/kernel/core_pattern"])
def test_what_is_roots_alone_is_not_read(live, attack):
    (live / "etc").mkdir()
    (live / "etc/secret").write_text("everybody may read it, but no library has to")
    assert tried(live, attack) == "EACCES"
    assert tried(live, "read /proc/self/mountinfo")[:1].isdecimal()
    assert "-" in tried(live, "read /proc/self/maps")
    assert tried(live, "read /sys/kernel/uevent_seqnum").strip().isdecimal()


@pytest.mark.parametrize(("attack", "answer"), [(one, error) for error, attacks in REFUSED.items() for one in attacks])
def test_what_a_hostile_library_does_to_others_is_refused(tree, attack, answer):
    assert tried(tree, attack) == answer
    assert sorted(path.name for path in (tree / "dev/marks").iterdir()) == ["file"]
    assert (tree / "dev/marks/file").read_text() == "full"
    assert (tree / "dev/marks/file").stat().st_mode & 0o777 == 0o666


def test_the_library_still_does_to_itself_what_it_likes(tree):
    """Or the rows above would pass where the library does nothing at all."""
    assert tried(tree, "read /usr/share/nvidia/stub-nvml.table").startswith("DeviceGetName 0 attack read")


@contextlib.contextmanager
def serving(path):
    """A daemon that tells each who connects as whom it sees him; one that obeys root alone looks at this (systemd, D-Bus)."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    pid = os.fork()
    if pid == 0:
        while True:
            one, _ = listening.accept()
            one.sendall(str(int.from_bytes(one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], "little")).encode())
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        listening.close()


def test_a_daemon_that_obeys_root_does_not_take_the_library_for_root(tree, monkeypatch):
    """The persistence daemon has to be asked: of a GPU that it keeps awake, NVML tells what it says."""
    monkeypatch.chdir(tree / "dev/marks")
    with serving("socket"):
        os.chmod("socket", 0o777)
        assert tried(tree, "connect /dev/marks/socket") == "65533"
        assert tried(tree, "credentials /dev/marks/socket") == "EPERM"
        os.chmod("socket", 0o660)
        assert tried(tree, "connect /dev/marks/socket") == "EACCES", "as a container runtime's is"


def test_an_abstract_socket_of_somebody_else_is_out_of_reach(tree):
    with serving("\0hostagent-test"):
        assert tried(tree, "connect @hostagent-test") == "EPERM"


@pytest.mark.parametrize("how", ["noise", "zeros", "drip"])
def test_a_library_that_floods_the_pipe_is_heard_no_longer_than_its_call(tree, how):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with running(tree, f"flood {how}") as worker:
        began = time.monotonic()
        assert worker.ask(*NAME).why == ("timeout" if how == "drip" else "error")
        assert time.monotonic() - began < CALL_S + 2
        assert isinstance(worker.ask("read", "/proc/driver/nvidia/version"), bytes), "what came before is kept"
        assert worker.ask("nvml", "driver_version") == stub_nvml.VERSION
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024, "KiB"


def test_a_report_says_which_parts_of_the_cage_held(tree):
    with open_host(Evidence(host_root=str(tree)), ("Gpu",)) as reading:
        report = examine(reading, prepare(profile.load("default", site_file=""), ["gpu"]))
    version = landlock.version()
    assert json.loads(render(report, "json"))["cages"] == {
        "nvidia": {"capabilities": ["sys_admin"], "user": 65533, "sockets": True, "system_calls": True, "landlock": version}
    }
    told = f"in a cage: user 65533, capabilities sys_admin, system calls refused, Landlock {version}"
    assert told in " ".join(render(report, "text", verbose=True).split())
    assert told not in " ".join(render(report, "text").split())
