"""Plain data (YAML, JSON) to frozen dataclasses and back, strictly; and their JSON Schema.

pydantic costs 97 ms and 29 MiB per start; the few shapes used here need only this.
"""

import contextlib
import functools
import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple, Union

from hostagent.core.errors import did_you_mean
from hostagent.core.unread import NOT_APPLICABLE, Unread

Missing = Callable[[str], Any]  # field name -> the value of a field that the data lacks
Texts = Callable[[type], Mapping[str, str]]  # descriptions of the fields of a class
Unknown = Callable[[tuple[Any, ...]], None]  # path of a key that no field has: keys and list positions from the top
#: Checking stops after so many.
MAX_MISTAKES = 100
_MAX_KEY = 80
_SIMPLE = frozenset({str, int, float, bool, type(None)})  # JSON holds these as they are: a report has ten thousand of them


class Mistake(NamedTuple):
    """One value that does not have the wanted shape."""

    path: tuple[Any, ...]  # keys and list positions, from the top
    problem: str  # what was found and wanted
    value: Any = ...  # an ellipsis where it does not matter


class ShapeError(ValueError):
    """Data of the wrong shape. The message has the place of the first mistake, what was found, what was wanted."""

    def __init__(self, text: str, mistakes: tuple[Mistake, ...] = ()) -> None:
        super().__init__(text)
        self.mistakes = mistakes


class _WrongError(Exception):
    """The mistakes in one part of the data."""

    def __init__(self, *mistakes: Mistake) -> None:
        super().__init__()
        self.mistakes = mistakes


class _Leave(NamedTuple):
    missing: Missing | None
    unknown: Unknown | None


def build(kind: Any, data: Any, where: str, missing: Missing | None = None, unknown: Unknown | None = None) -> Any:
    """`data` as an instance of `kind`; raises ``ShapeError`` with all mistakes. `where` names the place in messages: ``profile.driver``.

    `missing` returns the value of a key that the data lacks; a key that no field has is passed to `unknown` and left out. Without them
    both are mistakes.
    """
    try:
        return _build(kind, data, (), _Leave(missing, unknown))
    except _WrongError as error:
        first = error.mistakes[0]
        raise ShapeError(f"{where}{''.join(map(_step, first.path))}: {first.problem}", error.mistakes) from None


def _step(key: Any) -> str:
    return f"[{key}]" if isinstance(key, int) else f".{str(key)[:_MAX_KEY]}"


def dotted(path: tuple[Any, ...]) -> str:
    """
    A path in dotted notation.

    >>> dotted(("gpus", "passthrough", 0))
    'gpus.passthrough[0]'
    """
    return "".join(map(_step, path)).removeprefix(".")


def _build(kind: Any, data: Any, path: tuple[Any, ...], leave: _Leave) -> Any:
    origin = typing.get_origin(kind)
    if origin in (Union, types.UnionType):
        return _build_union(typing.get_args(kind), data, path, leave)
    if origin is Literal:
        return _build_literal(typing.get_args(kind), data, path)
    if origin is tuple:
        return _build_tuple(kind, data, path, leave)
    if origin in (dict, Mapping):
        _want(isinstance(data, dict), path, data, "a mapping")
        return _build_mapping(typing.get_args(kind)[1], data, path, leave)
    if is_dataclass(kind):
        return _build_dataclass(kind, data, path, leave)
    if kind is Any:
        return data
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    _want(isinstance(data, kind) and (kind is bool or not isinstance(data, bool)), path, data, _word(kind))
    return data


def _build_union(kinds: tuple[Any, ...], data: Any, path: tuple[Any, ...], leave: _Leave) -> Any:
    if Unread in kinds and isinstance(data, dict) and "unread" in data:
        why = _build(_hints(Unread.__init__)["why"], data["unread"], (*path, "unread"), leave)
        return Unread(why, str(data.get("detail", "")))
    rest = [kind for kind in kinds if kind is not Unread]
    if len(rest) == 1:
        return _build(rest[0], data, path, leave)
    for kind in rest:
        with contextlib.suppress(_WrongError):
            return _build(kind, data, path, leave)
    raise _WrongError(Mistake(path, f"found {_with_kind(data)}, wanted {' or '.join(map(_word, rest))}", data))


def _build_literal(choices: tuple[Any, ...], data: Any, path: tuple[Any, ...]) -> Any:
    if data in choices and type(data) in {type(choice) for choice in choices}:
        return data
    hint = did_you_mean(data, map(str, choices)) if isinstance(data, str) else ""
    raise _WrongError(Mistake(path, f"found {shown(data)}, wanted {_word(Literal[choices])}{hint}", data))


def _build_tuple(kind: Any, data: Any, path: tuple[Any, ...], leave: _Leave) -> Any:
    kinds = typing.get_args(kind)
    _want(isinstance(data, list | tuple), path, data, _word(kind))
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(data)
    _want(len(data) == len(kinds), path, data, f"a list of {len(kinds)}")
    values, wrong = [], list[Mistake]()
    for number, (each, item) in enumerate(zip(kinds, data, strict=True)):
        try:
            values.append(_build(each, item, (*path, number), leave))
        except _WrongError as error:
            _add(wrong, error.mistakes)
    _refuse(wrong)
    return tuple(values)


def _build_mapping(kind: Any, data: Mapping[Any, Any], path: tuple[Any, ...], leave: _Leave) -> dict[str, Any]:
    values, wrong = dict[str, Any](), list[Mistake]()
    for key, value in data.items():
        try:
            _want(isinstance(key, str), (*path, key), key, "a text key")
            values[key] = _build(kind, value, (*path, key), leave)
        except _WrongError as error:
            _add(wrong, error.mistakes)
    _refuse(wrong)
    return values


def _build_dataclass(kind: Any, data: Any, path: tuple[Any, ...], leave: _Leave) -> Any:
    _want(isinstance(data, dict), path, data, "a mapping")
    hints = _hints(kind)
    known = {_key(field): field for field in fields(kind)}
    wrong = list(islice(_unknown_keys(data, known, path, leave.unknown), MAX_MISTAKES))
    values: dict[str, Any] = {}
    for key, field in known.items():
        if key in data:
            try:
                values[field.name] = _build(hints[field.name], data[key], (*path, key), leave)
            except _WrongError as error:
                _add(wrong, error.mistakes)
        elif leave.missing is not None:
            values[field.name] = leave.missing(key)
        elif field.default is MISSING and field.default_factory is MISSING:
            wrong.append(Mistake(path, f"the key {key!r} is missing", data))
    _refuse(wrong)
    return kind(**values)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """Cached: a list of thousands has one class."""
    return typing.get_type_hints(kind)


def _unknown_keys(data: Mapping[Any, Any], known: Mapping[str, Any], path: tuple[Any, ...], unknown: Unknown | None) -> Iterator[Mistake]:
    for key in data:
        if key not in known and unknown is not None:
            unknown((*path, key))
        elif key not in known:
            hint = did_you_mean(key, known) or f", wanted one of {', '.join(sorted(known))}"
            yield Mistake((*path, key), f"unknown key{hint}", data[key])


def _add(wrong: list[Mistake], more: tuple[Mistake, ...]) -> None:
    wrong += more
    if len(wrong) >= MAX_MISTAKES:
        _refuse(wrong)


def _refuse(wrong: list[Mistake]) -> None:
    if wrong:
        raise _WrongError(*wrong[:MAX_MISTAKES])


def _key(field: "Field[Any]") -> str:
    """The key of a field: its name, or the ``key`` of its metadata where the key is a Python keyword."""
    return str(field.metadata.get("key", field.name))


def _want(condition: bool, path: tuple[Any, ...], data: Any, wanted: str) -> None:
    if not condition:
        raise _WrongError(Mistake(path, f"found {_with_kind(data)}, wanted {wanted}", data))


def _with_kind(data: Any) -> str:
    """
    A value with its kind: the text "8" and the number 8 look alike.

    >>> _with_kind("8"), _with_kind(8), _with_kind(True), _with_kind(None)
    ("the text '8'", 'the number 8', 'true', 'nothing')
    """
    if data is None or isinstance(data, bool):
        return shown(data)
    kinds = {str: "text", int: "number", float: "number", list: "list", tuple: "list", dict: "mapping"}
    return f"the {kinds.get(type(data), type(data).__name__)} {shown(data)}"


def shown(data: Any) -> str:
    """A value for a sentence, at most 60 characters."""
    words = {None: "nothing", True: "true", False: "false"}
    text = words[data] if data is None or isinstance(data, bool) else repr(data)
    return text if len(text) <= 60 else text[:57] + "..."


def _word(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return f"one of {', '.join(str(choice) or repr('') for choice in typing.get_args(kind))}"
    if typing.get_origin(kind) is tuple:
        items = {str: "a list of texts", int: "a list of whole numbers such as [79, 154]"}
        return items.get(typing.get_args(kind)[0], "a list")
    return {str: "text", int: "a whole number", float: "a number", bool: "true or false"}.get(kind, str(kind))


@functools.cache
def _names(kind: type) -> tuple[tuple[str, str], ...]:
    """Key and name of each field of a class."""
    return tuple((_key(field), field.name) for field in fields(kind))


def finite(found: Any) -> float | None:
    """A finite float; None for true and false, and for an integer that no float can hold.

    >>> finite(9), finite("9"), finite(True), finite(float("nan")), finite(10**400)
    (9.0, None, None, None, None)
    """
    if type(found) is float:
        return found if math.isfinite(found) else None
    if type(found) is int:
        try:
            return float(found)
        except OverflowError:
            return None
    return None


def plain(value: Any) -> Any:
    """The reverse of `build`: values for JSON. An ``Unread`` is ``{"unread": why, "detail": …}``, never null."""
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple | list):
        return [one if type(one) in _SIMPLE else plain(one) for one in value]
    if isinstance(value, Unread):
        return {"unread": value.why, "detail": value.detail}
    if is_dataclass(kind := type(value)):
        return {key: one if type(one := getattr(value, name)) in _SIMPLE else plain(one) for key, name in _names(kind)}
    if isinstance(value, Mapping):
        return {str(key): one if type(one) in _SIMPLE else plain(one) for key, one in value.items()}
    return value


UNREAD_SCHEMA = {
    "type": "object",
    "required": ["unread", "detail"],
    "additionalProperties": False,
    "properties": {
        "unread": {"enum": sorted(NOT_APPLICABLE | {"denied", "timeout", "error", "not-recorded"})},
        "detail": {"type": "string"},
    },
}


def schema(kind: Any, *, partial: bool = False, texts: "Texts | None" = None) -> dict[str, Any]:
    """JSON Schema (2020-12) of what `build` accepts. `partial`: no key is required (an overlay). `texts`: descriptions of fields."""
    below = functools.partial(schema, partial=partial, texts=texts)
    origin = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [UNREAD_SCHEMA if one is Unread else below(one) for one in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": below(arguments[0])}
        items = [below(one) for one in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": below(arguments[1])}
    if isinstance(kind, type) and is_dataclass(kind):
        return _dataclass_schema(kind, below, partial=partial, texts=texts(kind) if texts else {})
    names = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    return {} if kind is Any else {"type": names[kind]}


def _dataclass_schema(kind: Any, below: Callable[[Any], dict[str, Any]], *, partial: bool, texts: Mapping[str, str]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    properties = {_key(field): below(hints[field.name]) for field in fields(kind)}
    for field in fields(kind):
        if field.name in texts:
            properties[_key(field)]["description"] = texts[field.name]
    required = [_key(field) for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING]
    built: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
    if required and not partial:
        built["required"] = required
    return built
