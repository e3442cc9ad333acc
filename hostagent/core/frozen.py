"""``@frozen``: a frozen dataclass with shared methods instead of methods generated for each class.

Generating code for some sixty classes costs a quarter of the import time of hostagent. ``dataclasses.replace``, ``fields`` and
``is_dataclass`` work as ever.
"""

import re
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        """For type checkers only."""
        return lambda decorator: decorator


Class = TypeVar("Class", bound=type)


def _init(self: Any, *values: Any, **named: Any) -> None:
    wanted = self.__fields__
    if len(values) == len(wanted) and not named:  # the usual case: a host has thousands of values
        self.__dict__.update(zip(wanted, values, strict=True))
        return
    if not values and named.keys() == wanted.keys():
        self.__dict__.update((name, named[name]) for name in wanted)
        return
    if len(values) > len(wanted):
        raise TypeError(f"{type(self).__name__} takes {len(wanted)} values, found {len(values)}")
    given = dict(zip(wanted, values, strict=False))
    for name in named:
        if name in given or name not in wanted:
            raise TypeError(f"{type(self).__name__} got {'two values for' if name in given else 'the unknown field'} {name!r}")
    given |= named
    for name, field in wanted.items():
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
    """As a dataclass: by type, then field by field. Comparing an ``Unread`` with a value raises."""
    return tuple(vars(self).values()) == tuple(vars(other).values()) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(tuple(vars(self).values()))


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


@overload
def frozen(kind: Class) -> Class: ...


@overload
def frozen(*, subject: str, called: str, parent: str = "") -> Callable[[Class], Class]: ...


@dataclass_transform(frozen_default=True)
def frozen(kind: Any = None, *, subject: str = "", called: str = "", parent: str = "") -> Any:
    """Fields in order, by keyword or position; no assignment after ``__init__``. Class variables are no fields.

    `subject`: the field that identifies one of several instances of a host. `called` is the word for one in texts; the class name in
    snake case is its kind in a report. `parent` is the field with the subject that it is a part of: a port's card. Raises ``TypeError``
    for a subject or a parent that is no field.

    >>> @frozen(subject="name", called="RDMA port", parent="pci")
    ... class RdmaPort:
    ...     name: str
    ...     pci: str = ""
    >>> RdmaPort("mlx5_0:1") == RdmaPort(name="mlx5_0:1"), RdmaPort("mlx5_0:1")
    (True, RdmaPort(name='mlx5_0:1', pci=''))
    >>> subject_kind(RdmaPort), called_of(RdmaPort)
    ('rdma_port', 'RDMA port')
    """

    def make(kind: Any) -> Any:
        made: Any = dataclass(init=False, eq=False, repr=False)(kind)
        made.__fields__ = {field.name: field for field in fields(made)}
        made.__init__, made.__setattr__, made.__delattr__ = _init, _refuse, _refuse
        made.__eq__, made.__hash__, made.__repr__ = _equal, _hash, _repr
        if subject or called or parent:
            if subject not in made.__fields__ or not called:
                raise TypeError(f"{kind.__name__}: found subject={subject!r}, called={called!r}, wanted a field and a word for one of them")
            if parent and (parent not in made.__fields__ or parent == subject):
                raise TypeError(f"{kind.__name__}: found parent={parent!r}, wanted a field that names another subject")
            made.__subject__, made.__called__, made.__parent__ = subject, called, parent
        return made

    return make if kind is None else make(kind)


def subject_kind(kind: type) -> str:
    """The kind of a subject in reports: ``Gpu`` is gpu, ``RdmaPort`` rdma_port."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


def called_of(kind: type) -> str:
    """The word for a subject in texts: GPU, container runtime."""
    return str(getattr(kind, "__called__", kind.__name__))
