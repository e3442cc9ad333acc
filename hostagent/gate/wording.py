"""Formats values, names and counts in the gate's messages: on one line, short, printable."""

import time
from collections.abc import Mapping, Sequence

from hostagent.core.escape import cut, visible
from hostagent.core.unread import Unread

#: Why there is no value, where it is known that there is none: in words.
NOT_THERE: Mapping[str, str] = {"absent": "absent", "not-supported": "not supported"}
#: The last second of the year 9999.
_LAST = 253_402_300_799.0
_LONGEST = 100
_NAMES = 10


def shown(value: "str | int | Unread") -> str:
    """
    A value of a document, or why there is none.

    >>> shown("n" * 200)[-3:], shown(8), shown(Unread("denied")), shown(Unread("absent"))
    ('nn…', '8', 'not read (denied)', 'absent')
    """
    if isinstance(value, Unread):
        return not_read(value.why)
    if isinstance(value, int):
        return str(value) if value < 1 << 64 else "too many to count"
    return visible(cut(value, _LONGEST + 1))


def not_read(why: str) -> str:
    """
    In the place of a value.

    >>> not_read("denied"), not_read("not-supported")
    ('not read (denied)', 'not supported')
    """
    return NOT_THERE.get(why) or f"not read ({why})"


def predicate(value: "str | Unread") -> str:
    """
    The same behind the name of a value.

    >>> predicate("570"), predicate(Unread("denied")), predicate(Unread("absent"))
    ('is 570', 'was not read (denied)', 'is absent')
    """
    is_gap = isinstance(value, Unread) and value.why not in NOT_THERE
    return f"{'was' if is_gap else 'is'} {shown(value)}"


def names_of(names: Sequence[str], most: int = _NAMES) -> str:
    """
    Some names, ten at most.

    >>> names_of(["a", "b"]), names_of(["a", "b", "c"], 2)
    ('a, b', 'a, b and 1 more')
    """
    text = ", ".join(shown(name) for name in names[:most])
    return f"{text} and {len(names) - most} more" if len(names) > most else text


def are(number: int) -> str:
    """The verb of so many."""
    return "is" if number == 1 else "are"


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


def instant(seconds: float) -> str:
    """
    A time since 1970, as RFC 3339 has it.

    >>> instant(1764000000.9), instant(1e300)
    ('2025-11-24T16:00:00Z', '9999-12-31T23:59:59Z')
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(min(max(seconds, 0.0), _LAST)))
