"""System calls that Python lacks."""

import ctypes
import os
from functools import lru_cache

#: The same number on every architecture, as for all calls since 2019 (asm-generic/unistd.h).
_OPENAT2 = 437
_RESOLVE_IN_ROOT = 0x10  # openat2(2): as after chroot(2), without magic links
#: f_type of statfs(2) (linux/magic.h).
PROCFS, SYSFS = 0x9FA0, 0x62656572
#: More than the size of struct statfs on any architecture; its first word is f_type.
_STATFS_BYTES = 256

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


class _How(ctypes.Structure):
    """struct open_how."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_HOW_BYTES = ctypes.sizeof(_How)


def openat2_in_root(root: int, path: bytes, flags: int) -> int:
    """open(2) as after chroot(2) to the directory `root`. Raises ``OSError``."""
    descriptor: int = _libc.syscall(_OPENAT2, root, path, _how(flags)[1], _HOW_BYTES)
    return descriptor if descriptor >= 0 else _raise_errno()


@lru_cache(maxsize=64)
def _how(flags: int) -> tuple[_How, int]:
    """With its address. Cached: building it costs as much as the call."""
    how = _How(flags, 0, _RESOLVE_IN_ROOT)
    return how, ctypes.addressof(how)


def kind_of_file_system(descriptor: int) -> int:
    """f_type of the file system that `descriptor` is on. Raises ``OSError``."""
    found = ctypes.create_string_buffer(_STATFS_BYTES)
    if _libc.fstatfs(descriptor, found) != 0:
        _raise_errno()
    return ctypes.c_ulong.from_buffer(found).value


def _raise_errno() -> int:
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))
