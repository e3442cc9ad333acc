"""Inputs of a function by its annotations: resolved once, where a check (later a step of a plan) is declared."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, get_type_hints

from hostagent.core.join import Join
from hostagent.core.typed import ShapeError, build
from hostagent.core.unread import Unread
from hostagent.facts.hostfacts import HostFacts, subject_key
from hostagent.profiles.profile import Profile

_MAX_BITS = 64  # of a threshold: what is computed with it, and printed, stays small
#: By the class of the join: each is resolved once, for all checks that take it.
_OF_JOINS: "dict[type, Inputs]" = {}


class Inputs(NamedTuple):
    """Parameter names, and what each takes."""

    facts: Mapping[str, type]  # what a host has one of
    subject: tuple[str, type] | None  # the function runs once for each of these
    collections: Mapping[str, type]  # all of one class of subject
    params: tuple[str, Any] | None  # thresholds: the module's own NamedTuple, called Params
    profile: str  # the parameter that takes the Profile, "" for none
    lenient: frozenset[str]  # inputs that the function takes unread, too: ``tuple[Gpu, ...] | Unread``, ``Os | Unread``
    joins: Mapping[str, type[Join]]
    kinds: tuple[type, ...]  # the classes of facts that are read, for its joins, too: the subject first, a collection by its element
    needed: tuple[type, ...]  # those that have to be read before the function is called, in the order in which they are asked for

    @property
    def reads_profile(self) -> bool:
        """By itself or by a join."""
        return bool(self.profile) or any(join_inputs(join).reads_profile for join in self.joins.values())

    @property
    def thresholds(self) -> tuple[str, ...]:
        """The names of the Params."""
        return tuple(self.params[1]._fields) if self.params else ()

    def arguments(self, host: "JoinCache", params: Any = None) -> dict[str, Any]:
        """The arguments but the subject. A fact, collection or join that was not read is ``Unread``."""
        given: dict[str, Any] = {name: host.facts.of(kind) for name, kind in (*self.facts.items(), *self.collections.items())}
        given |= {name: host.of(kind) for name, kind in self.joins.items()}
        if self.params:
            given[self.params[0]] = params
        if self.profile:
            given[self.profile] = host.profile
        return given


class JoinCache:
    """The facts of one host and its profile, and their joins: each computed once, when a function first takes it."""

    def __init__(self, facts: HostFacts, profile: Profile) -> None:
        self.facts = facts
        self.profile = profile
        self._joins: dict[type, Any] = {}

    def of(self, kind: type[Join]) -> Any:
        """The join; or the ``Unread`` of the first of its inputs that it needs and that was not read."""
        if kind not in self._joins:
            inputs = join_inputs(kind)
            needed = map(self.facts.of, inputs.needed)
            gap = next((value for value in needed if isinstance(value, Unread)), None)
            self._joins[kind] = kind(**inputs.arguments(self)) if gap is None else gap
        return self._joins[kind]


def resolve(function: Callable[..., Any]) -> Inputs:
    """The inputs of `function`. Raises ``ValueError`` for an annotation that names none, and for a second subject."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return _resolved({name: function.__annotations__.get(name) for name in names})


def join_inputs(join: type[Join]) -> Inputs:
    """The inputs of a join: its fields. Raises ``ValueError`` for one that names none, a subject or thresholds."""
    if join not in _OF_JOINS:
        _OF_JOINS[join] = _of_fields(join)
    return _OF_JOINS[join]


def _of_fields(join: type[Join]) -> Inputs:
    if not is_dataclass(join):
        raise ValueError(f"the join {join.__name__} is no class of @frozen")
    inputs = _resolved({field.name: field.type for field in fields(join)})
    if inputs.subject or inputs.params:
        raise ValueError(f"the join {join.__name__}: found a subject or Params among its fields, wanted what is one for the whole host")
    return inputs


def _resolved(annotations: Mapping[str, Any]) -> Inputs:
    facts: dict[str, type] = {}
    subjects: dict[str, type] = {}
    collections: dict[str, type] = {}
    joins: dict[str, type[Join]] = {}
    read: dict[str, tuple[tuple[type, ...], tuple[type, ...]]] = {}  # the kinds of a parameter, and those of them that are needed
    lenient: set[str] = set()
    params, profile = None, ""
    for name, annotation in annotations.items():
        kind: Any = annotation
        members: tuple[Any, ...] = getattr(kind, "__args__", ())
        if Unread in members and (getattr(members[0], "__origin__", None) is tuple or is_dataclass(members[0])):
            kind = members[0]
            lenient.add(name)
        element: Any = kind.__args__[0] if getattr(kind, "__origin__", None) is tuple else None
        if kind is Profile:
            profile = name
        elif getattr(kind, "__name__", "") == "Params":
            params = (name, _with_defaults(kind))
        elif element and subject_key(element):
            collections[name], read[name] = element, ((element,), (element,))
        elif subject_key(kind):
            subjects[name] = kind
        elif isinstance(kind, type) and issubclass(kind, Join):
            joins[name], read[name] = kind, (join_inputs(kind).kinds, join_inputs(kind).needed)
        elif isinstance(kind, type) and is_dataclass(kind):
            facts[name], read[name] = kind, ((kind,), (kind,))
        else:
            raise ValueError(f"{name!r} is annotated {kind!r}, wanted a fact, tuple[…, ...] of a subject, a join, Profile or Params")
    if len(subjects) > 1:
        others = " or ".join(f"tuple[{kind.__name__}, ...]" for kind in subjects.values())
        raise ValueError(
            f"found two subjects, {' and '.join(subjects)}, wanted at most one: a check runs once for each. Take all of the other: {others}"
        )
    subject = next(iter(subjects.items()), None)
    own = (subject[1],) if subject else ()
    needed = (kind for name, (_, kinds) in read.items() if name not in lenient for kind in kinds)
    return Inputs(
        facts=facts,
        subject=subject,
        collections=collections,
        params=params,
        profile=profile,
        lenient=frozenset(lenient),
        joins=joins,
        kinds=tuple(dict.fromkeys((*own, *_in_order(kind for kinds, _ in read.values() for kind in kinds)))),
        needed=tuple(dict.fromkeys((*_in_order(needed), *(() if subject and subject[0] in lenient else own)))),
    )


def _in_order(kinds: Iterable[type]) -> tuple[type, ...]:
    """Single facts before collections."""
    return tuple(sorted(kinds, key=lambda kind: bool(subject_key(kind))))


def _with_defaults(kind: Any) -> Any:
    bare = [name for name in getattr(kind, "_fields", ("it",)) if name not in getattr(kind, "_field_defaults", {})]
    if bare:
        raise ValueError(f"Params: found no default of {', '.join(bare)}, wanted a NamedTuple with a default for each threshold")
    for name, wanted in kind.__annotations__.items():
        if not _is_threshold(wanted):  # a text would be evaluated
            raise ValueError(f"Params: {name!r} is annotated {wanted!r}, wanted int, float, str, bool or a tuple of these")
    return kind


def _is_threshold(kind: Any) -> bool:
    members = [one for one in getattr(kind, "__args__", ()) if one is not Ellipsis]
    is_tuple = getattr(kind, "__origin__", None) is tuple and bool(members)
    return all(map(_is_threshold, members)) if is_tuple else kind in (int, float, str, bool)


def thresholds(inputs: Inputs, given: Mapping[str, Any], where: str) -> Any:
    """The Params: their own defaults, and over them the profile's values; None where a function takes none.

    Raises ``ShapeError``, with a message that begins with `where`, for a name that is no threshold or a value of another type.
    """
    if not inputs.params:
        if given:
            raise ShapeError(f"{where}: found {', '.join(given)}, wanted none: there are no thresholds")
        return None
    kind = inputs.params[1]
    hints = get_type_hints(kind) if given else {}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in hints:
            raise ShapeError(f"{where}: found {name!r}, wanted one of {', '.join(hints)}")
        try:
            values[name] = build(hints[name], _numbers(hints[name], value), f"{where}.{name}")
        except OverflowError:  # a whole number that no float can hold
            values[name] = math.inf
        if not _is_finite(values[name]):  # every comparison with NaN is false
            raise ShapeError(f"{where}.{name}: found {value!r:.60}, wanted a finite number of at most 64 bits")
    return kind()._replace(**values)


def _numbers(kind: Any, value: Any) -> Any:
    """A list of whole numbers may be a text with commas, as profiles had it: "62, 94"."""
    numbers = [one.strip() for one in value.split(",") if one.strip()] if isinstance(value, str) else []
    is_list = getattr(kind, "__origin__", None) is tuple and kind.__args__ == (int, ...)
    if not is_list or not isinstance(value, str) or not all(one.isascii() and one.isdecimal() and len(one) < 20 for one in numbers):
        return value
    return list(map(int, numbers))


def _is_finite(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_finite, value))
    if isinstance(value, int):
        return value.bit_length() <= _MAX_BITS
    return not isinstance(value, float) or math.isfinite(value)
