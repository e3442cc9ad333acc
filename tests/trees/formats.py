"""The binary files of a host, as small as their formats allow."""

import struct
from collections.abc import Mapping

_SECTION = struct.Struct("<IIQQQQIIQQ")
_OF_64_BIT = {"x86_64": 0x0303, "aarch64": 0x0A03}  # glibc, dl-cache.h: the C library's ELF type and the architecture


def kernel_module(modinfo: Mapping[str, str], *, signer: str = "") -> bytes:
    """A relocatable ELF file with nothing but .modinfo; `signer` appends a signature as the kernel's sign-file does."""
    info = b"".join(f"{key}={value}".encode() + b"\0" for key, value in modinfo.items())
    names = b"\0.modinfo\0.shstrtab\0"
    table_at = 64 + len(info) + len(names)
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, table_at, 0, 64, 0, 0, 64, 3, 2)
    sections = (
        _SECTION.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        _SECTION.pack(1, 1, 2, 0, 64, len(info), 0, 0, 1, 0),
        _SECTION.pack(10, 3, 0, 0, 64 + len(info), len(names), 0, 0, 1, 0),
    )
    return header + info + names + b"".join(sections) + (_signature(signer) if signer else b"")


def _signature(signer: str) -> bytes:
    """The part of a PKCS #7 signature that names who signed, then the trailer (include/linux/module_signature.h)."""
    name = b"\x06\x03\x55\x04\x03\x0c" + bytes([len(signer)]) + signer.encode()
    return name + struct.pack(">BBBBB3xI", 0, 0, 2, 0, 0, len(name)) + b"~Module signature appended~\n"


def shared_library(arch: str = "x86_64") -> bytes:
    """An ELF file with one segment that is loaded: itself."""
    size = 64 + 56
    header = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, {"x86_64": 62, "aarch64": 183}[arch], 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    )
    return header + struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)


def zstd(data: bytes) -> bytes:
    """A Zstandard frame (RFC 8878) with one block that is not compressed."""
    if len(data) >= 1 << 17:
        raise ValueError("one block holds 128 KiB")
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data)) + (len(data) << 3 | 1).to_bytes(3, "little") + data


def linker_cache(entries: "tuple[tuple[str, str], ...]", arch: str = "x86_64") -> bytes:
    """ld.so.cache of (soname, path) pairs (glibc, struct cache_file_new)."""
    strings, at = b"", 48 + 24 * len(entries)
    rows = []
    for soname, path in entries:
        rows.append(struct.pack("<iIIIQ", _OF_64_BIT[arch], at + len(strings), at + len(strings) + len(soname) + 1, 0, 0))
        strings += f"{soname}\0{path}\0".encode()
    head = b"glibc-ld.so.cache1.1" + struct.pack("<IIB3xI12x", len(entries), len(strings), 2, 0)
    return head + b"".join(rows) + strings


def public_key(name: str) -> bytes:
    """An OpenPGP version 4 public key packet (RFC 4880, 5.5.2) of nobody: an RSA number made of `name`."""
    number = (name.encode() * 32)[:256]
    body = b"\x04" + struct.pack(">I", 0x62000000) + b"\x01" + struct.pack(">H", 2048) + b"\x80" + number[1:] + b"\x00\x11\x01\x00\x01"
    return b"\x99" + struct.pack(">H", len(body)) + body


def nccl_library(
    version: str = "",
    cuda: str = "12.9",
    *,
    needed: "tuple[str, ...]" = ("libc.so.6", "libpthread.so.0"),
    runpath: str = "",
    symbols: "tuple[str, ...]" = ("ncclCommInitRank", "ncclGetVersion"),
    arch: str = "x86_64",
) -> bytes:
    """libnccl, or with version "" a plug-in of it: an ELF file with what is read of one, which readelf can read too."""
    strings = b"\0"
    places = {}
    for text in dict.fromkeys((*needed, runpath, *symbols)):
        places[text] = len(strings) if text else 0
        strings += text.encode() + b"\0" if text else b""
    texts = f"NCCL version {version}+cuda{cuda}\0".encode() if version else b"plug-in\0"
    table = bytes(24) + b"".join(struct.pack("<IBBHQQ", places[name], 0x12, 0, 1, 0, 0) for name in symbols)
    entries = [(1, places[name]) for name in needed] + ([(29, places[runpath])] if runpath else [])
    start = 64 + 2 * 56
    at = {}
    for name, data in ((".rodata", texts), (".dynstr", strings), (".dynsym", table)):
        at[name], start = start, start + len(data)
    dynamic = b"".join(struct.pack("<QQ", *pair) for pair in (*entries, (5, at[".dynstr"]), (10, len(strings)), (6, at[".dynsym"]), (0, 0)))
    names = b"\0.rodata\0.dynstr\0.dynsym\0.dynamic\0.shstrtab\0"
    contents = ((1, 1, texts, 0, 0), (9, 3, strings, 0, 0), (17, 11, table, 2, 24), (25, 6, dynamic, 2, 16), (34, 3, names, 0, 0))
    body, rows = b"", [bytes(_SECTION.size)]
    for name, kind, data, link, size in contents:
        rows.append(_SECTION.pack(name, kind, 2, 64 + 112 + len(body), 64 + 112 + len(body), len(data), link, 0, 1, size))
        body += data
    whole, dynamic_at = 64 + 112 + len(body), 64 + 112 + len(texts) + len(strings) + len(table)
    machine = {"x86_64": 62, "aarch64": 183}[arch]
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, whole, 0, 64, 56, 2, 64, len(rows), 5)
    segments = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, whole, whole, 4096)
    segments += struct.pack("<IIQQQQQQ", 2, 4, dynamic_at, dynamic_at, dynamic_at, len(dynamic), len(dynamic), 8)
    return header + segments + body + b"".join(rows)
