"""How the gate's messages put values, names and counts: on one line, short, and with nothing that does not print."""

import re
from collections.abc import Sequence

from hostagent.facts.unread import Unread
from hostagent.visible import visible

_DIGITS = re.compile(r"([0-9]+)")
_LONGEST = 100
_NAMES = 10


def shown(value: "str | int | Unread") -> str:
    """
    A value of a document.

    >>> shown("n" * 200)[-3:], shown(8), shown(Unread("denied"))
    ('nn…', '8', 'not read (denied)')
    """
    if isinstance(value, Unread):
        return f"not read ({value.why})"
    if isinstance(value, int):
        return str(value) if value < 1 << 64 else "too many to count"
    return visible(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")


def names_of(names: Sequence[str], most: int = _NAMES) -> str:
    """
    Some names, ten at most.

    >>> names_of(["a", "b"]), names_of(["a", "b", "c"], 2)
    ('a, b', 'a, b and 1 more')
    """
    text = ", ".join(shown(name) for name in names[:most])
    return f"{text} and {len(names) - most} more" if len(names) > most else text


def count_of(number: int, noun: str) -> str:
    """
    A count with its noun.

    >>> count_of(1, "node"), count_of(0, "node")
    ('1 node', '0 nodes')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def span(seconds: float) -> str:
    """
    How long, as people say it.

    >>> span(90), span(5400), span(86400 * 3), span(1e300)
    ('90 s', '90 min', '3 d', 'years')
    """
    for most, unit, each in ((120, "s", 1), (7200, "min", 60), (48 * 3600, "h", 3600), (1000 * 86400, "d", 86400)):
        if seconds < most:
            return f"{seconds / each:.0f} {unit}"
    return "years"


Natural = tuple[list[str | tuple[int, str]], str]


def natural(name: str) -> Natural:
    """The order of names as people count: n2 before n10.

    >>> sorted(["n10", "n2", "n02"], key=natural)
    ['n02', 'n2', 'n10']
    """
    return [_number(part) if index % 2 else part for index, part in enumerate(_DIGITS.split(name))], name


def _number(digits: str) -> tuple[int, str]:
    """Orders numbers of any length; `int` refuses thousands of digits."""
    digits = digits.lstrip("0")
    return len(digits), digits
