"""Namespaces and users of a test's own: what an attack does here is gone when its process ends.

Each function is for a process that a test forked (``@pytest.mark.alone``, or a child of it): there is no way back.
"""

import ctypes
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_FLAGS = {"mount": 0x00020000, "cgroup": 0x02000000, "ipc": 0x08000000, "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000}
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
NOBODY = 65534


def unshare(*kinds: str) -> None:
    """Leave the namespaces of the named kinds; mounts made from now on are this process's own. Of ``pid`` only children get the new one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(sum(_FLAGS[kind] for kind in kinds)) != 0:
        raise OSError(ctypes.get_errno(), f"unshare {kinds}")
    if "mount" in kinds:
        mount("none", "/", "", _MS_REC | _MS_PRIVATE)


def mount(what: str, where: str, kind: str, flags: int = 0, options: str = "") -> None:
    """mount(2). Raises ``OSError``."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(what.encode(), where.encode(), kind.encode(), flags, options.encode() or None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {where}: {os.strerror(ctypes.get_errno())}")


@contextmanager
def this_machine_below() -> Iterator[str]:
    """A directory with all of this machine's files, in the mount namespace of the caller's own.

    Nothing is removed through it: an empty directory stays if the caller fails.
    """
    place = tempfile.mkdtemp()
    subprocess.run(["mount", "--rbind", "/", place], check=True)
    yield place
    subprocess.run(["umount", "-l", place], check=True)
    os.rmdir(place)


def reachable(path: Path) -> None:
    """Let everybody go as far as `path`: pytest makes its directories for its own user alone."""
    for folder in (path, *path.parents):
        if folder.stat().st_mode & 0o011 != 0o011:
            folder.chmod(folder.stat().st_mode | 0o011)


def become(uid: int = NOBODY) -> None:
    """An ordinary user, for good: no group of root's, no capability."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: its files in /proc are its own again, as after an exec


def become_root_of_few() -> None:
    """Root of a namespace of users that has the numbers below 65536, as a container of an ordinary user has."""
    pid = os.getpid()
    waits, goes = os.pipe()
    writer = os.fork()
    if writer == 0:
        os.read(waits, 1)
        for kind in ("uid", "gid"):
            with open(f"/proc/{pid}/{kind}_map", "w", encoding="ascii") as stream:
                stream.write("0 0 65536")
        os._exit(0)
    unshare("user")
    os.write(goes, b"x")
    if os.waitpid(writer, 0)[1]:
        raise OSError("the numbers of users cannot be mapped")


def drop(capability: int) -> None:
    """Give up one of capabilities(7), by number and for good."""
    libc = ctypes.CDLL(None)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: the low halves, then the high ones
    libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
    libc.capget(header, sets)
    sets[0] &= ~(1 << capability)
    sets[1] &= ~(1 << capability)
    if libc.capset(header, sets) != 0:
        raise OSError(f"capability {capability} cannot be given up")


def start(run: Callable[[], object], uid: int = 0) -> int:
    """The pid of a child that runs `run` as `uid` and ends; it dies with this process. End it with `end`."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        if uid:
            become(uid)
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() in (parent, 0):  # 0: that one is outside of a new pid namespace
            run()
            code = 0
    finally:
        os._exit(code)


def end(pid: int) -> None:
    """Kill and reap."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
