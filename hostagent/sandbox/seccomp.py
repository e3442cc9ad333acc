"""The system call filter of a sandboxed process (seccomp(2)): refused calls fail with EPERM.

Refused are calls that reach beyond the process: other processes, changes of files and mounts, programs, sockets, the kernel itself.
Allowed are those that reading needs (open, read, mmap, ioctl, threads), and those of a `Grant`. The numbers are those of Linux 6.17.
"""

import ctypes
import os
import struct
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from hostagent.sandbox.refused_syscalls import ALWAYS, BY_ARGUMENTS

_SET_SECCOMP, _MODE_FILTER = 22, 2  # prctl(2)
_EPERM, _ENOSYS = 1, 38
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _AND, _EQUAL, _AT_LEAST, _JUMP, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x05, 0x06  # bpf(4): words, by immediate value
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # struct seccomp_data
_ALL = 0xFFFFFFFF
#: x32 programs use the numbers of x86_64 from here on.
_X32 = 0x40000000
#: A jump reaches 255 instructions.
_CHUNK = 200

#: By machine, as uname(2) names it: the column of the table, and AUDIT_ARCH of audit.h. Both are little-endian.
_MACHINES: Mapping[str, tuple[int, int]] = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

#: Creates or truncates a file: O_CREAT, O_TRUNC, and the bit of O_TMPFILE (fcntl(2)), alike on both machines.
_MAKES = 0x40 | 0x200 | 0x400000
_CLONE_THREAD = 0x10000
#: All CLONE_NEW* that clone(2) takes: mount, cgroup, uts, ipc, user, pid, net.
_NEW_NAMESPACES = 0x20000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
#: socket(2): AF_UNIX; AF_INET, AF_INET6, AF_NETLINK.
_UNIX, _FAMILIES, _STREAM, _SOCKET_TYPE = 1, (2, 10, 16), 1, 0xF
#: Access mode bits of open(2); O_RDONLY is 0.
_WRITES = 3
_PDEATHSIG = 1
#: fcntl(2): F_SETOWN, F_SETSIG, F_SETOWN_EX send signals to others; F_SETLEASE blocks others.
_FCNTL = (8, 10, 15, 1024)
#: ioctl(2), by the byte that names its family: block devices, terminals, file systems (X freezes one, f and 0xf5 set flags, 0x94 is
#: btrfs), sockets. NVIDIA's have others: F, c, d, m, o, or none.
_IOCTL_FAMILY, _IOCTL = 0xFF00, (0x1200, 0x5400, 0x5800, 0x6600, 0x8900, 0x9400, 0xF500)
#: Requests on sockets and outputs: TCGETS, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, SIOCGIFINDEX.
_IOCTL_SOCKET = (0x5401, 0x541B, 0x5421, 0x5450, 0x5451, 0x8933)

_libc = ctypes.CDLL(None)

Instruction = tuple[int, int, int, int]  # code, jumps if true and if false, value


class Check(NamedTuple):
    """Allows a system call if the low half of an argument, masked, is among `values` (or is not, with `among` False)."""

    argument: int
    values: tuple[int, ...]
    mask: int = _ALL
    among: bool = True


_NEVER = (Check(0, ()),)

#: unix-streams: connect to unix sockets. sockets: serve and connect by internet and netlink sockets; such a process cannot reach unix
#: sockets of root. files: create, write and remove files, as permissions and Landlock allow; no change of mode or owner, which Landlock
#: does not cover. memory: create and resize memfds. programs: run programs, which may have unix sockets. openat2: open a path below a
#: root; the filter cannot see its flags, so Landlock has to forbid writing. read-only: no open for writing; it restricts, the others allow.
Grant = Literal["unix-streams", "sockets", "files", "memory", "programs", "openat2", "read-only"]
_FILES = "open openat unlink unlinkat rename renameat renameat2 link linkat"
_SOCKETS = "connect socketpair bind listen accept accept4 sendmsg sendmmsg memfd_create"
_PROGRAMS = "execve fork vfork kill"
_GRANTED: Mapping[Grant, Mapping[str, Iterable[Check]]] = {
    "unix-streams": {"socket": (Check(0, (_UNIX,)), Check(1, (_STREAM,), _SOCKET_TYPE)), "connect": ()},
    "sockets": {"socket": (Check(0, _FAMILIES),), "ioctl": (Check(1, _IOCTL_SOCKET),), **dict.fromkeys(_SOCKETS.split(), ())},
    "files": dict.fromkeys(_FILES.split(), ()),
    "memory": {"memfd_create": (), "ftruncate": (), "fallocate": ()},
    "programs": {
        "socket": (Check(0, (_UNIX, *_FAMILIES)),),
        "clone": (Check(0, (0,), _NEW_NAMESPACES),),
        **dict.fromkeys(_PROGRAMS.split(), ()),
    },
    "openat2": {"openat2": ()},
    "read-only": {"open": (Check(1, (0,), _MAKES | _WRITES),), "openat": (Check(2, (0,), _MAKES | _WRITES),)},
}


def refuse(grants: Collection[Grant] = ()) -> bool:
    """Install the filter in this thread and its descendants.

    False on an unknown machine, a kernel without seccomp, or under an earlier filter that refuses it. The process must have set
    no_new_privs before.
    """
    machine = os.uname().machine
    if machine not in _MACHINES or struct.calcsize("P") != 8:
        return False
    code = b"".join(struct.pack("HBBI", *row) for row in program(machine, os.getpid(), grants))
    kept = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(kept))
    return bool(_libc.prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(head), 0, 0) == 0)


def program(machine: str, pid: int, grants: Collection[Grant] = ()) -> list[Instruction]:
    """The filter for the process `pid` on `machine`: x86_64 or aarch64."""
    column, architecture = _MACHINES[machine]
    refused = _RETURN, 0, 0, _ERRNO | _EPERM
    rows: list[Instruction] = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), refused, (_LOAD, 0, 0, _NUMBER)]
    if machine == "x86_64":
        rows += [(_AT_LEAST, 0, 1, _X32), refused]
    checks = {**_checks(pid), **{name: given for grant in grants for name, given in _GRANTED[grant].items()}}
    for name, given in checks.items():
        number = {**ALWAYS, **BY_ARGUMENTS}[name][column]
        if number is not None:
            # The C library tries these first, and falls back to the older call on ENOSYS.
            block = _block(given, _ENOSYS if name in ("clone3", "openat2") else _EPERM)
            rows += [(_EQUAL, 0, len(block), number), *block]
    found = sorted(number for name, numbers in ALWAYS.items() if name not in checks and (number := numbers[column]) is not None)
    for start in range(0, len(found), _CHUNK):
        chunk = found[start : start + _CHUNK]
        rows += [(_EQUAL, len(chunk) - at, 0, number) for at, number in enumerate(chunk)]
        rows += [(_JUMP, 0, 0, 1), refused]
    return [*rows, (_RETURN, 0, 0, _ALLOW)]


def _checks(pid: int) -> Mapping[str, Iterable[Check]]:
    """By system call: it is allowed if all checks pass."""
    own, own_or_self = (Check(0, (pid,)),), (Check(0, (0, pid)),)
    return {
        "ioctl": (Check(1, _IOCTL, _IOCTL_FAMILY, among=False),),
        "open": (Check(1, (0,), _MAKES),),
        "openat": (Check(2, (0,), _MAKES),),
        "openat2": _NEVER,
        "fcntl": (Check(1, _FCNTL, among=False),),
        "kill": own,
        "tgkill": own,
        "rt_tgsigqueueinfo": own,
        "clone": (Check(0, (_CLONE_THREAD,), _CLONE_THREAD), Check(0, (0,), _NEW_NAMESPACES)),
        "clone3": _NEVER,
        "socket": _NEVER,
        "connect": _NEVER,
        "prctl": (Check(0, (_PDEATHSIG,), among=False),),
        **dict.fromkeys(("prlimit64", "sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"), own_or_self),
    }


def _block(checks: Iterable[Check], error: int) -> list[Instruction]:
    """The instructions for one system call: every path returns."""
    rows: list[Instruction] = []
    for one in checks:
        rows.append((_LOAD, 0, 0, _ARGUMENTS + 8 * one.argument))
        if one.mask != _ALL:
            rows.append((_AND, 0, 0, one.mask))
        last = len(one.values) - 1
        # A match jumps past the instruction after the comparisons: the refusal, or the jump over it.
        rows += [(_EQUAL, last - at + 1, 0, value) for at, value in enumerate(one.values)]
        if not one.among:
            rows.append((_JUMP, 0, 0, 1))
        rows.append((_RETURN, 0, 0, _ERRNO | error))
    return [*rows, (_RETURN, 0, 0, _ALLOW)]
