"""Values in the network worker's answers: each as the kernel has it, or why there is none."""

import re
from typing import Any, cast, get_args

from hostagent.core.answers import unexpected
from hostagent.core.parsing import parse_number
from hostagent.core.unread import Unread, Why, then

#: Ranges of ports in one list: the kernel takes no more.
_MOST_RANGES = 65536
_WHYS = frozenset(get_args(Why))


def value_in(answer: Any, question: str, key: str) -> "str | Unread":
    """A text field of an answer that is a mapping.

    >>> value_in({"mtu": "9000"}, "a", "mtu"), value_in({"mtu": {"unread": ["denied", "b"]}}, "a", "mtu"), value_in({"mtu": 1}, "a", "mtu")
    ('9000', Unread('denied', 'b'), Unread('error', 'a: mtu is no word'))
    """
    if isinstance(answer, Unread):
        return answer
    match answer.get(key) if isinstance(answer, dict) else None:
        case str(word):
            return word
        case {"unread": [str(why), str(detail)], **rest} if not rest and why in _WHYS:
            return Unread(cast("Why", why), detail, question)
    return Unread("error", f"{question}: {key} is no word", question)


def number_of(answer: Any, question: str, key: str) -> "int | Unread":
    """The same, of a decimal number, or one that begins with 0x."""
    return then(value_in(answer, question, key), lambda word: parse_count(word, f"{question}: {key}"))


def parse_count(text: str, where: str) -> "int | Unread":
    """
    A number as sysfs writes it.

    >>> parse_count("1500", "mtu"), parse_count("0x1003", "flags"), parse_count("x", "mtu")
    (1500, 4099, Unread('error', "mtu: found 'x', wanted a number"))
    """
    return int(text, 16) if re.fullmatch("0x[0-9a-f]{1,8}", text, re.ASCII) else parse_number(text, where)


def names_of(answer: Any, method: str) -> "tuple[str, ...] | Unread":
    """An answer that is a list of texts."""
    if isinstance(answer, Unread):
        return answer
    if isinstance(answer, list) and all(isinstance(one, str) for one in answer):
        return tuple(answer)
    return unexpected("network", method, answer)


def parse_ranges(text: str, where: str) -> "tuple[tuple[int, int], ...] | Unread":
    """Ports and ranges of them.

    >>> parse_ranges("29500,30000-32767", "a"), parse_ranges("", "a"), parse_ranges("a-b", "a")
    (((29500, 29500), (30000, 32767)), (), Unread('error', "a: found 'a-b', wanted ports"))
    """
    found = [re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", part, re.ASCII) for part in text.split(",", _MOST_RANGES)] if text else []
    ranges = tuple((int(one[1]), int(one[2] or one[1])) for one in found if one)
    return ranges if len(ranges) == len(found) else Unread("error", f"{where}: found {text[:40]!r}, wanted ports")
