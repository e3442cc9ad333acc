"""Answers of the RDMA worker: objects with values as in sysfs, or why there is none."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast, get_args

from hostagent.core.unread import Unread, UnreadError, Why, then
from hostagent.host.source import Source

T = TypeVar("T")

_HEX = frozenset("0123456789abcdefABCDEF")
_WHYS = frozenset(get_args(Why))


class Words:
    """One answer, an object: its values by name. Without an answer each value is that gap."""

    def __init__(self, source: Source, *question: str) -> None:
        self.question = " ".join(("rdma", *question))
        found = source.rdma(*question)
        self.gap = found if isinstance(found, Unread) else None
        self._values: Mapping[str, Any] = found if isinstance(found, dict) else {}
        if self.gap is None and not isinstance(found, dict):
            self.gap = self.wrong(f"answer of type {type(found).__name__}")

    def wrong(self, text: str) -> Unread:
        return Unread("error", f"{self.question}: {text}", self.question)

    def raw(self, name: str) -> Any:
        """The value as it is, or why there is none. The worker names all: a missing name was lost."""
        if self.gap is not None:
            return self.gap
        return self._plain(self._values[name], name) if name in self._values else self.wrong(f"no {name}")

    def word(self, name: str) -> "str | Unread":
        found = self.raw(name)
        return found if isinstance(found, str | Unread) else self.wrong(f"{name}: found {type(found).__name__}, wanted a text")

    def inner(self, name: str, key: str) -> "str | Unread":
        """A value of a nested object."""
        values = self._values.get(name)
        if self.gap is not None or not isinstance(values, dict) or "unread" in values:
            return self.word(name)
        found = self._plain(values.get(key, {"unread": ["absent", f"no {name} of {key}"]}), name)
        return found if isinstance(found, str | Unread) else self.wrong(f"{name}: found {type(found).__name__}, wanted a text")

    def parsed(self, name: str, parse: "Callable[[str], T]") -> "T | Unread":
        """A value by its parser, which raises ``ValueError``."""
        return then(self.word(name), lambda text: self._tried(name, text, parse))

    def rows(self, name: str, make: "Callable[..., T]") -> "tuple[T, ...] | Unread":
        """A list of lists. `make` gets the values of each; it raises ``ValueError``, ``TypeError`` or ``UnreadError``."""
        found = self.raw(name)
        if isinstance(found, Unread):
            return found
        if not isinstance(found, list) or not all(isinstance(row, list) for row in found):
            return self.wrong(f"{name}: wanted a list of lists")
        try:
            return tuple(make(*[self._plain(value, name) if isinstance(value, dict) else value for value in row]) for row in found)
        except (TypeError, ValueError):
            return self.wrong(f"{name}: found a row that is none")
        except UnreadError as error:
            return error.unread

    def _tried(self, name: str, text: str, parse: "Callable[[str], T]") -> "T | Unread":
        try:
            return parse(text)
        except ValueError as error:
            return self.wrong(f"{name}: {error}")

    def _plain(self, value: Any, name: str) -> Any:
        """A value that says why there is none becomes that gap."""
        if not isinstance(value, dict):
            return value
        match value.get("unread"):
            case [str(why), str(detail)] if why in _WHYS:
                return Unread(cast("Why", why), detail[:200], self.question)
        return self.wrong(f"{name}: found an object, wanted a value")


def _is_number(text: str, digits: int) -> bool:
    """Without a pattern, which each run would have to compile."""
    return text.isdecimal() and text.isascii() and len(text) <= digits


def parse_labelled(text: str) -> str:
    """The text after the number; raises ``ValueError``.

    >>> parse_labelled("4: ACTIVE"), parse_labelled("1: CA"), parse_labelled("4: usNIC UDP")
    ('ACTIVE', 'CA', 'usNIC UDP')
    """
    number, _, word = text.partition(": ")
    if not _is_number(number, 3) or not 0 < len(word) <= 40 or not all(char.isalpha() or char in " <>_" for char in word):
        raise ValueError(f"found {text[:40]!r}, wanted a number and a word, like '4: ACTIVE'")
    return word


def parse_rate(text: str) -> float:
    """Gb/s; raises ``ValueError``.

    >>> parse_rate("400 Gb/sec (4X NDR)"), parse_rate("2.5 Gb/sec (1X SDR)")
    (400.0, 2.5)
    """
    number, unit, _ = text.partition(" Gb/sec")
    whole, point, part = number.partition(".")
    if not unit or not _is_number(whole, 6) or (point and not _is_number(part, 3)):
        raise ValueError(f"found {text[:40]!r}, wanted a rate like '400 Gb/sec (4X NDR)'")
    return float(number)


def parse_local_id(text: str) -> int:
    """A number as sysfs writes LIDs and P_Keys; raises ``ValueError``.

    >>> parse_local_id("0x1f"), parse_local_id("0xffff")
    (31, 65535)
    """
    digits = text.removeprefix("0x")
    if digits == text or not 0 < len(digits) <= 8 or not _HEX.issuperset(digits):
        raise ValueError(f"found {text[:40]!r}, wanted a number like 0x1f")
    return int(digits, 16)


def parse_count(text: str) -> int:
    """A counter; raises ``ValueError``.

    >>> parse_count("12")
    12
    """
    if not _is_number(text, 20):
        raise ValueError(f"found {text[:40]!r}, wanted a number")
    return int(text)


def parse_traffic_class(text: str) -> int:
    r"""The first line, present if a class was set, is for all connections; those below are for some. Raises ``ValueError``.

    >>> parse_traffic_class("Global tclass=106\ntclass=96 src ip=10.0.0.1"), parse_traffic_class("")
    (106, 0)
    """
    first = text.partition("\n")[0]
    if _is_number(number := first.removeprefix("Global tclass="), 3) and number != first:
        return int(number)
    if not text or text.startswith("tclass="):
        return 0
    raise ValueError(f"found {text[:40]!r}, wanted a traffic class like 'Global tclass=106'")


def parse_guid(text: str) -> str:
    """As sysfs writes it; raises ``ValueError``.

    >>> parse_guid("9803:9b03:00aa:bb00")
    '9803:9b03:00aa:bb00'
    """
    parts = text.split(":", 4)
    if len(parts) != 4 or not all(len(part) == 4 and _HEX.issuperset(part) for part in parts):
        raise ValueError(f"found {text[:40]!r}, wanted a GUID like 9803:9b03:00aa:bb00")
    return text
