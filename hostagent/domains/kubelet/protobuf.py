"""Messages of Protocol Buffers, as they are on the wire: the numbers of fields and their values, nothing of their types.

Source: protobuf.dev, Encoding. No I/O.
"""

from collections.abc import Iterator

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_LONGEST_VARINT = 10


def parse_fields(data: bytes) -> "list[tuple[int, int | bytes]]":
    r"""Field numbers and values in order: numbers without a sign, and bytes of texts and messages. Raises ``ValueError``.

    >>> parse_fields(b"\x0a\x02hi\x10\x96\x01")
    [(1, b'hi'), (2, 150)]
    """
    return list(_fields(data))


def _fields(data: bytes) -> "Iterator[tuple[int, int | bytes]]":
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_EIGHT, _FOUR):
            size = 8 if kind == _EIGHT else 4
        else:
            raise ValueError(f"a field of wire type {kind}")
        if size > len(data) - at:
            raise ValueError(f"a field of {size} bytes, {len(data) - at} are left")
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> "tuple[int, int]":
    value = 0
    for number in range(_LONGEST_VARINT):
        if at >= len(data):
            raise ValueError("a number without an end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return value & (1 << 64) - 1, at
    raise ValueError(f"a number of more than {_LONGEST_VARINT} bytes")


def signed(value: int) -> int:
    """An int64 of a varint.

    >>> signed(2**64 - 1), signed(3)
    (-1, 3)
    """
    return value - (1 << 64) if value >> 63 else value
