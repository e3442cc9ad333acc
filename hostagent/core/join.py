"""A join: derived values from several facts, computed once for many checks.

It is a subclass of ``Join``; its fields are its inputs: facts, tuples of subjects, the ``Profile``, other joins. A check takes it by its
type, like a fact, and the engine builds it at most once per pass::

    @frozen
    class Pair(Join):
        os: Os
        gpus: tuple[Gpu, ...]

        @cached
        def names(self) -> tuple[str, ...]:
            return tuple(need(gpu.name) for gpu in self.gpus)

    def a_check(pair: Pair) -> Findings: ...

A field may have the types of a parameter of a check. An unread input stops each check that takes the join, as if the check took the input
itself; a field ``Os | Unread`` accepts it unread.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from hostagent.core.unread import UnreadError

Answer = TypeVar("Answer")


class Join:
    """Base class of joins. Not comparable: computed values are stored next to the fields."""


class cached(Generic[Answer]):  # noqa: N801  a decorator
    """A property of a join, computed on first use and cached; so is an ``UnreadError``, which is raised at each use.

    >>> class Sum(Join):
    ...     @cached
    ...     def value(self) -> int:
    ...         print("computed")
    ...         return 2
    >>> one = Sum()
    >>> one.value + one.value
    computed
    4
    """

    def __init__(self, compute: Callable[[Any], Answer]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, one: None, owner: type) -> "cached[Answer]": ...

    @overload
    def __get__(self, one: Join, owner: type) -> Answer: ...

    def __get__(self, one: "Join | None", owner: type) -> "cached[Answer] | Answer":
        """Called only until the value is an attribute of `one`."""
        if one is None:
            return self
        kept, gap = one.__dict__, f"unread {self._name}"
        if gap in kept:
            raise UnreadError(kept[gap])
        try:
            answer: Answer = self._compute(one)
        except UnreadError as error:
            kept[gap] = error.unread
            raise
        kept[self._name] = answer
        return answer
