"""A join: facts of several kinds brought together, for the many checks that ask the same of them.

It is a class below ``Join`` whose fields are its inputs: facts, tuples of subjects, the ``Profile``, other joins. A check takes it as it
takes a fact, by its type, and the engine makes it at most once per pass::

    @frozen
    class Pair(Join):
        os: Os
        gpus: tuple[Gpu, ...]

        @cached
        def names(self) -> tuple[str, ...]:
            return tuple(need(gpu.name) for gpu in self.gpus)

    def a_check(pair: Pair) -> Findings: ...

What a field may hold is what a parameter of a check may hold. An input that is unread stops each check that takes the join, as if the check
took the input itself; a field ``Os | Unread`` takes it unread.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from hostagent.core.unread import UnreadError

Answer = TypeVar("Answer")


class Join:
    """What all joins are. They are not compared: what was computed is kept beside the fields."""


class cached(Generic[Answer]):  # noqa: N801  a decorator
    """A property of a join that is computed on first use and kept. An ``UnreadError`` is kept, too, and raised at each use.

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
        """Python asks here only until the answer is an attribute of `one`."""
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
