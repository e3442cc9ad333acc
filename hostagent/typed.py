"""Plain data (YAML, JSON) to frozen dataclasses and back, strictly; and their JSON Schema.

pydantic does this in 97 ms and 29 MiB a start; the few shapes used here need the part below.
"""

import functools
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, Union

from hostagent.facts.unread import NOT_APPLICABLE, Unread

Missing = Callable[[str], Any]  # field name -> the value of a field that the data does not name
Unknown = Callable[[Mapping[str, Any], str, str], None]  # a mapping, its key that no field has, and where the mapping is


class ShapeError(ValueError):
    """Data that does not have the wanted shape. The message says where, what was found, what was wanted."""


def build(kind: Any, data: Any, where: str, missing: Missing | None = None, unknown: Unknown | None = None) -> Any:
    """`data` as an instance of `kind`; raises ``ShapeError``. `where` names the place in messages: ``profile.driver``.

    `missing` gives the value of a key that the data lacks; a key that no field has is handed to `unknown` and left out.
    Without them both are mistakes.
    """
    origin = typing.get_origin(kind)
    if origin in (Union, types.UnionType):
        return _build_union(typing.get_args(kind), data, where, missing, unknown)
    if origin is Literal:
        choices = typing.get_args(kind)
        if data in choices and type(data) in {type(choice) for choice in choices}:
            return data
        raise ShapeError(f"{where}: found {data!r}, wanted one of {', '.join(map(str, choices))}")
    if origin is tuple:
        return _build_tuple(typing.get_args(kind), data, where, missing, unknown)
    if origin in (dict, Mapping):
        _want(isinstance(data, dict), where, data, "a mapping")
        value_kind = typing.get_args(kind)[1]
        return {_name(key, where): build(value_kind, value, f"{where}.{key}", missing, unknown) for key, value in data.items()}
    if is_dataclass(kind):
        return _build_dataclass(kind, data, where, missing, unknown)
    if kind is Any:
        return data
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    _want(isinstance(data, kind) and (kind is bool or not isinstance(data, bool)), where, data, _word(kind))
    return data


def _build_union(kinds: tuple[Any, ...], data: Any, where: str, missing: Missing | None, unknown: Unknown | None) -> Any:
    if Unread in kinds and isinstance(data, dict) and "unread" in data:
        why = build(typing.get_type_hints(Unread.__init__)["why"], data["unread"], f"{where}.unread")
        return Unread(why, str(data.get("detail", "")))
    rest = [kind for kind in kinds if kind is not Unread]
    if len(rest) == 1:
        return build(rest[0], data, where, missing, unknown)
    for kind in rest:
        try:
            return build(kind, data, where, missing, unknown)
        except ShapeError:
            continue
    raise ShapeError(f"{where}: found {_found(data)}, wanted {' or '.join(map(_word, rest))}")


def _build_tuple(kinds: tuple[Any, ...], data: Any, where: str, missing: Missing | None, unknown: Unknown | None) -> Any:
    _want(isinstance(data, list | tuple), where, data, "a list")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(build(kinds[0], item, f"{where}[{number}]", missing, unknown) for number, item in enumerate(data))
    _want(len(data) == len(kinds), where, data, f"a list of {len(kinds)}")
    return tuple(
        build(kind, item, f"{where}[{number}]", missing, unknown) for number, (kind, item) in enumerate(zip(kinds, data, strict=True))
    )


def _build_dataclass(kind: Any, data: Any, where: str, missing: Missing | None, unknown: Unknown | None) -> Any:
    _want(isinstance(data, dict), where, data, "a mapping")
    hints = typing.get_type_hints(kind)
    known = {_key(field): field for field in fields(kind)}
    for key in data:
        if key not in known:
            if unknown is None:
                raise ShapeError(f"{where}: found the unknown key {key!r}, wanted one of {', '.join(sorted(known))}{_nearest(key, known)}")
            unknown(data, key, where)
    values: dict[str, Any] = {}
    for key, field in known.items():
        if key in data:
            values[field.name] = build(hints[field.name], data[key], f"{where}.{key}", missing, unknown)
        elif missing is not None:
            values[field.name] = missing(key)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ShapeError(f"{where}: the key {key!r} is missing")
    return kind(**values)


def _key(field: "Field[Any]") -> str:
    """What the data calls a field: its own name, or the ``key`` of its metadata where that is a keyword of Python."""
    return str(field.metadata.get("key", field.name))


def _nearest(key: object, known: Mapping[str, Any]) -> str:
    import difflib  # only on the error path

    close = difflib.get_close_matches(str(key), list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _name(key: Any, where: str) -> str:
    _want(isinstance(key, str), where, key, "a text key")
    return str(key)


def _want(condition: bool, where: str, data: Any, wanted: str) -> None:
    if not condition:
        raise ShapeError(f"{where}: found {_found(data)}, wanted {wanted}")


def _found(data: Any) -> str:
    text = repr(data)
    return f"{type(data).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def _word(kind: Any) -> str:
    return {str: "text", int: "a whole number", float: "a number", bool: "true or false"}.get(kind, str(kind))


@functools.cache
def _names(kind: type) -> tuple[tuple[str, str], ...]:
    """What data and code call each field of a class."""
    return tuple((_key(field), field.name) for field in fields(kind))


def plain(value: Any) -> Any:
    """The reverse of `build`: what JSON can hold. An ``Unread`` is ``{"unread": why, "detail": …}``, never null."""
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, Unread):
        return {"unread": value.why, "detail": value.detail}
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(getattr(value, name)) for key, name in _names(type(value))}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
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


def schema(kind: Any, *, partial: bool = False) -> dict[str, Any]:
    """JSON Schema (2020-12) of what `build` accepts. `partial`: no key is required (an overlay)."""
    origin = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [UNREAD_SCHEMA if one is Unread else schema(one, partial=partial) for one in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": schema(arguments[0], partial=partial)}
        items = [schema(one, partial=partial) for one in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema(arguments[1], partial=partial)}
    if is_dataclass(kind):
        return _dataclass_schema(kind, partial)
    return {} if kind is Any else {"type": {str: "string", int: "integer", float: "number", bool: "boolean"}[kind]}


def _dataclass_schema(kind: Any, partial: bool) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    required = [_key(field) for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING]
    built: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {_key(field): schema(hints[field.name], partial=partial) for field in fields(kind)},
    }
    if required and not partial:
        built["required"] = required
    return built
