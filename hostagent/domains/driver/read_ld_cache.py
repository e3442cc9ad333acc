"""The dynamic linker's cache, /etc/ld.so.cache (glibc, elf/cache.c and sysdeps/generic/dl-cache.h)."""

import struct
from typing import NamedTuple

from hostagent.core.answers import MIB
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, then
from hostagent.host.source import Source

_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER_BYTES = 48
_ENTRY = struct.Struct("<IIIIQ")
#: The required architecture in an entry's flags: x86-64 and AArch64. Others are second architectures (i386, x32).
_NATIVE = (0x0300, 0x0A00)
#: Entries that one reader asks for; a host has ten.
_MOST = 1000


class Entry(NamedTuple):
    soname: str
    path: str


def read_ldcache(source: Source, sonames: "tuple[str, ...]") -> "tuple[Entry, ...] | Unread":
    """The entries of `sonames`; none without a cache (musl, or an image that creates it at boot)."""
    cache = source.read("/etc/ld.so.cache", 16 * MIB, keep=Keep("ld.so.cache", sonames))
    if isinstance(cache, Unread) and cache.why == "absent":
        return ()
    return then(cache, lambda data: parse_ldcache(data, sonames))


def parse_ldcache(data: bytes, sonames: "tuple[str, ...]") -> "tuple[Entry, ...] | Unread":
    """The 64-bit entries of `sonames`, in the linker's order of preference; ``libnccl*`` is a prefix."""
    start = data.find(_MAGIC)
    if start < 0 or len(data) < start + _HEADER_BYTES:
        return Unread("error", "/etc/ld.so.cache is not of format glibc-ld.so.cache1.1")
    (count,) = struct.unpack_from("<I", data, start + len(_MAGIC))
    end = start + _HEADER_BYTES + count * _ENTRY.size
    if end > len(data):
        return Unread("error", f"/etc/ld.so.cache names {count} entries and ends before the last one")
    wanted = tuple(name[:-1].encode() if name.endswith("*") else name.encode() + b"\0" for name in sonames)
    found: list[Entry] = []
    for flags, key, value, _, _ in _ENTRY.iter_unpack(data[start + _HEADER_BYTES : end]):
        if flags & 0xFF00 in _NATIVE and data.startswith(wanted, start + key):
            if len(found) == _MOST:
                return Unread("error", f"/etc/ld.so.cache has more than {_MOST} entries of {', '.join(sonames)[:80]}")
            found.append(Entry(_text(data, start + key), _text(data, start + value)))
    return tuple(found)


def _text(data: bytes, at: int) -> str:
    return data[at : at + 4096].partition(b"\0")[0].decode("utf-8", "replace")
