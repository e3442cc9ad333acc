"""A fork copies a table of all pages of its process, and a test worker has 100,000 and more: in large pages they are 300.

What is copied then costs 5 ms in place of 40 to 100, for each program that a test starts by a fork, and for each fork of those.
"""

import ctypes
import os
import re

_LARGE = 2 * 1024 * 1024
_COLLAPSE = 25  # MADV_COLLAPSE of Linux 6.1: an older kernel refuses it, and forks cost what they did
#: Bytes that a process grows by before it is worth another look, which costs 5 ms for each 1 MB that is new.
_GROWN = 32 * 1024 * 1024
#: Private memory of no file: its own first and last address.
_ANONYMOUS = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *(?:\[heap\])?$", re.MULTILINE)

_held = 0


def hold() -> None:
    """The memory of this process in large pages, as far as the kernel can: what grew since the last time, where it is much."""
    global _held  # noqa: PLW0603  what one process has done
    try:
        if (size := _resident()) < _held + _GROWN:
            return
        _held = size
        with open("/proc/self/maps", encoding="utf-8") as stream:
            maps = stream.read()
        advise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):  # no /proc, no madvise
        return
    for first, last in _ANONYMOUS.findall(maps):
        begin, end = -(-int(first, 16) // _LARGE) * _LARGE, int(last, 16) // _LARGE * _LARGE
        if begin < end:
            advise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), _COLLAPSE)


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
