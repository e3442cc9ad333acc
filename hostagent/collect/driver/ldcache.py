"""The dynamic linker's cache, /etc/ld.so.cache (glibc, elf/cache.c and sysdeps/generic/dl-cache.h)."""

import struct
from typing import NamedTuple

from hostagent.facts.unread import Unread

_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER_BYTES = 48
_ENTRY = struct.Struct("<IIIIQ")
#: The required architecture in an entry's flags: x86-64 and AArch64. Others are second architectures (i386, x32).
_NATIVE = (0x0300, 0x0A00)


class Entry(NamedTuple):
    soname: str
    path: str


def parse_ldcache(data: bytes, sonames: "tuple[str, ...]") -> "tuple[Entry, ...] | Unread":
    """The 64-bit entries of `sonames`, in the order in which the linker prefers them."""
    start = data.find(_MAGIC)
    if start < 0 or len(data) < start + _HEADER_BYTES:
        return Unread("error", "/etc/ld.so.cache is not of format glibc-ld.so.cache1.1")
    (count,) = struct.unpack_from("<I", data, start + len(_MAGIC))
    end = start + _HEADER_BYTES + count * _ENTRY.size
    if end > len(data):
        return Unread("error", f"/etc/ld.so.cache names {count} entries and ends before the last one")
    wanted = {name.encode() + b"\0": name for name in sonames}
    found: list[Entry] = []
    for flags, key, value, _, _ in _ENTRY.iter_unpack(data[start + _HEADER_BYTES : end]):
        if flags & 0xFF00 in _NATIVE:
            for raw, name in wanted.items():
                if data.startswith(raw, start + key):
                    path = data[start + value : start + value + 4096].partition(b"\0")[0]
                    found.append(Entry(name, path.decode("utf-8", "replace")))
    return tuple(found)
