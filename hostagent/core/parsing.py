"""Shared by parsers and readers: numbers, limits on input, the stop at an unread value."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import ParamSpec, TypeVar

from hostagent.core.unread import Unread, UnreadError

P = ParamSpec("P")
T = TypeVar("T")


def stops_at_unread(read: "Callable[P, T]") -> "Callable[P, T | Unread]":
    """A decorator for a reader that uses `need`: the first unread value it needs is its answer."""

    @functools.wraps(read)
    def answer(*arguments: P.args, **named: P.kwargs) -> "T | Unread":
        try:
            return read(*arguments, **named)
        except UnreadError as error:
            return error.unread

    return answer


def at_most(most: int, what: str, found: "Iterable[T]") -> "Iterator[T]":
    """The items of `found`; raises ``ValueError`` at the first beyond `most`, without computing the rest.

    >>> list(at_most(2, "words", "ab")), next(at_most(2, "words", iter(int, 1)))
    (['a', 'b'], 0)
    """
    for number, one in enumerate(found):
        if number == most:
            raise ValueError(f"found more than {most} {what}")
        yield one


class Allowance:
    """A limit on unbounded input of one reader, such as the files of a directory: beyond it their combined value is unread.

    It is less than the budget of a fact (`hostagent.host.budget`), so that exceeding it costs one value and not the whole fact.
    """

    def __init__(self, what: str, most: int) -> None:
        self._what, self._most, self._remaining = what, most, most

    def take(self, amount: int) -> None:
        """Raises ``UnreadError`` if less than `amount` is left."""
        self._remaining -= amount
        if self._remaining < 0:
            raise UnreadError(Unread("error", f"found more than {self._most} {self._what}"))


def parse_number(text: str, where: str) -> "int | Unread":
    """
    A decimal number of at most 18 digits.

    >>> parse_number("-1", "numa_node"), parse_number("Unknown", "numa_node")
    (-1, Unread('error', "numa_node: found 'Unknown', wanted a number"))
    """
    if re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII):
        return int(text)
    return Unread("error", f"{where}: found {text[:40]!r}, wanted a number")


def shown(line: str) -> str:
    """A log line without secrets, for reports.

    >>> shown("[ERROR] cannot log in with password=hunter2")
    '[ERROR] cannot log in with password=<removed>'
    """
    from hostagent.core.secret.names import without_secrets  # imported only if there are such lines

    return without_secrets(line)
