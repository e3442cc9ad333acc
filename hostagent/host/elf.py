"""Whether a file is a shared library, its architecture, and whether it is complete (elf(5))."""

import os
import struct
from collections.abc import Callable

from hostagent.core.answers import Answer

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SHARED, _LOADED, _MOST_SEGMENTS = 3, 1, 100

#: Bytes at an offset; fewer where the file ends.
ReadAt = Callable[[int, int], bytes]


def elf(descriptor: int, size: int) -> Answer:
    """``machine``: the number of its architecture, 0 of what is no 64-bit ELF file; ``whole``: each loaded segment ends in it."""
    return _parse(lambda offset, length: os.pread(descriptor, length, offset), size)


def parse_elf(data: bytes) -> "dict[str, int | bool]":
    r"""The same of bytes.

    >>> parse_elf(b""), parse_elf(b"\x7fELF cut short")
    ({'machine': 0, 'whole': False}, {'machine': 0, 'whole': False})
    """
    return _parse(lambda offset, length: data[offset : offset + length], len(data))


def _parse(read_at: ReadAt, size: int) -> "dict[str, int | bool]":
    data = read_at(0, _HEADER.size)
    if len(data) < _HEADER.size or not data.startswith(b"\x7fELF\x02\x01"):
        return {"machine": 0, "whole": False}
    _, kind, machine, _, _, at, _, _, _, length, count, _, _, _ = _HEADER.unpack(data)
    if length != _SEGMENT.size or not 0 < count <= _MOST_SEGMENTS or at > size:
        return {"machine": machine, "whole": False}
    table = read_at(at, length * count)
    segments = [_SEGMENT.unpack_from(table, offset) for offset in range(0, len(table) - length + 1, length)]
    ends = [offset + in_file for is_loaded, _, offset, _, _, in_file, _, _ in segments if is_loaded == _LOADED]
    return {"machine": machine, "whole": kind == _SHARED and len(segments) == count and bool(ends) and max(ends) <= size}
