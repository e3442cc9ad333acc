"""``@frozen``: a frozen dataclass whose methods are shared instead of generated for each class.

Generating code for some sixty classes costs a quarter of what importing hostagent does. ``dataclasses.replace``, ``fields`` and
``is_dataclass`` work as ever.
"""

from dataclasses import MISSING, FrozenInstanceError, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        """For type checkers alone."""
        return lambda decorator: decorator


Class = TypeVar("Class", bound=type)


def _init(self: Any, *values: Any, **named: Any) -> None:
    fields = self.__dataclass_fields__
    if len(values) > len(fields):
        raise TypeError(f"{type(self).__name__} takes {len(fields)} values, found {len(values)}")
    given = dict(zip(fields, values, strict=False))
    for name in named:
        if name in given or name not in fields:
            raise TypeError(f"{type(self).__name__} got {'two values for' if name in given else 'the unknown field'} {name!r}")
    given |= named
    for name, field in fields.items():
        if name in given:
            self.__dict__[name] = given[name]
        elif field.default is not MISSING:
            self.__dict__[name] = field.default
        elif field.default_factory is not MISSING:
            self.__dict__[name] = field.default_factory()
        else:
            raise TypeError(f"{type(self).__name__} needs a value for {name!r}")


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise FrozenInstanceError(f"cannot change {name!r} of a {type(self).__name__}")


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
    made: Any = dataclass(init=False, eq=False, repr=False)(kind)
    made.__init__, made.__setattr__, made.__delattr__ = _init, _refuse, _refuse
    made.__eq__, made.__hash__, made.__repr__ = _equal, _hash, _repr
    return made  # type: ignore[no-any-return]
