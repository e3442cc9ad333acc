"""Joins that many checks ask for, made once per host."""

from collections.abc import Callable
from typing import Any, TypeVar

from hostagent.core.unread import UnreadError

Wanted = TypeVar("Wanted", bound=tuple[Any, ...])
Answer = TypeVar("Answer")


def once(join: Callable[[Wanted], Answer]) -> Callable[[Wanted], Answer]:
    """`join`, that keeps what it was asked last and what came of it, ``UnreadError`` too; asked for the very same facts it answers that.

    By the identity of the facts: one host is judged at a time, and its facts are kept with the answer, so that no others get their place.
    """
    last: list[tuple[Wanted, Answer | UnreadError]] = []

    def asked(wanted: Wanted) -> Answer:
        if not last or not all(one is other for one, other in zip(last[0][0], wanted, strict=True)):
            last[:] = [(wanted, _caught(join, wanted))]
        found = last[0][1]
        if isinstance(found, UnreadError):
            raise UnreadError(found.unread)
        return found

    return asked


def _caught(join: Callable[[Wanted], Answer], wanted: Wanted) -> "Answer | UnreadError":
    try:
        return join(wanted)
    except UnreadError as error:
        return error
