"""``kubelet``: its configuration, under KubeletConfiguration's own names, and its allocations."""

from typing import Any

from hostagent.core.typed import plain
from hostagent.core.unread import Unread
from hostagent.domains.kubelet.tables.defaults import HELD
from hostagent.domains.report_json import each, fields_schema, object_schema, or_unread, picked
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kubelet import Kubelet, KubeletConfig, KubeletState, ReservedMemory

_KUBELET = ("unit", "version", "judged_as", "runs", "state", "error", "config_files", "refused_state_files", "configz_differs")
_STATE = ("devices", "devices_from", "cpu_policy", "cpus_shared", "cpus_exclusive", "memory_policy", "memory", "dra_only")
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_TRUTHS = {"type": "object", "additionalProperties": {"type": "boolean"}}
#: KubeletConfiguration's names of the fields.
CONFIGURED = tuple(field for _, field, _ in HELD)


def write(facts: HostFacts) -> Any:
    kubelet = facts.of(Kubelet)
    if isinstance(kubelet, Unread):
        return plain(kubelet)
    config, origin, given = kubelet.config, kubelet.origin, kubelet.given
    return {
        **picked(kubelet, _KUBELET),
        "config": plain(config) if isinstance(config, Unread) else {field: _value(how, getattr(config, name)) for name, field, how in HELD},
        "origin": plain(origin) if isinstance(origin, Unread) else dict(origin),
        "given": plain(given) if isinstance(given, Unread) else picked(given, _STATE),
    }


def _value(how: str, value: Any) -> Any:
    """Maps are pairs in the facts, and objects here."""
    if isinstance(value, Unread):
        return plain(value)
    if how == "m":
        return each(value, _reserved)
    return dict(value) if how == "p" else plain(value)


def _reserved(one: ReservedMemory) -> dict[str, Any]:
    return {"numaNode": one.numa_node, "limits": dict(one.limits)}


def _schema_of(name: str, how: str) -> dict[str, Any]:
    if how == "m":
        return or_unread({"type": "array", "items": object_schema({"numaNode": {"type": "integer"}, "limits": _TEXTS})})
    if how == "p":
        return or_unread(_TRUTHS if name == "feature_gates" else _TEXTS)
    return fields_schema(KubeletConfig, (name,))[name]  # type: ignore[no-any-return]


def schema() -> dict[str, Any]:
    config = or_unread(object_schema({field: _schema_of(name, how) for name, field, how in HELD}))
    given = or_unread(object_schema(fields_schema(KubeletState, _STATE)))
    return or_unread(object_schema({**fields_schema(Kubelet, _KUBELET), "config": config, "origin": or_unread(_TEXTS), "given": given}))
