"""Privileges that a worker drops before it loads a third-party library, so that reading changes nothing on the host.

Measured with NVIDIA's library (550.163.01) under strace: at each nvmlInit by root it sets mode and owner of
/dev/nvidiactl to the driver's params, removes and recreates the link /dev/char/195:255, and creates missing
nodes; for an ordinary user it runs the setuid nvidia-modprobe, which does the same and loads modules.
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
#: An unused user and group id: below 65536, so that user namespaces map it, and not 65534 (nobody), which other services run as.
SANDBOX_USER = 65533
#: Loaded once: each child of a daemon uses it.
_libc = ctypes.CDLL(None)


class Privileges(NamedTuple):
    """What a process has after `drop_privileges`."""

    capabilities: tuple[str, ...]
    user: int  # effective: opens files and sockets
    is_alone: bool  # it may open and connect to only what every user may, and `nodes`


class Sandbox(NamedTuple):
    """The restrictions in force, for reports and tapes."""

    capabilities: tuple[str, ...]
    user: int
    sockets: bool  # may connect to unix sockets that every user may connect to
    system_calls: bool  # filtered by seccomp
    landlock: int  # ABI version, 0 without Landlock

    def plain(self) -> dict[str, Any]:
        return {**self._asdict(), "capabilities": list(self.capabilities)}


def is_sandbox(found: "dict[str, Any]") -> bool:
    """Whether a value has the shape that `Sandbox.plain` makes."""
    match found:
        case {"capabilities": [*names], "user": int(), "sockets": bool(), "system_calls": bool(), "landlock": int(), **rest}:
            return not rest and all(isinstance(name, str) for name in names)
    return False


def die_with(parent: int) -> None:
    """Have the kernel kill this process when `parent` ends; exit now if it has ended already."""
    _libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() not in (parent, 0):  # 0: its parent has no number in its namespace
        os._exit(1)


def forbid_new_privileges() -> bool:
    """Set no_new_privs: setuid bits and file capabilities have no effect for this process and its programs."""
    return bool(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def drop_privileges(capabilities: Iterable[str], nodes: Iterable[str], files: Iterable[str]) -> "Privileges | Unread":
    """Drop every capability but these and what opening `nodes` and reading `files` needs, and become `SANDBOX_USER`.

    ``Unread`` where a privilege cannot be dropped (a system call filter, a user namespace without this user): then the library must not
    be loaded. The real user id stays root: so only root can signal this process. An ordinary user keeps its id. A node that a group
    may open adds that group; one accessible to root only keeps dac_override.
    """
    libc, parent = _libc, os.getppid()
    kept = [*capabilities]
    is_alone = True
    _bound(libc, {*kept, "dac_override", "dac_read_search"})
    if os.geteuid() == 0:
        groups, overrides = _access(nodes)
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
    die_with(parent)  # a change of credentials resets PR_SET_PDEATHSIG
    held = _permitted(libc)
    return Privileges(tuple(name for name in kept if held >> _NUMBERS[name] & 1), os.geteuid(), is_alone)


def limit(most: Mapping[int, int]) -> None:
    """Lower soft and hard resource limits, by RLIMIT_*; a lower one stays."""
    for kind, wanted in most.items():
        _, hard = resource.getrlimit(kind)
        lower = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (lower, lower))


def keep_only(capabilities: Iterable[str]) -> tuple[str, ...]:
    """Drop every other capability permanently; the user stays. Returns the capabilities that remain: of `capabilities`, or "all" where
    a filter forbids dropping any.
    """
    wanted = tuple(capabilities)
    _bound(_libc, wanted)
    if not _limit(_libc, sum(1 << _NUMBERS[name] for name in wanted)):
        return ("all",)
    _libc.prctl(_CAP_AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    held = _permitted(_libc)
    return tuple(name for name in wanted if held >> _NUMBERS[name] & 1)


def has(capability: str) -> bool:
    """Whether this process has a capability of `_NUMBERS`."""
    return bool(_permitted(_libc) >> _NUMBERS[capability] & 1)


def _bound(libc: ctypes.CDLL, names: Iterable[str]) -> None:
    """Drop all others from the bounding set: no program run later can gain them."""
    for number in {*range(_MAX_CAPABILITIES)}.difference(_NUMBERS[name] for name in names):
        libc.prctl(_CAPBSET_DROP, number, 0, 0, 0)


def _access(nodes: Iterable[str]) -> tuple[set[int], bool]:
    """Groups needed to open `nodes`; and whether one needs dac_override."""
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
    """Leave root's group: it may open sockets that control a container runtime."""
    wanted = sorted(groups)
    array = (ctypes.c_uint32 * len(wanted))(*wanted)
    return bool(libc.setgroups(ctypes.c_size_t(len(wanted)), array) == 0 and libc.setresgid(SANDBOX_USER, SANDBOX_USER, SANDBOX_USER) == 0)


def _leave_user(libc: ctypes.CDLL) -> "Unread | None":
    """Change the effective and file system user id; the real and the saved user id stay."""
    unchanged = ctypes.c_uint32(-1)
    changed = libc.setresuid(unchanged, ctypes.c_uint32(SANDBOX_USER), unchanged) == 0
    libc.setfsuid(SANDBOX_USER)
    if libc.setfsuid(-1) != SANDBOX_USER or not changed:  # setfsuid returns the previous user id, never an error
        call = "setresuid" if not changed else "setfsuid"
        return Unread("denied", f"the right of an owner to change files cannot be given up ({call})")
    return None


def _may_read(path: str) -> bool:
    """Whether any user may read it; for after a change of user, which clears the effective capabilities. A missing file needs none."""
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
    """Reduce permitted and effective capabilities to `wanted`."""
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
