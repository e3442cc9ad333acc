"""JSON into the typed fields of a KubeletConfiguration, as Go does it: null and empty values, numbers, names by case.

A structure is a dictionary by field, without the fields that have Go's zero value by never being set; durations are nanoseconds.
"""

# What is refused depends on Go's decoder: null for a duration is an error, for a number nothing, for a pointer the default; a
# number in a map of text is an error; `maxPods: 1e2` is 100 in YAML and refused in JSON; a key that is twice in a file is lenient
# (JSON merges maps, YAML replaces them), in a drop-in refused; unknown fields are refused nowhere; names in a drop-in match in
# any case, in a file only as written.

import functools
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from hostagent.domains.kubelet.config.golang import parse_duration
from hostagent.domains.kubelet.config.quantity import WRONG_FORMAT, ZERO, Quantity, parse_quantity
from hostagent.domains.kubelet.config.rows import holds
from hostagent.domains.kubelet.config.values import Members, Real, kind_of
from hostagent.domains.kubelet.tables.fields import ROOT, STRUCTURES

Fields = dict[str, Any]

_BITS = {"i32": (-(2**31), 2**31 - 1), "i64": (-(2**63), 2**63 - 1), "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1)}
_NAMES = {
    "s": "string",
    "b": "bool",
    "i32": "int32",
    "i64": "int64",
    "u32": "uint32",
    "u64": "uint64",
    "f": "float64",
    "q": "resource.Quantity",
}
#: Go's zero values of what is never null.
_ZEROS: dict[str, Any] = {"s": "", "b": False, "i32": 0, "i64": 0, "u32": 0, "u64": 0, "f": 0.0, "d": 0, "td": 0, "q": ZERO, "t": ""}
_SURROGATE = re.compile("[\ud800-\udfff]")
#: The letters that Go takes for an ASCII one.
_FOLDS = {ord("\u017f"): "s", ord("\u212a"): "k"}


class Schema(NamedTuple):
    """The fields of one minor version: types by structure and field."""

    structures: dict[str, dict[str, str]]

    def fields(self) -> dict[str, str]:
        return self.structures[ROOT]


@functools.lru_cache(maxsize=16)
def schema_of(minor: int) -> Schema:
    structures = {}
    for name, rows in STRUCTURES.items():
        structures[name] = {row[0]: row[1] for row in (text.split() for text in rows.split(";")) if row and holds(row[2:], minor)}
    return Schema(structures)


class Decoded(NamedTuple):
    """`error` is that of Go's decoder for the first value that does not fit, "" otherwise."""

    fields: Fields
    error: str


class _FatalError(Exception):
    """A type that reads itself has refused its text: decoding ends there."""


def decode(schema: Schema, document: Any, into: Fields, *, folded: bool) -> Decoded:
    """`into` with what the document says; `folded`: names are the same whatever the case of their letters."""
    decoding = _Decoding(schema, folded=folded)
    fields = dict(into)
    try:
        if isinstance(document, Members | dict):
            fields = decoding.structure(ROOT, document, into, "")
        elif document is not None:
            decoding.mismatch(document, f"v1beta1.{ROOT}", "")
    except _FatalError as error:
        return Decoded(fields, str(error))
    return Decoded(fields, decoding.errors[0] if decoding.errors else "")


def zero(kind: str) -> Any:
    """The value of a field that is not set."""
    return None if kind[0] in "*[{" else {} if kind[0] == ":" else _ZEROS[kind]


def _pairs(value: "Members | dict[str, Any]") -> Iterable[tuple[str, Any]]:
    return value if isinstance(value, Members) else value.items()


def _text(value: str) -> str:
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def _fold(name: str) -> str:
    return name.translate(_FOLDS).lower()


class _Decoding:
    def __init__(self, schema: Schema, *, folded: bool) -> None:
        self._schema, self._folded = schema, folded
        self.errors: list[str] = []

    def mismatch(self, value: Any, name: str, path: str) -> None:
        self.errors.append(_mismatch(value, name, path))

    def structure(self, name: str, value: Any, into: Fields, path: str) -> Fields:
        known, found = self._schema.structures[name], dict(into)
        for key, member in _pairs(value):
            field = self._field(known, key)
            if field:
                kind = known[field]
                found[field] = self.value(kind, member, found.get(field, zero(kind)), f"{path}.{field}" if path else field)
        return found

    def _field(self, known: dict[str, str], key: str) -> str:
        if key in known or not self._folded:
            return key if key in known else ""
        folded = _fold(key)
        return next((field for field in known if field.lower() == folded), "")

    def value(self, kind: str, value: Any, into: Any, path: str) -> Any:
        if kind[0] == "*":
            return None if value is None else self.value(kind[1:], value, zero(kind[1:]) if into is None else into, path)
        if kind[0] == ":":
            return self._inner(kind[1:], value, into, path)
        if kind[0] == "{":
            return self._map(kind[1:-1], value, into, path)
        if kind.startswith("[]"):
            return self._list(kind[2:], value, into, path)
        if kind in {"d", "td", "q", "t"}:
            return _read_by_itself(kind, value, path)
        if value is None:
            return into
        return self._simple(kind, value, into, path)

    def _simple(self, kind: str, value: Any, into: Any, path: str) -> Any:
        if kind == "s" and isinstance(value, str) and not isinstance(value, Real):
            return _text(value)
        if kind == "b" and isinstance(value, bool):
            return value
        if kind == "f" and isinstance(value, int | float | Real) and not isinstance(value, bool):
            return float(value) if not isinstance(value, int) or abs(value) < 10**300 else into
        if kind in _BITS and isinstance(value, int) and not isinstance(value, bool) and _BITS[kind][0] <= value <= _BITS[kind][1]:
            return value
        self.mismatch(value, _NAMES[kind], path)
        return into

    def _inner(self, name: str, value: Any, into: Fields, path: str) -> Fields:
        if value is None:
            return into
        if not isinstance(value, Members | dict):
            self.mismatch(value, f"v1beta1.{name}", path)
            return into
        return self.structure(name, value, into, path)

    def _map(self, kind: str, value: Any, into: Any, path: str) -> Any:
        if value is None:
            return None
        if not isinstance(value, Members | dict):
            self.mismatch(value, f"map[string]{_NAMES.get(kind, kind)}", path)
            return into
        found = dict(into or {})
        for key, member in _pairs(value):
            found[_text(key)] = self.value(kind, member, zero(kind), path)
        return found

    def _list(self, kind: str, value: Any, into: Any, path: str) -> Any:
        if value is None:
            return None
        if not isinstance(value, list) or isinstance(value, Members):
            self.mismatch(value, f"[]{_NAMES.get(kind, f'v1beta1.{kind[1:]}')}", path)
            return into
        return [self.value(kind, member, zero(kind), path) for member in value]


def _mismatch(value: Any, name: str, path: str) -> str:
    what = kind_of(value)
    shown = f" {value}" if what == "number" and name[:3] in {"int", "uin"} and len(str(value)) < 40 else ""
    where = f"Go struct field {ROOT}.{path}" if path else "Go value"
    return f"json: cannot unmarshal {what}{shown} into {where} of type {name}"


def _read_by_itself(kind: str, value: Any, path: str) -> Any:
    try:
        if kind == "q":
            return _quantity(value)
        if kind == "t":
            return "" if value is None else str(value)
        if kind == "td" and isinstance(value, int) and not isinstance(value, bool):
            return value
        if value is not None and kind_of(value) != "string":
            raise ValueError(_mismatch(value, "string", path))  # noqa: TRY301  in Go's words
        return 0 if kind == "td" and value is None else parse_duration(_text(value or ""))
    except ValueError as error:
        raise _FatalError(str(error)) from error


def _quantity(value: Any) -> Quantity:
    if value is None:
        return ZERO
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(WRONG_FORMAT)  # noqa: TRY004  in Kubernetes' words
    return parse_quantity(str(value).strip() if not isinstance(value, int) or abs(value) < 10**400 else "")
