"""What a function takes, by its annotations: resolved once, where a check (later a step of a plan) is declared."""

import math
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any, NamedTuple, get_type_hints

from hostagent.facts.hostfacts import HostFacts, subject_key
from hostagent.facts.unread import Unread
from hostagent.profile import Profile
from hostagent.typed import ShapeError, build

_MAX_BITS = 64  # of a threshold: what is computed with it, and printed, stays small


class Inputs(NamedTuple):
    """Parameter names, and what each takes."""

    facts: Mapping[str, type]  # what a host has one of
    subject: tuple[str, type] | None  # the function runs once for each of these
    collections: Mapping[str, type]  # all of one class of subject
    params: tuple[str, Any] | None  # thresholds: the module's own NamedTuple, called Params
    profile: str  # the parameter that takes the Profile, "" for none
    lenient: frozenset[str] = frozenset()  # inputs that the function takes unread, too: ``tuple[Gpu, ...] | Unread``, ``Os | Unread``

    @property
    def kinds(self) -> tuple[type, ...]:
        """The classes of facts that are read, each once: the subject first, a collection by its element."""
        own = (self.subject[1],) if self.subject else ()
        return tuple(dict.fromkeys((*own, *self.facts.values(), *self.collections.values())))

    @property
    def thresholds(self) -> tuple[str, ...]:
        """The names of the Params."""
        return tuple(self.params[1]._fields) if self.params else ()

    def arguments(self, facts: HostFacts, profile: Profile, params: Any) -> dict[str, Any]:
        """What to call the function with, but for its subject. A fact or collection that was not read is ``Unread``."""
        given: dict[str, Any] = {name: facts.of(kind) for name, kind in (*self.facts.items(), *self.collections.items())}
        if self.params:
            given[self.params[0]] = params
        if self.profile:
            given[self.profile] = profile
        return given


def resolve(function: Callable[..., Any]) -> Inputs:
    """The inputs of `function`. Raises ``ValueError`` for an annotation that names none, and for a second subject."""
    facts: dict[str, type] = {}
    subjects: dict[str, type] = {}
    collections: dict[str, type] = {}
    lenient: set[str] = set()
    params, profile = None, ""
    code = function.__code__
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        kind: Any = function.__annotations__.get(name)
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
            collections[name] = element
        elif subject_key(kind):
            subjects[name] = kind
        elif isinstance(kind, type) and is_dataclass(kind):
            facts[name] = kind
        else:
            raise ValueError(f"{name!r} is annotated {kind!r}, wanted a fact, tuple[…, ...] of a subject, Profile or Params")
    if len(subjects) > 1:
        others = " or ".join(f"tuple[{kind.__name__}, ...]" for kind in subjects.values())
        raise ValueError(
            f"found two subjects, {' and '.join(subjects)}, wanted at most one: a check runs once for each. Take all of the other: {others}"
        )
    return Inputs(facts, next(iter(subjects.items()), None), collections, params, profile, frozenset(lenient))


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
    """The Params: their own defaults, and over them what a profile gives; None where a function takes none.

    Raises ``ShapeError``, whose message begins with `where`, for what is no threshold or not of its type.
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
