"""A configuration as JSON that the kubelet would write: what is empty is left out, durations and quantities are text."""

from typing import Any

from hostagent.domains.kubelet.config.golang import printed
from hostagent.domains.kubelet.config.schema import Fields, Schema
from hostagent.domains.kubelet.tables.fields import ROOT

#: Fields of a type that separates empty from absent only until they have a default.
_ALWAYS = frozenset({"d", "td", "q"})


def written(schema: Schema, config: Fields) -> dict[str, Any]:
    return _structure(schema, ROOT, config)


def _structure(schema: Schema, name: str, fields: Fields) -> dict[str, Any]:
    found = {}
    for field, kind in schema.structures[name].items():
        value = fields.get(field)
        if value is None or (not value and kind[0] != "*" and kind not in _ALWAYS):
            continue
        found[field] = _value(schema, kind.lstrip("*"), value)
    return found


def _value(schema: Schema, kind: str, value: Any) -> Any:
    if kind[0] == ":":
        return _structure(schema, kind[1:], value)
    if kind[0] == "{":
        return {key: _value(schema, kind[1:-1], member) for key, member in value.items()}
    if kind.startswith("[]"):
        return [_value(schema, kind[2:], member) for member in value]
    if kind in {"d", "td"}:
        return printed(value)
    return str(value) if kind == "q" else value
