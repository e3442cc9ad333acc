"""Formats numbers and lists for people."""

from collections.abc import Sequence

_SHOWN = 5
_UNITS = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "memory error"), counted(12, "memory error"), counted(4, "NVSwitch"), counted(0, "security advisory")
    ('1 memory error', '12 memory errors', '4 NVSwitches', '0 security advisories')
    """
    if noun.endswith("ry") and count != 1:
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}{'' if count == 1 else 'es' if noun.endswith('ch') else 's'}"


def size(number: int) -> str:
    """Bytes in the largest unit that fits.

    >>> size(2147483648), size(85520809984), size(65536), size(12)
    ('2 GiB', '79.6 GiB', '64 KiB', '12 bytes')
    """
    name, unit = next(((name, unit) for name, unit in _UNITS if number >= unit), ("bytes", 1))
    return f"{number / unit:.1f}".removesuffix(".0") + f" {name}"


def joined(names: Sequence[str], last: str = "and") -> str:
    """All names, as a list in a sentence.

    >>> joined(["a"]), joined(["a", "b", "c"]), joined(["a", "b"], "or")
    ('a', 'a, b and c', 'a or b')
    """
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def first_of(names: Sequence[str], shown: int = _SHOWN) -> str:
    """The first names, and how many more there are.

    >>> first_of(("a", "b")), first_of(("a", "b", "c"), 1)
    ('a, b', 'a and 2 more')
    """
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"{', '.join(names[:shown])}{more}"
