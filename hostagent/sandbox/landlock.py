"""Restricts files, signals and connections of this process by Landlock (landlock(7), Linux 5.13), as far as the kernel supports it."""

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable

#: System call numbers, the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _IOCTL_DEV = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 15
#: Rights that change files or directories.
_WRITES = ~(_EXECUTE | _READ_FILE | _READ_DIR | _IOCTL_DEV)
#: Rights on files; the others are on directories.
_OF_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _IOCTL_DEV | 1 << 14
#: By ABI version: all bits below are known rights on files.
_FILE_RIGHTS = ((1, 1 << 13), (2, 1 << 14), (3, 1 << 15), (5, 1 << 16))
_TCP = 0b11  # bind, connect: version 4
_SCOPES = 0b11  # abstract unix sockets, signals: version 6
_libc = ctypes.CDLL(None)


def version() -> int:
    """Landlock ABI version of the kernel; 0 without Landlock."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)))


def confine(reads: Iterable[str], devices: Iterable[str], lists: Iterable[str]) -> int:
    """Restrict this process to reading below `reads`, listing `lists`, and reading, writing and controlling `devices`.

    It cannot create or change files, bind or connect TCP ports, or reach outside processes by a signal or an abstract unix socket.
    Returns the ABI version, 0 where the kernel refuses. The process must have set no_new_privs.
    """
    rules = ((reads, _READ_FILE | _READ_DIR), (devices, _READ_FILE | _WRITE_FILE | _IOCTL_DEV), (lists, _READ_DIR))
    return _restrict(-1, rules, tcp=_TCP)


def write_below(directories: Iterable[str]) -> int:
    """Restrict this process to creating and changing files below `directories`, and from signalling outside processes or reaching them
    by an abstract unix socket. Reading and connecting stay. Otherwise as `confine`.
    """
    return _restrict(_WRITES, ((directories, _WRITES),), tcp=0)


def _restrict(restricted: int, rules: Iterable[tuple[Iterable[str], int]], tcp: int) -> int:
    """Deny the rights `restricted` (bits) except where `rules` grant them, and the TCP rights `tcp`."""
    found = version()
    handled = restricted & max((bits - 1 for since, bits in _FILE_RIGHTS if since <= found), default=0)
    if not handled:
        return 0
    attributes = struct.pack("QQQ", handled, tcp if found >= 4 else 0, _SCOPES if found >= 6 else 0)
    size = 8 if found < 4 else 16 if found < 6 else 24
    ruleset = _libc.syscall(_CREATE_RULESET, ctypes.c_char_p(attributes), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return 0
    try:
        for paths, rights in rules:
            for path in paths:
                _allow(ruleset, path, rights & handled)
        return found if _libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0 else 0
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Add a rule; a path that is missing or not visible needs none."""
    with contextlib.suppress(OSError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                rights &= _OF_FILE
            _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.c_char_p(struct.pack("=Qi", rights, place)), 0)
        finally:
            os.close(place)
