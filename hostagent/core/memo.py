"""Caches a join that many checks use, once per host."""

from collections.abc import Callable
from typing import Any, TypeVar

from hostagent.core.unread import UnreadError

Wanted = TypeVar("Wanted", bound=tuple[Any, ...])
Answer = TypeVar("Answer")


def once(join: Callable[[Wanted], Answer]) -> Callable[[Wanted], Answer]:
    """`join` with a cache of its last result, also of an ``UnreadError``, for the same facts.

    Compared by identity: one host is evaluated at a time, and the cache holds its facts, so that no other object gets their id.
    """
    last: list[tuple[Wanted, Answer | UnreadError]] = []

    def cached(wanted: Wanted) -> Answer:
        if not last or not all(one is other for one, other in zip(last[0][0], wanted, strict=True)):
            last[:] = [(wanted, _result(join, wanted))]
        found = last[0][1]
        if isinstance(found, UnreadError):
            raise UnreadError(found.unread)
        return found

    return cached


def _result(join: Callable[[Wanted], Answer], wanted: Wanted) -> "Answer | UnreadError":
    try:
        return join(wanted)
    except UnreadError as error:
        return error
