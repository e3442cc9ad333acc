"""Reads NCCL's library or a plug-in as a file: version, needed libraries, offered interfaces. Nothing is executed.

A few sections of the 400 MiB are read, each with its own limit: the file is untrusted. Format: elf(5).
The version is the text that the library prints; the real ones agree (tests/real/test_libnccl_variables.py).
"""

import os
import re
import struct
from collections.abc import Callable
from typing import Any

from hostagent.core.answers import KIB, MIB, Answer
from hostagent.core.unread import Unread

#: libnccl has 40 sections, with debug information 50.
_MAX_SECTIONS = 4096
#: Bytes of a section: 460 KiB of constants, 12 KiB of symbols, 8 KiB of their names in 2.32.3.
_LIMITS = {".rodata": 16 * MIB, ".dynsym": 4 * MIB, ".dynstr": 4 * MIB, ".dynamic": 64 * KIB}
_MAX_NAMES_BYTES = MIB
#: Libraries that it needs, and symbols, that an answer holds; a plug-in has ten.
_MOST = 100
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNAMIC = struct.Struct("<QQ")
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
#: What a file's name may be made of; and where a library wants others to be looked for.
_FILE_NAME, _PATH = re.compile(r"[\w.+-]{1,255}", re.ASCII), re.compile(r"[\w.+/${}-]{1,255}", re.ASCII)
_VERSION = re.compile(rb"NCCL version ([0-9]{1,4}(?:\.[0-9]{1,4}){2})\+cuda([0-9]{1,4}\.[0-9]{1,4})\0")
#: What NCCL looks for in a plug-in, by version of the interface: ncclNetPlugin_v10, ncclTunerPlugin_v4 …; and what shows NCCL itself.
_SYMBOL_NAME = re.compile(r"nccl(?:Net|CollNet|Tuner|Profiler|Env|Gin|Rma)(?:Plugin)?_?v[0-9]{1,3}|ncclGetVersion|ncclCommInitRank")

#: Bytes at an offset; fewer where the file ends.
ReadAt = Callable[[int, int], bytes]


def nccl_library(descriptor: int, path: str, size: int) -> Answer:
    """``version`` and ``cuda`` ("" of a plug-in), ``needed`` libraries, directories where it wants them to be looked for (``paths``, with
    $ORIGIN as it is written), ``symbols`` of NCCL's interfaces. `path` is for messages.
    """
    found = _library(lambda offset, length: os.pread(descriptor, length, offset) if offset < size else b"", size)
    return Unread(found.why, f"{path}: {found.detail}") if isinstance(found, Unread) else found


def parse_nccl_library(data: bytes) -> "dict[str, Any] | Unread":
    r"""The same of bytes.

    >>> parse_nccl_library(b"\x7fELF cut short").detail
    'no 64-bit little-endian ELF file'
    """
    return _library(lambda offset, length: data[offset : offset + length], len(data))


def _library(read_at: ReadAt, size: int) -> "dict[str, Any] | Unread":
    found = _sections(read_at, size)
    if isinstance(found, Unread):
        return found
    names, dynamic = found.get(".dynstr", b""), found.get(".dynamic", b"")
    needed, paths = _dynamic(dynamic, names, _NEEDED), _dynamic(dynamic, names, _RPATH, _RUNPATH)
    if len(needed) > _MOST or len(paths) > _MOST:
        return Unread("error", f"it needs {len(needed)} libraries in {len(paths)} places, wanted at most {_MOST}")
    version = _VERSION.search(found.get(".rodata", b""))
    return {
        "version": version[1].decode() if version else "",
        "cuda": version[2].decode() if version else "",
        "needed": sorted(text for text in needed if _FILE_NAME.fullmatch(text)),
        "paths": [one for text in paths for one in text.split(":") if _PATH.fullmatch(one)][:_MOST],
        "symbols": _symbols(found.get(".dynsym", b""), names),
    }


def _dynamic(dynamic: bytes, names: bytes, *tags: int) -> list[str]:
    whole = dynamic[: len(dynamic) - len(dynamic) % _DYNAMIC.size]
    return [_text(names, value, 4 * KIB) for tag, value in _DYNAMIC.iter_unpack(whole) if tag in tags]


def _symbols(table: bytes, names: bytes) -> list[str]:
    """The symbols that NCCL looks for and that are defined here (section index is not 0)."""
    found: set[str] = set()
    whole = table[: len(table) - len(table) % _SYMBOL.size]
    for name, _, _, section, _, _ in _SYMBOL.iter_unpack(whole):
        text = _text(names, name) if section else ""
        if _SYMBOL_NAME.fullmatch(text):
            found.add(text)
            if len(found) == _MOST:
                break
    return sorted(found)


def _text(names: bytes, start: int, most: int = 256) -> str:
    """The name at an offset; "" for what is none or longer than any is."""
    end = names.find(b"\0", start, start + most)
    return names[start:end].decode("ascii", "replace") if end > 0 else ""


def _sections(read_at: ReadAt, size: int) -> "dict[str, bytes] | Unread":
    """The contents of the sections in `_LIMITS`, the first of each name."""
    header = read_at(0, 64)
    if header[:6] != b"\x7fELF\x02\x01" or len(header) < 64:
        return Unread("error", "no 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", header, 40)
    entry, count, names_index = struct.unpack_from("<HHH", header, 58)
    if entry != _SECTION.size or not names_index < count <= _MAX_SECTIONS or table + count * entry > size:
        return Unread("error", "the ELF section table is missing, or lies outside the file")
    rows = list(_SECTION.iter_unpack(read_at(table, count * entry)))
    if len(rows) != count:
        return Unread("error", "the ELF section table lies outside the file")
    names = _contents(read_at, rows[names_index], _MAX_NAMES_BYTES)
    found: dict[str, bytes] = {}
    for row in rows:
        name = _text(names, row[0]) if isinstance(names, bytes) else ""
        if name in _LIMITS and name not in found:
            contents = _contents(read_at, row, _LIMITS[name])
            if isinstance(contents, Unread):
                return Unread("error", f"the section {name} {contents.detail}")
            found[name] = contents
    return found if isinstance(names, bytes) else Unread("error", f"the section with names {names.detail}")


def _contents(read_at: ReadAt, row: tuple[int, ...], most: int) -> "bytes | Unread":
    if row[5] > most:
        return Unread("error", f"has {row[5]} bytes, wanted at most {most}")
    contents = read_at(row[4], row[5])
    return contents if len(contents) == row[5] else Unread("error", "lies outside the file")
