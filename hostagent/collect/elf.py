"""What a kernel module file says of itself: its .modinfo section, and who signed it.

Formats: elf(5); the kernel's scripts/sign-file.c and include/linux/module_signature.h for the trailer.
"""

import struct
from collections.abc import Mapping

from hostagent.facts.unread import Unread
from hostagent.source import Source
from hostagent.source.base import MIB

#: The largest nvidia.ko seen, with debug information, has about 100 MiB.
MAX_MODULE_BYTES = 128 * MIB
_MARKER = b"~Module signature appended~\n"
_SIGNER = "signer"
_COMMON_NAME = b"\x06\x03\x55\x04\x03"  # DER of the object identifier 2.5.4.3
_SECTION = struct.Struct("<IIQQQQIIQQ")


def read_modinfo(source: Source, path: str) -> "Mapping[str, str] | Unread":
    """The keys of a module's .modinfo section, and ``signer`` where its signature names one. The first of a key counts."""
    data = source.read(path, MAX_MODULE_BYTES)
    if isinstance(data, Unread):
        return data
    plain = _decompressed(source, path, data)
    if isinstance(plain, bytes):
        found = parse_modinfo(plain)
        return found if not isinstance(found, Unread) else Unread(found.why, f"{path}: {found.detail}")
    return plain


def _decompressed(source: Source, path: str, data: bytes) -> "bytes | Mapping[str, str] | Unread":
    try:
        if data.startswith(b"\xfd7zXZ\0"):
            import lzma

            return lzma.LZMADecompressor().decompress(data, MAX_MODULE_BYTES)
        if data.startswith(b"\x1f\x8b"):
            import zlib

            return zlib.decompressobj(31).decompress(data, MAX_MODULE_BYTES)
        if data.startswith(b"\x28\xb5\x2f\xfd"):
            return _zstd(source, path, data)
    except Exception as error:  # lzma.LZMAError, zlib.error, and what a zstd package raises
        return Unread("error", f"{path} cannot be decompressed: {error}")
    return data


def _zstd(source: Source, path: str, data: bytes) -> "bytes | Mapping[str, str] | Unread":
    """Python reads zstd from 3.14 on, before that by the same module's backport, where it is installed; else kmod does."""
    import importlib

    for name in ("compression.zstd", "backports.zstd"):
        try:
            unpacked: bytes = importlib.import_module(name).ZstdDecompressor().decompress(data, MAX_MODULE_BYTES)
        except ImportError:
            continue
        return unpacked
    done = source.run("modinfo", "-0", path)
    if isinstance(done, Unread):
        # Never "absent" or "not-running": the module is there, and what is in it matters.
        return Unread("error", f"{path} is compressed with zstd: needs Python 3.14, the package backports.zstd, or modinfo")
    if done.exit_code != 0:
        return Unread("error", f"modinfo {path}: {done.stderr.strip()[:200]}")
    return _strings(done.stdout.encode())


def parse_modinfo(data: bytes) -> "dict[str, str] | Unread":
    """The .modinfo section of an ELF64 little-endian file, and the signer of the trailing signature."""
    section = _modinfo_section(data)
    if isinstance(section, Unread):
        return section
    found = _strings(section)
    found.pop(_SIGNER, None)
    if signer := parse_signer(data):
        found[_SIGNER] = signer
    return found


def _strings(section: bytes) -> dict[str, str]:
    """
    Null-separated ``key=value`` texts.

    >>> _strings(b"license=Dual MIT/GPL" + bytes(1) + b"version=580.142" + bytes(3))
    {'license': 'Dual MIT/GPL', 'version': '580.142'}
    """
    found: dict[str, str] = {}
    for item in section.split(b"\0"):
        key, equals, value = item.decode("utf-8", "replace").partition("=")
        if equals:
            found.setdefault(key, value)
    return found


def _modinfo_section(data: bytes) -> "bytes | Unread":
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
        return Unread("error", f"no 64-bit little-endian ELF file: it starts with {data[:6].hex()!r}")
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names_index = struct.unpack_from("<HHH", data, 58)
    if size != _SECTION.size or table + _SECTION.size > len(data):
        return Unread("error", "the ELF section table lies outside the file")
    first = _SECTION.unpack_from(data, table)
    count = count or first[5]  # more than 65279 sections: the true numbers stand in the first entry
    names_index = first[6] if names_index == 0xFFFF else names_index
    if table + count * size > len(data) or names_index >= count:
        return Unread("error", "the ELF section table lies outside the file")
    names_at, names_size = _SECTION.unpack_from(data, table + names_index * size)[4:6]
    for header in _SECTION.iter_unpack(data[table : table + count * size]):
        at = names_at + header[0]
        if header[0] < names_size and data[at : at + 9] == b".modinfo\0":
            section = data[header[4] : header[4] + header[5]]
            return section if len(section) == header[5] else Unread("error", "the section .modinfo lies outside the file")
    return Unread("error", "the ELF file has no section .modinfo")


def parse_signer(data: bytes) -> str:
    """The common name in the appended PKCS #7 signature; "unnamed" when it has none, "" without a signature."""
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
