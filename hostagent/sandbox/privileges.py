"""Rights that a worker gives up before somebody else's library is loaded, so that asking changes nothing on the host.

Measured with NVIDIA's library (550.163.01) under strace: at each nvmlInit by root it sets mode and owner of
/dev/nvidiactl to what the driver's params say, removes and remakes the link /dev/char/195:255, and makes nodes that are
missing; for an ordinary user it runs the setuid nvidia-modprobe, which does the same and loads modules.
"""

import ctypes
import os
import resource
import signal
import stat
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hostagent.core.unread import Unread

_PDEATHSIG, _NO_NEW_PRIVS, _CAPBSET_DROP, _CAP_AMBIENT, _AMBIENT_CLEAR = 1, 38, 24, 47, 4  # prctl(2)
_VERSION_3 = 0x20080522  # capget(2)
_MAX_CAPABILITIES = 64
#: By name, as capabilities(7) has them without CAP_.
_NUMBERS: Mapping[str, int] = {
    "chown": 0, "dac_override": 1, "dac_read_search": 2, "kill": 5, "setgid": 6, "setuid": 7,
    "sys_chroot": 18, "sys_ptrace": 19, "sys_admin": 21, "syslog": 34,
}  # fmt: skip
#: A user and a group that nobody is: below 65536, so that a user namespace has them, and not nobody's, as whom others run.
SANDBOX_USER = 65533
#: Made once: each child of a daemon takes it.
_libc = ctypes.CDLL(None)


class Privileges(NamedTuple):
    """What a process has after `drop_privileges`."""

    capabilities: tuple[str, ...]
    user: int  # as whom it opens files and sockets
    is_alone: bool  # nothing but what everybody may open or connect to is open to it, and `nodes`


class Sandbox(NamedTuple):
    """What holds from now on, in words: for reports and tapes."""

    capabilities: tuple[str, ...]
    user: int
    sockets: bool  # streams to unix sockets that are everybody's
    system_calls: bool  # refused by seccomp
    landlock: int  # version of its interface, 0 where there is none

    def plain(self) -> dict[str, Any]:
        return {**self._asdict(), "capabilities": list(self.capabilities)}


def is_sandbox(found: "dict[str, Any]") -> bool:
    """Whether a value has the shape that `Sandbox.plain` makes."""
    match found:
        case {"capabilities": [*names], "user": int(), "sockets": bool(), "system_calls": bool(), "landlock": int(), **rest}:
            return not rest and all(isinstance(name, str) for name in names)
    return False


def die_with(parent: int) -> None:
    """Ask the kernel to end this process when `parent` ends; and end it now if that happened before."""
    _libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() not in (parent, 0):  # 0: its parent has no number in its namespace
        os._exit(1)


def forbid_new_privileges() -> bool:
    """No program that this process runs gets a right that it has not: setuid(2) bits and file capabilities count for nothing."""
    return bool(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def drop_privileges(capabilities: Iterable[str], nodes: Iterable[str], files: Iterable[str]) -> "Privileges | Unread":
    """Lose every capability but these and what opening `nodes` and reading `files` takes, become a user that nobody else is.

    Why not, where a right cannot be given up (a system call filter, a user namespace without this user): then the library must not
    be loaded. The real user id stays root's: so nobody but root sends this process a signal. Of an ordinary user only capabilities
    are taken. A node that a group may open makes the process a member of it; one that is root's alone takes the right to override
    modes.
    """
    libc, parent = _libc, os.getppid()
    kept = [*capabilities]
    is_alone = True
    _bound(libc, {*kept, "dac_override", "dac_read_search"})
    if os.geteuid() == 0:
        groups, overrides = _keys(nodes)
        is_alone = _leave_groups(libc, groups) and not overrides
        problem = _leave_user(libc)
        if problem is not None:
            return problem
        if overrides:
            kept.append("dac_override")
        elif not all(map(_may_read, files)):
            kept.append("dac_read_search")
    if not _limit(libc, sum(1 << _NUMBERS[name] for name in kept)):
        return Unread("denied", "the right to make device nodes cannot be given up (capset)")
    libc.prctl(_CAP_AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    die_with(parent)  # a change of credentials makes the kernel forget it
    held = _permitted(libc)
    return Privileges(tuple(name for name in kept if held >> _NUMBERS[name] & 1), os.geteuid(), is_alone)


def limit(most: Mapping[int, int]) -> None:
    """Lower resource limits for good, by RLIMIT_*, soft and hard; one that is lower already stays."""
    for kind, wanted in most.items():
        _, hard = resource.getrlimit(kind)
        lower = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (lower, lower))


def keep_only(capabilities: Iterable[str]) -> tuple[str, ...]:
    """Lose every other capability for good, whatever is run later; the user stays. Answers those that this process has still: of
    `capabilities`, or "all" where a filter lets it lose none.
    """
    wanted = tuple(capabilities)
    _bound(_libc, wanted)
    if not _limit(_libc, sum(1 << _NUMBERS[name] for name in wanted)):
        return ("all",)
    _libc.prctl(_CAP_AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    held = _permitted(_libc)
    return tuple(name for name in wanted if held >> _NUMBERS[name] & 1)


def has(capability: str) -> bool:
    """Whether this process may use it; its name is one of those that a process here keeps."""
    return bool(_permitted(_libc) >> _NUMBERS[capability] & 1)


def _bound(libc: ctypes.CDLL, names: Iterable[str]) -> None:
    """No program that is run from here on can gain others."""
    for number in {*range(_MAX_CAPABILITIES)}.difference(_NUMBERS[name] for name in names):
        libc.prctl(_CAPBSET_DROP, number, 0, 0, 0)


def _keys(nodes: Iterable[str]) -> tuple[set[int], bool]:
    """Groups that open what not everybody may open; and whether only the right to override modes does."""
    groups: set[int] = set()
    overrides = False
    for node in nodes:
        try:
            found = os.stat(node)
        except OSError:
            continue
        if _may_all(found.st_mode, stat.S_IROTH | stat.S_IWOTH):
            continue
        if found.st_gid and _may_all(found.st_mode, stat.S_IRGRP | stat.S_IWGRP):
            groups.add(found.st_gid)
        else:
            overrides = True
    return groups, overrides


def _may_all(mode: int, wanted: int) -> bool:
    return mode & wanted == wanted


def _leave_groups(libc: ctypes.CDLL, groups: Iterable[int]) -> bool:
    """Root's group opens sockets through which a container runtime obeys."""
    wanted = sorted(groups)
    array = (ctypes.c_uint32 * len(wanted))(*wanted)
    return bool(libc.setgroups(ctypes.c_size_t(len(wanted)), array) == 0 and libc.setresgid(SANDBOX_USER, SANDBOX_USER, SANDBOX_USER) == 0)


def _leave_user(libc: ctypes.CDLL) -> "Unread | None":
    """Become somebody else for files, and for whoever is connected to; the real and the saved user id stay."""
    unchanged = ctypes.c_uint32(-1)
    changed = libc.setresuid(unchanged, ctypes.c_uint32(SANDBOX_USER), unchanged) == 0
    libc.setfsuid(SANDBOX_USER)
    if libc.setfsuid(-1) != SANDBOX_USER or not changed:  # setfsuid always returns the user id before, never an error
        call = "setresuid" if not changed else "setfsuid"
        return Unread("denied", f"the right of an owner to change files cannot be given up ({call})")
    return None


def _may_read(path: str) -> bool:
    """After a change of user, which takes effect from every capability until `_limit`. What is not there needs no right."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except PermissionError:
        return False
    except OSError:
        return True
    try:
        return bool(os.fstat(place).st_mode & stat.S_IROTH)
    finally:
        os.close(place)


def _limit(libc: ctypes.CDLL, wanted: int) -> bool:
    """Keep of the permitted capabilities those `wanted`, and have them take effect."""
    header, sets = _capabilities()
    if libc.capget(header, sets) != 0:
        return False
    for half in (0, 3):  # effective, permitted, inheritable: the low halves, then the high ones
        sets[half + 1] &= wanted >> (32 if half else 0) & 0xFFFFFFFF
        sets[half] = sets[half + 1]
        sets[half + 2] = 0
    libc.capset(header, sets)
    return libc.capget(header, sets) == 0 and not (sets[0] | sets[1] | (sets[3] | sets[4]) << 32) & ~wanted


def _permitted(libc: ctypes.CDLL) -> int:
    header, sets = _capabilities()
    libc.capget(header, sets)
    return int(sets[1] | sets[4] << 32)


def _capabilities() -> "tuple[ctypes.Array[ctypes.c_uint32], ctypes.Array[ctypes.c_uint32]]":
    return (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
