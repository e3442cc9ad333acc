"""Facts as JSON, and their schemas: shared by the families of the report's facts."""

from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from hostagent.core.typed import UNREAD_SCHEMA, plain, schema
from hostagent.core.unread import Unread
from hostagent.facts.packages import Package

_PACKAGE = ("name", "version", "upstream", "state", "held", "origin")


def each(values: Any, write: Callable[[Any], Any]) -> Any:
    """A list as JSON, or the ``Unread``."""
    return plain(values) if isinstance(values, Unread) else [write(value) for value in values]


def picked(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """These fields of a fact."""
    return {name: plain(getattr(value, name)) for name in names}


def package(one: Package) -> dict[str, Any]:
    return picked(one, _PACKAGE)


def fields_schema(kind: type, names: tuple[str, ...]) -> dict[str, Any]:
    """By name, the schema of each of these fields."""
    hints = get_type_hints(kind)
    return {name: schema(hints[name]) for name in names}


def object_schema(properties: Mapping[str, Any], later: tuple[str, ...] = ()) -> dict[str, Any]:
    """`later`: properties that reports of earlier releases lack."""
    required = [name for name in properties if name not in later]
    return {"type": "object", "required": required, "additionalProperties": False, "properties": dict(properties)}


def or_unread(shape: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [dict(shape), UNREAD_SCHEMA]}


def list_schema(items: Mapping[str, Any]) -> dict[str, Any]:
    return or_unread({"type": "array", "items": dict(items)})


def packages_schema() -> dict[str, Any]:
    return list_schema(object_schema(fields_schema(Package, _PACKAGE)))
