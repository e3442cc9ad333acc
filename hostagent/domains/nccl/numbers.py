"""Numbers as NCCL reads them in its settings: with ``strtoll``, base 0 (NVIDIA/nccl, src/misc/param.cc, ncclLoadParam)."""

# "yes" is 0 and "1M" is 1, as the C library reads them. A word where a number belongs is 0 up to 2.30.7, and the default in
# 2.32.3; 2.31 was not asked.

import re

_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?)(?:0[xX]([0-9a-fA-F]+)|0([0-7]*)|([1-9][0-9]*))")
_DIGITS = re.compile(r"[ \t\n\v\f\r]*[+-]?[0-9]")
_MOST = 1 << 63


def parse_number(text: str) -> "int | None":
    """What follows the digits is ignored, and a word is 0. None where the default counts: of nothing, and of what is out of range.

    >>> [parse_number(text) for text in ("1", " -2", "0x10", "010", "1M", "yes", "", "9223372036854775808")]
    [1, -2, 16, 8, 1, 0, None, None]
    """
    if not text:
        return None
    match = _NUMBER.match(text)
    if not match:
        return 0
    sign, hexadecimal, octal, decimal = match.groups()
    digits, base = (hexadecimal, 16) if hexadecimal else (decimal, 10) if decimal else (octal or "0", 8)
    value = (-1 if sign == "-" else 1) * _value(digits, base)
    return value if -_MOST <= value < _MOST else None


def begins_with_digits(text: str) -> bool:
    """Whether there is a number at all: a word is 0 to old versions, and nothing to new ones.

    >>> begins_with_digits(" -1x"), begins_with_digits("on"), begins_with_digits("--1")
    (True, False, False)
    """
    return _DIGITS.match(text) is not None


def _value(digits: str, base: int) -> int:
    """More digits than any number that fits has are not counted out: they may be a megabyte."""
    shown = digits.lstrip("0") or "0"
    return int(shown, base) if len(shown) <= 22 else _MOST * 2
