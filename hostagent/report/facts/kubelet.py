"""``kubelet``: what it is configured to do, under KubeletConfiguration's own names, and what it has given away."""

from typing import Any, get_args, get_type_hints

from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kubelet import Kubelet, KubeletConfig, KubeletState, ReservedMemory
from hostagent.facts.unread import Unread
from hostagent.report.facts.values import each, fields_schema, object_schema, or_unread, picked
from hostagent.typed import plain
from hostagent.typed import schema as schema_of

_KUBELET = ("unit", "version", "judged_as", "runs", "state", "error", "config_files", "refused_state_files", "configz_differs")
_STATE = tuple(KubeletState.__dataclass_fields__)
_CONFIG = tuple(KubeletConfig.__dataclass_fields__)
#: Parts of KubeletConfiguration's names that are written in capitals.
_CAPITALS = {"cpus": "CPUs", "qos": "QOS", "cfs": "CFS"}
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_TRUTHS = {"type": "object", "additionalProperties": {"type": "boolean"}}


def camel(name: str) -> str:
    """A field of ours as KubeletConfiguration calls it.

    >>> camel("topology_manager_policy"), camel("reserved_system_cpus"), camel("cpu_cfs_quota"), camel("fail_cgroup_v1")
    ('topologyManagerPolicy', 'reservedSystemCPUs', 'cpuCFSQuota', 'failCgroupV1')
    """
    first, *others = name.split("_")
    return first + "".join(_CAPITALS.get(one, one[:1].upper() + one[1:]) for one in others)


#: KubeletConfiguration's names of the fields.
CONFIGURED = tuple(map(camel, _CONFIG))


def write(facts: HostFacts) -> Any:
    kubelet = facts.of(Kubelet)
    if isinstance(kubelet, Unread):
        return plain(kubelet)
    config, origin, given = kubelet.config, kubelet.origin, kubelet.given
    return {
        **picked(kubelet, _KUBELET),
        "config": plain(config) if isinstance(config, Unread) else {camel(name): _value(name, getattr(config, name)) for name in _CONFIG},
        "origin": plain(origin) if isinstance(origin, Unread) else dict(origin),
        "given": plain(given) if isinstance(given, Unread) else picked(given, _STATE),
    }


def _value(name: str, value: Any) -> Any:
    """Maps are pairs in the facts, and objects here."""
    if isinstance(value, Unread):
        return plain(value)
    if name == "reserved_memory":
        return each(value, _reserved)
    return dict(value) if _is_map(name) else plain(value)


def _reserved(one: ReservedMemory) -> dict[str, Any]:
    return {"numaNode": one.numa_node, "limits": dict(one.limits)}


def _is_map(name: str) -> bool:
    """By its type: a tuple of pairs."""
    inner = next((get_args(one)[0] for one in get_args(get_type_hints(KubeletConfig)[name]) if get_args(one)), None)
    return bool(get_args(inner))


def _schema_of(name: str) -> dict[str, Any]:
    if name == "reserved_memory":
        row = object_schema({"numaNode": {"type": "integer"}, "limits": _TEXTS})
        return or_unread({"type": "array", "items": row})
    if _is_map(name):
        return or_unread(_TRUTHS if name == "feature_gates" else _TEXTS)
    return schema_of(get_type_hints(KubeletConfig)[name])


def schema() -> dict[str, Any]:
    config = or_unread(object_schema({camel(name): _schema_of(name) for name in _CONFIG}))
    given = or_unread(object_schema(fields_schema(KubeletState, _STATE)))
    return or_unread(object_schema({**fields_schema(Kubelet, _KUBELET), "config": config, "origin": or_unread(_TEXTS), "given": given}))
