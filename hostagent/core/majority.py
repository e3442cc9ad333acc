"""The value that most of several devices have, with which the others are compared."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def tally(values: Iterable[T]) -> dict[T, int]:
    """The count of each value; 0 for others.

    >>> tally(["a", "b", "a"])["a"], tally(["a"])["b"]
    (2, 0)
    """
    return Counter(values)


def most(values: Iterable[Any], default: Any = None) -> Any:
    """The most frequent value, of equally frequent ones the largest. `default` without values.

    >>> most([9000, 1500, 9000]), most([1500, 9000]), most([], 0)
    (9000, 9000, 0)
    """
    counts = tally(values)
    return max(counts, key=lambda value: (counts[value], value), default=default)


def of_more_than_half(values: Iterable[T]) -> "T | None":
    """The value that more than half have, None without one.

    >>> of_more_than_half([1, 1, 2]), of_more_than_half([1, 2])
    (1, None)
    """
    listed = list(values)
    return next((value for value, count in tally(listed).items() if count * 2 > len(listed)), None)
