"""Lists of CPUs and of NUMA nodes as the kernel and the kubelet write them: ``0-55,112-167``."""

import re
from collections.abc import Iterable
from itertools import chain

#: Numbers from here on are refused: no kernel has so many CPUs, and the text of a range is untrusted.
LIMIT = 1 << 16
_MOST_DIGITS = 6

_WORD = re.compile(r"[0-9a-fA-F]{1,8}", re.ASCII)
_MASK_BITS = 32


def parse_cpulist(text: str) -> tuple[int, ...]:
    r"""The numbers in order, each once; white space around the list is no part of it. Raises ``ValueError``.

    >>> parse_cpulist("0-2,8\n"), parse_cpulist("\n")
    ((0, 1, 2, 8), ())
    >>> parse_cpulist("3-1")
    Traceback (most recent call last):
    ValueError: '3-1' is no range of CPUs
    """
    words = text.strip()
    ranges: list[range] = []
    next_is, is_in_order = 0, True
    for word in words.split(",") if words else ():
        first, dash, last = word.partition("-")
        low = _number(first, word)
        high = _number(last, word) if dash else low
        if high < low:
            raise ValueError(f"{word[:40]!r} is no range of CPUs")
        is_in_order = is_in_order and low >= next_is
        next_is = high + 1
        ranges.append(range(low, next_is))
    if is_in_order:
        return tuple(chain.from_iterable(ranges))
    mask = 0
    for one in ranges:
        mask |= (1 << one.stop) - (1 << one.start)
    return _bits(mask)


def _bits(mask: int) -> tuple[int, ...]:
    digits = f"{mask:b}"[::-1]
    found: list[int] = []
    at = digits.find("1")
    while at >= 0:
        found.append(at)
        at = digits.find("1", at + 1)
    return tuple(found)


def _number(digits: str, word: str) -> int:
    number = int(digits) if digits.isdecimal() and digits.isascii() and len(digits) <= _MOST_DIGITS else LIMIT
    if number >= LIMIT:
        raise ValueError(f"{word[:40]!r} is no CPU or range of CPUs below {LIMIT}")
    return number


def format_cpulist(numbers: Iterable[int]) -> str:
    """As the kernel writes it: in order, neighbours as ranges.

    >>> format_cpulist([8, 0, 1, 2, 3, 9]), format_cpulist([])
    ('0-3,8-9', '')
    """
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)


def parse_cpumap(text: str) -> tuple[int, ...]:
    r"""The numbers of a mask (``cpumap``): words of 32 bits in hexadecimal, the highest first. Raises ``ValueError``.

    >>> parse_cpumap("00000001,0000000f\n")
    (0, 1, 2, 3, 32)
    """
    words = text.strip().split(",")
    if len(words) * _MASK_BITS > LIMIT:
        raise ValueError(f"the mask has {len(words)} words")
    mask = 0
    for word in words:
        if not _WORD.fullmatch(word):
            raise ValueError(f"{word[:40]!r} is no mask of CPUs")
        mask = mask << _MASK_BITS | int(word, 16)
    return _bits(mask)
