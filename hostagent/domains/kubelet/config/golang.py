"""How Go parses and prints values of a kubelet's configuration: strings, numbers, durations, sets of CPUs."""

import re
from typing import NamedTuple

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_PIECE = re.compile(r"([0-9]*)(\.?)([0-9]*)([^0-9.]*)")
_MAX_INT64 = 2**63 - 1
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_ESCAPES = {7: "\\a", 8: "\\b", 12: "\\f", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v", 34: '\\"', 92: "\\\\"}


def quoted(text: str) -> str:
    r"""As ``%q`` prints it.

    >>> quoted('a "b"\n')
    '"a \\"b\\"\\n"'
    """
    return '"' + "".join(_ESCAPES.get(ord(char)) or (char if char.isprintable() else f"\\u{ord(char):04x}") for char in text) + '"'


def truth(text: str) -> bool:
    """As ``strconv.ParseBool``; raises ``ValueError`` in its words."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"strconv.ParseBool: parsing {quoted(text)}: invalid syntax")


def number(text: str, bits: int = 64, base: int = 10, function: str = "ParseInt") -> int:
    """As ``strconv.ParseInt``, with base 0 as it takes a flag's value; raises ``ValueError`` in its words.

    >>> number("0x10", 32, 0), number("010", 32, 0), number("010")
    (16, 8, 10)
    """
    found = whole(text, base)
    if found is None:
        raise ValueError(f"strconv.{function}: parsing {quoted(text)}: invalid syntax")
    if not -(1 << bits - 1) <= found < 1 << bits - 1:
        raise ValueError(f"strconv.{function}: parsing {quoted(text)}: value out of range")
    return found


def whole(text: str, base: int = 10) -> int | None:
    """The whole number that Go reads, None for anything else; what has more than 64 bits is some number of more than 64."""
    sign, digits = (text[:1], text[1:]) if text[:1] in {"+", "-"} else ("", text)
    if base == 0:
        base, digits = _based(digits)
    allowed = "0123456789abcdef"[:base]
    if not digits or digits.strip(allowed + allowed.upper()):
        return None
    value = int(digits.lstrip("0")[:80] or "0", base)
    return -value if sign == "-" else value


def _based(digits: str) -> tuple[int, str]:
    """Base and digits of a literal; underscores are allowed between digits only."""
    bases = {"0x": 16, "0b": 2, "0o": 8}
    prefix = digits[:2].lower()
    base, rest = (
        (bases[prefix], digits[2:]) if prefix in bases else (8, digits[1:]) if digits[:1] == "0" and len(digits) > 1 else (10, digits)
    )
    if "_" in rest:
        before = "0" if base != 10 and rest.startswith("_") else ""
        if "__" in rest or rest.endswith("_") or (rest.startswith("_") and not before):
            return base, "_"
        rest = rest.replace("_", "")
    return base, rest


def parse_duration(text: str) -> int:
    """Nanoseconds, as ``time.ParseDuration``; raises ``ValueError`` in its words.

    >>> parse_duration("1h2m"), parse_duration("1.5s"), parse_duration("0")
    (3720000000000, 1500000000, 0)
    """
    invalid = ValueError(f"time: invalid duration {quoted(text)}")
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text[1:] if text[:1] == "+" else text)
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total, position = 0, 0
    while position < len(rest):
        piece = _PIECE.match(rest, position)
        if piece is None or not (piece[1] or piece[3]):
            raise invalid
        if not piece[4]:
            raise ValueError(f"time: missing unit in duration {quoted(text)}")
        if piece[4] not in _UNITS:
            raise ValueError(f"time: unknown unit {quoted(piece[4])} in duration {quoted(text)}")
        if len(piece[1].lstrip("0")) > 19:
            raise invalid
        total += _nanoseconds(piece[1], piece[3], _UNITS[piece[4]])
        if total > _MAX_INT64 + (sign < 0):
            raise invalid
        position = piece.end()
    return sign * total


def _nanoseconds(before: str, after: str, unit: int) -> int:
    fraction = after[:18]
    return int(before or "0") * unit + (int(float(int(fraction)) * (unit / float(10 ** len(fraction)))) if fraction else 0)


def printed(nanoseconds: int) -> str:
    """As a duration prints itself.

    >>> printed(300 * 10**9), printed(1500 * 10**6), printed(100 * 10**6), printed(0), printed(3600 * 10**9)
    ('5m0s', '1.5s', '100ms', '0s', '1h0m0s')
    """
    if nanoseconds == 0:
        return "0s"
    sign, left = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if left < 10**9:
        unit, size = ("ns", 1) if left < 10**3 else ("µs", 10**3) if left < 10**6 else ("ms", 10**6)
        return f"{sign}{_decimal(left, size)}{unit}"
    minutes, seconds = divmod(left, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(seconds, 10**9)}s"
    return sign + (f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}" if minutes else text)


def _decimal(value: int, size: int) -> str:
    before, after = divmod(value, size)
    return f"{before}" + (f".{after:0{len(str(size)) - 1}d}".rstrip("0") if after else "")


class CpuRanges(NamedTuple):
    """CPUs, as ranges in order that do not touch: the numbers in a state file may have 64 bits, so none is listed by itself."""

    ranges: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in self.ranges)

    def size(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def minus(self, other: "CpuRanges") -> "CpuRanges":
        return CpuRanges(tuple(_minus(self.ranges, other.ranges)))

    def union(self, *others: "CpuRanges") -> "CpuRanges":
        return CpuRanges(_joined([span for one in (self, *others) for span in one.ranges]))

    def common(self, other: "CpuRanges") -> "CpuRanges":
        return self.minus(self.minus(other))


def parse_cpuset(text: str) -> CpuRanges:
    """As ``cpuset.Parse`` of Kubernetes; raises ``ValueError`` in its words. Lists of the kernel: `hostagent.facts.cpulist`.

    >>> str(parse_cpuset("4,0-2,1")), parse_cpuset("").size()
    ('0-2,4', 0)
    """
    if not text:
        return CpuRanges(())
    ranges = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low = number(first, function="Atoi")
        high = number(last, function="Atoi") if dash else low
        if low > high:
            raise ValueError(f"invalid range {quoted(part)} ({low} > {high})")
        ranges.append((low, high))
    return CpuRanges(_joined(ranges))


def _joined(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def _minus(ranges: tuple[tuple[int, int], ...], taken: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    left, start = [], 0
    for first, last in ranges:
        low = first
        while start < len(taken) and taken[start][1] < low:
            start += 1
        at = start
        while at < len(taken) and taken[at][0] <= last and low <= last:
            if taken[at][0] > low:
                left.append((low, taken[at][0] - 1))
            low = taken[at][1] + 1
            at += 1
        if low <= last:
            left.append((low, last))
    return left
