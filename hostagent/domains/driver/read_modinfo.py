"""The .modinfo section and the signer of a kernel module file.

Only these parts of a plain file are read; a compressed one is decompressed whole. Formats: elf(5); the kernel's
scripts/sign-file.c and include/linux/module_signature.h for the trailer.

An image may have any file under a module's name. So every read and decompression has a limit, and a compressed file is decompressed
in pieces: at most 128 MiB of output are in memory, without the input.
"""

import os
import struct
from collections.abc import Callable
from typing import Any

from hostagent.core.answers import KIB, MIB, Answer
from hostagent.core.unread import Unread

#: The largest nvidia.ko seen, with debug information, has about 100 MiB.
MAX_MODULE_BYTES = 128 * MIB
#: nvidia.ko has some 100 sections and, built with one for each function, some 30,000; their names have 40 characters.
_MAX_SECTIONS = 65_536
_MAX_NAMES_BYTES = 4 * MIB
#: nvidia.ko's has 10 KiB; a module with an alias for each of thousands of devices has 100.
_MAX_INFO_BYTES = MIB
_MARKER = b"~Module signature appended~\n"
_MAX_SIGNATURE_BYTES = 64 * KIB
_SIGNER = "signer"
_COMMON_NAME = b"\x06\x03\x55\x04\x03"  # DER of the object identifier 2.5.4.3
_SECTION = struct.Struct("<IIQQQQIIQQ")
_MAGICS = {b"\xfd7zXZ\0": "xz", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}

#: Bytes at an offset; fewer where the file ends.
ReadAt = Callable[[int, int], bytes]


def modinfo(descriptor: int, path: str, size: int) -> Answer:
    """The first value of each key of .modinfo, and ``signer`` if a signature names one. `path` is for messages."""
    if size > MAX_MODULE_BYTES:
        return Unread("error", f"{path} has {size} bytes, wanted at most {MAX_MODULE_BYTES}")
    found = _modinfo(lambda offset, length: os.pread(descriptor, length, offset), size)
    return Unread(found.why, f"{path}: {found.detail}") if isinstance(found, Unread) else found


def parse_modinfo(data: bytes) -> "dict[str, str] | Unread":
    """The .modinfo section of an ELF64 little-endian file, compressed or not, and the signer of the trailing signature."""
    return _modinfo(lambda offset, length: data[offset : offset + length], len(data))


def _modinfo(read_at: ReadAt, size: int) -> "dict[str, str] | Unread":
    start = read_at(0, 8)
    kind = next((name for magic, name in _MAGICS.items() if start.startswith(magic)), "")
    if not kind:
        return _keys(read_at, size)
    plain = _decompress(read_at, kind)
    return plain if isinstance(plain, Unread) else _keys(lambda offset, length: bytes(plain[offset : offset + length]), len(plain))


def _decompress(read_at: ReadAt, kind: str) -> "bytearray | Unread":
    """Decompresses a megabyte per step. zlib returns the unused input of a piece; the others keep it and signal when they need more."""
    plain, at, packed = bytearray(), 0, b""
    try:
        stream = _decompressor(kind)
        while not stream.eof:
            if not packed and getattr(stream, "needs_input", True):
                packed = read_at(at, MIB)
                at += len(packed)
            unpacked = stream.decompress(packed, MIB)
            if not packed and not unpacked and not stream.eof:
                return Unread("error", f"the {kind} data is cut short")
            packed = getattr(stream, "unconsumed_tail", b"")
            plain += unpacked
            if len(plain) > MAX_MODULE_BYTES:
                return Unread("error", f"the {kind} data unpacks to more than {MAX_MODULE_BYTES} bytes")
    except Exception as error:  # lzma.LZMAError, zlib.error, zstd.ZstdError, and ImportError where the package is left out
        return Unread("error", f"the {kind} data cannot be decompressed: {error}")
    return plain


def _decompressor(kind: str) -> Any:
    """A stream decompressor; it raises if the stream needs more memory than a module may have."""
    if kind == "xz":
        import lzma

        return lzma.LZMADecompressor(memlimit=MAX_MODULE_BYTES)
    if kind == "gzip":
        import zlib

        return zlib.decompressobj(31)
    import sys

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdDecompressor()  # the default limit of the window is 128 MiB


def _keys(read_at: ReadAt, size: int) -> "dict[str, str] | Unread":
    section = _section(read_at, size)
    if isinstance(section, Unread):
        return section
    found = parse_strings(section)
    found.pop(_SIGNER, None)
    length = min(size, _MAX_SIGNATURE_BYTES)
    if signer := parse_signer(read_at(size - length, length)):
        found[_SIGNER] = signer
    return found


def parse_strings(section: bytes) -> dict[str, str]:
    """Null-separated ``key=value`` texts; the first of a key counts.

    >>> parse_strings(b"license=Dual MIT/GPL" + bytes(1) + b"version=580.142" + bytes(3))
    {'license': 'Dual MIT/GPL', 'version': '580.142'}
    """
    found: dict[str, str] = {}
    for item in section.split(b"\0"):
        key, equals, value = item.decode("utf-8", "replace").partition("=")
        if equals:
            found.setdefault(key, value)
    return found


def _section(read_at: ReadAt, size: int) -> "bytes | Unread":
    header = read_at(0, 64)
    if header[:6] != b"\x7fELF\x02\x01" or len(header) < 64:
        return Unread("error", f"no 64-bit little-endian ELF file: it starts with {header[:6].hex()!r}")
    (table,) = struct.unpack_from("<Q", header, 40)
    entry, count, names_index = struct.unpack_from("<HHH", header, 58)
    outside = Unread("error", "the ELF section table lies outside the file")
    if entry != _SECTION.size or table + _SECTION.size > size:
        return outside
    first = _SECTION.unpack(read_at(table, _SECTION.size))
    count = count or first[5]  # more than 65279 sections: the first entry has the real numbers
    names_index = first[6] if names_index == 0xFFFF else names_index
    if count > _MAX_SECTIONS:
        return Unread("error", f"the ELF file has {count} sections, wanted at most {_MAX_SECTIONS}")
    if table + count * entry > size or names_index >= count:
        return outside
    rows = read_at(table, count * entry)
    names = _contents(read_at, _SECTION.unpack_from(rows, names_index * entry), _MAX_NAMES_BYTES, "with the names of sections")
    if isinstance(names, Unread):
        return names
    for row in _SECTION.iter_unpack(rows):
        if names[row[0] : row[0] + 9] == b".modinfo\0":
            return _contents(read_at, row, _MAX_INFO_BYTES, ".modinfo")
    return Unread("error", "the ELF file has no section .modinfo")


def _contents(read_at: ReadAt, row: "tuple[int, ...]", most: int, name: str) -> "bytes | Unread":
    if row[5] > most:
        return Unread("error", f"the section {name} has {row[5]} bytes, wanted at most {most}")
    contents = read_at(row[4], row[5])
    return contents if len(contents) == row[5] else Unread("error", f"the section {name} lies outside the file")


def parse_signer(data: bytes) -> str:
    """The common name in the PKCS #7 signature at the end of `data`; "unnamed" if it has none, "" without a signature."""
    if not data.endswith(_MARKER):
        return ""
    trailer_at = len(data) - len(_MARKER) - 12
    if trailer_at < 0:
        return "unnamed"
    (size,) = struct.unpack_from(">I", data, trailer_at + 8)
    signature = data[max(0, trailer_at - size) : trailer_at]
    _, found, rest = signature.partition(_COMMON_NAME)
    # A DER string: its tag, its length (the short form holds 127 bytes, more than a common name may have), its bytes.
    if not found or len(rest) < 2 or rest[1] > 127:
        return "unnamed"
    return rest[2 : 2 + rest[1]].decode("utf-8", "replace") or "unnamed"
