"""A socket counts that only root can have put where it is: the kernel's list says what a program called it, in a world of its own."""

import ctypes
import os
import shutil
import socket
import time

import pytest

from hostagent.core.unread import Unread
from hostagent.host.paths import Root
from hostagent.host.sockets import sockets
from tests.attack import fuse, nested, spaces

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(
        os.geteuid() != 0 or not nested.HAS_GROUPS or not shutil.which("gcc"),
        reason="needs root, gcc, and systemd's hierarchy of version 1 without a systemd in it",
    ),
]
EVE = 4711
SRV = nested.PLACE


@pytest.fixture
def on_a_host(tmp_path):
    made = nested.program(str(tmp_path))

    def run(attack):
        def alone(host):
            spaces.unshare("net")
            for name, uid, mode in (("run", 0, 0o711), ("hidden", 0, 0o700), ("open", 0, 0o1777), ("group", 0, 0o775), ("eve", EVE, 0o755)):
                os.mkdir(f"{SRV}/{name}")
                os.chown(f"{SRV}/{name}", uid, 0)
                os.chmod(f"{SRV}/{name}", mode)
            attack(host)

        nested.host(alone, made)

    return run


def own_world(*folders):
    """A user's own: he is root there, and the folders are empty and his."""

    def enter():
        spaces.become(EVE)
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: the maps are the process's own
        spaces.unshare("user", "mount")
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {EVE} 1"), ("gid_map", f"0 {EVE} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
                stream.write(text)
        for folder in folders:
            spaces.mount("tmpfs", folder, "tmpfs")

    return enter


def test_roots_sockets_count_and_nobody_elses(on_a_host):
    def attack(host):
        host.listen(f"{SRV}/run/containerd.sock")
        host.listen(f"{SRV}/hidden/crio.sock")
        for name in ("open", "eve"):
            host.listen(f"{SRV}/{name}/docker.sock", uid=EVE)
        host.listen(f"{SRV}/open/root.sock")
        host.listen(f"{SRV}/group/root.sock")
        os.symlink(f"{SRV}/eve/docker.sock", f"{SRV}/run/docker.sock")
        os.symlink("run", f"{SRV}/link")
        host.listen(f"{SRV}/link/linked.sock")
        os.symlink("open", f"{SRV}/to-open")
        host.listen(f"{SRV}/to-open/linked.sock")
        host.listen("\0abstract")
        host.ask(two)
        host.ask(one, uid=EVE)

    def two():
        assert sockets(Root()) == [{"path": f"{SRV}/{name}"} for name in ("hidden/crio.sock", "link/linked.sock", "run/containerd.sock")]

    def one():
        hidden, *others = sockets(Root())
        assert hidden == {"path": f"{SRV}/hidden/crio.sock", "unseen": True}
        assert others == [{"path": f"{SRV}/{name}"} for name in ("link/linked.sock", "run/containerd.sock")]

    on_a_host(attack)


def test_what_a_user_calls_his_own_socket_is_no_file_of_the_host(on_a_host):
    def attack(host):
        host.listen(f"{SRV}/run/containerd.sock", before=own_world(f"{SRV}/run"))
        with open(f"{SRV}/run/crio.sock", "w", encoding="ascii"):
            pass
        host.listen(f"{SRV}/run/crio.sock", before=own_world(f"{SRV}/run"))
        host.listen(f"\0x\n0: 00000002 00000000 00010000 0001 01 12 {SRV}/run/y.sock", uid=EVE)
        host.ask(none)

    def none():
        with open("/proc/1/net/unix", encoding="utf-8") as stream:
            listed = stream.read()
        assert all(name in listed for name in ("containerd.sock", "crio.sock", "y.sock"))
        assert sockets(Root()) == []

    on_a_host(attack)


@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="needs /dev/fuse: 'modprobe fuse'")
def test_no_file_system_of_a_user_is_looked_into(on_a_host):
    def attack(host):
        place = f"{SRV}/eve/mounted"
        os.mkdir(place)
        os.chown(place, EVE, EVE)
        host.listen(f"{place}/x.sock", uid=EVE)
        mounted = fuse.Mounted(place)
        started = time.monotonic()
        host.ask(none)
        assert time.monotonic() - started < 10
        mounted.close()

    def none():
        assert sockets(Root()) == []

    on_a_host(attack)


def test_a_list_that_is_not_shown_is_denied(on_a_host):
    def attack(host):
        spaces.mount("proc", "/proc", "proc", 32, "hidepid=2")  # MS_REMOUNT
        host.ask(denied, uid=EVE)

    def denied():
        found = sockets(Root())
        assert isinstance(found, Unread)
        assert found.why == "denied"

    on_a_host(attack)


# What a user lists costs nothing, and blinds nobody.


class Counting(Root):
    """Says how often it looks at a path."""

    looks = 0

    def untrusted(self, path):
        self.looks += 1
        return super().untrusted(path)

    def open(self, *arguments, **named):
        self.looks += 1
        return super().open(*arguments, **named)


def listing(tree, paths):
    """A made host with a runtime's socket, and a list in which it comes last."""
    for name, mode in (("proc/1/net", 0o755), ("run/containerd", 0o711), ("tmp", 0o1777), ("home/eve", 0o755), ("srv/x", 0o755)):
        (tree / name).mkdir(parents=True)
        (tree / name).chmod(mode)
    os.chown(tree / "home/eve", EVE, EVE)
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(tree / "run/containerd")
        made.bind("containerd.sock")
    (tree / "run/link").symlink_to("containerd")
    lines = [f"0: 00000002 00000000 00010000 0001 01 {at} {path}\n" for at, path in enumerate((*paths, "/run/containerd/containerd.sock"))]
    (tree / "proc/1/net/unix").write_text(f"Num RefCount Protocol Flags Type St Inode Path\n{''.join(lines)}")
    return Counting(str(tree))


def detour(at, unit):
    """Another spelling of one path for each number."""
    return "/proc/" + "".join(unit + "/" * (at >> bit & 1) for bit in range(14))


LISTED = {
    "detours up": lambda at: f"{detour(at, '1/../')}tmp/e{at}",
    "detours here": lambda at: f"/run{detour(at, './')}e{at}",
    "slashes": lambda at: f"/run/containerd{'/' * (1 + at % 60)}{at}",
    "folders of a user": lambda at: f"/home/eve/{at}/x",
    "folders of everybody": lambda at: f"/tmp/{at}/{at}/x",
    "folders that are not there": lambda at: f"/run/{at}/x",
    "folders in one that is not there": lambda at: f"/opt/{at}/x",
    "files that are not there": lambda at: f"/run/containerd/{at}",
    "an empty folder": lambda at: f"/srv/x/{at}",
    "behind a link": lambda at: f"/run/link/{at}",
    "below a file": lambda at: f"/run/containerd/containerd.sock/{at}",
    "of the kernel": lambda at: f"/proc/{at}/root/run/x",
    "deep": lambda at: f"/run/{'d/' * (at % 40)}{at}",
    "abstract": lambda at: f"@/run/{at}",
    "numbers that are no text": lambda at: f"/run/\udcff{at}",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("kind", LISTED)
def test_the_list_of_a_user_costs_a_few_looks(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [LISTED[kind](at).encode("utf-8", "surrogateescape").decode("latin-1") for at in range(3000)]
    root = listing(tmp_path, paths)
    assert sockets(root) == [{"path": "/run/containerd/containerd.sock"}]
    assert root.looks < 40


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_list_of_any_length_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = listing(tmp_path, (f"/tmp/{'x' * 80}{at}" for at in range(160_000)))
    assert (tmp_path / "proc/1/net/unix").stat().st_size > 16 * 1024 * 1024
    assert sockets(root) == [{"path": "/run/containerd/containerd.sock"}]
