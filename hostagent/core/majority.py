"""What most of several devices have alike: what the others are compared with."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def tally(values: Iterable[T]) -> dict[T, int]:
    """How often there is each value; 0 of none.

    >>> tally(["a", "b", "a"])["a"], tally(["a"])["b"]
    (2, 0)
    """
    return Counter(values)


def most(values: Iterable[Any], default: Any = None) -> Any:
    """What most have; of two that as many have the larger one. `default` where there is no value.

    >>> most([9000, 1500, 9000]), most([1500, 9000]), most([], 0)
    (9000, 9000, 0)
    """
    counts = tally(values)
    return max(counts, key=lambda value: (counts[value], value), default=default)


def of_more_than_half(values: Iterable[T]) -> "T | None":
    """What more than half have, None where no value has so many.

    >>> of_more_than_half([1, 1, 2]), of_more_than_half([1, 2])
    (1, None)
    """
    listed = list(values)
    return next((value for value, count in tally(listed).items() if count * 2 > len(listed)), None)
