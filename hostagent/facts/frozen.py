"""``@frozen``: a frozen dataclass whose equality, hash and repr are shared instead of generated for each class.

Generating code for sixty classes is a sixth of what importing hostagent costs (70.8 against 58.4 ms of CPU).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        """For type checkers alone."""
        return lambda decorator: decorator


Class = TypeVar("Class", bound=type)


def _equal(self: Any, other: object) -> Any:
    """As a dataclass: by type, then field by field. An ``Unread`` beside a value raises."""
    return tuple(vars(self).values()) == tuple(vars(other).values()) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(tuple(vars(self).values()))


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


@dataclass_transform(frozen_default=True)
def frozen(kind: Class) -> Class:
    """Fields in order, by keyword or position; no assignment after ``__init__``.

    >>> @frozen
    ... class Point:
    ...     x: int
    >>> Point(1) == Point(x=1), Point(1)
    (True, Point(x=1))
    """
    made: Any = dataclass(frozen=True, eq=False, repr=False)(kind)
    made.__eq__, made.__hash__, made.__repr__ = _equal, _hash, _repr
    return made  # type: ignore[no-any-return]
