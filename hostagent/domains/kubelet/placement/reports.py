"""The model's node from JSON: of a report, or of ``hostagent topology --json``."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

from hostagent.core.unread import Unread, UnreadError, Why
from hostagent.domains.kubelet.placement.node import Node, node_of
from hostagent.facts.gpu import Gpu
from hostagent.facts.kubelet import Device, Kubelet, KubeletConfig, KubeletState, MemoryBlock, Pairs, ReservedMemory
from hostagent.facts.topology import CpuPackage, Hugepages, Nic, NumaNode, Topology

T = TypeVar("T")
_LACKING = Unread("not-recorded", "the report does not say")
_PAIRS = {
    "topology_manager_policy_options", "cpu_manager_policy_options", "kube_reserved", "system_reserved", "eviction_hard", "eviction_soft",
    "eviction_soft_grace_period", "eviction_minimum_reclaim",
}  # fmt: skip


def node_of_report(data: Mapping[str, Any]) -> Node:
    """Raises ``UnreadError`` for what is lacking or has another shape."""
    facts = data.get("facts")
    facts = facts if isinstance(facts, Mapping) else {}
    topology = facts.get("topology", data)
    kubelet = facts.get("kubelet", data.get("kubelet"))
    try:
        return node_of(
            _topology(_mapping(topology)), _gpus(topology), _maybe(kubelet, lambda data: _kubelet(_mapping(data))), _nics(topology)
        )
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise UnreadError(Unread("error", f"the report's topology or kubelet has another shape: {error}"[:200])) from error


def _mapping(value: Any) -> Mapping[str, Any]:
    unread = _unread(value)
    if unread is not None:
        raise UnreadError(unread)
    if not isinstance(value, Mapping):
        raise UnreadError(_LACKING)
    return value


def _unread(value: Any) -> Unread | None:
    """``Unread`` out of a report's JSON."""
    if value is None:
        return _LACKING
    if isinstance(value, Mapping) and "unread" in value and value.keys() <= {"unread", "detail"}:
        why = value["unread"]
        return Unread(why if why in get_args(Why) else "error", str(value.get("detail", ""))[:500])
    return None


def _maybe(value: Any, read: Callable[[Any], T]) -> T | Unread:
    unread = _unread(value)
    return read(value) if unread is None else unread


def _list(value: Any, read: Callable[[Any], T]) -> tuple[T, ...] | Unread:
    return _maybe(value, lambda items: tuple(read(item) for item in items))


def _text(value: Any) -> str | Unread:
    return _maybe(value, _is_text)


def _is_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]!r} is no text")
    return value


def _number(value: Any) -> int | Unread:
    return _maybe(value, _is_number)


def _is_number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{str(value)[:40]!r} is no whole number")
    return value


def _yes(value: Any) -> bool | Unread:
    return _maybe(value, lambda one: one is True)


def _topology(data: Mapping[str, Any]) -> Topology:
    return Topology(
        numa_nodes=_list(data.get("numa_nodes"), _numa),
        packages=_list(data.get("packages"), lambda one: CpuPackage(_is_number(one["id"]), _is_text(one["cpus"]))),
        cores=_list(data.get("cores"), _is_text),
        places=_LACKING,
        controls=_LACKING,
        gpu_ports=_LACKING,
        governors=_LACKING,
        numa_balancing=_LACKING,
        cpu_vendor=_LACKING,
    )


def _numa(one: Mapping[str, Any]) -> NumaNode:
    return NumaNode(
        id=_is_number(one["id"]),
        cpus=_text(one.get("cpus")),
        memory_bytes=_number(one.get("memory_bytes")),
        distances=_list(one.get("distances"), _is_number),
        hugepages=_list(one.get("hugepages"), lambda size: Hugepages(*(_is_number(size[key]) for key in ("size_bytes", "total", "free")))),
    )


def _gpus(data: Mapping[str, Any]) -> Any:
    """A tuple of GPUs, or why there is none."""
    return _list(data.get("gpus"), _gpu)


def _gpu(row: Mapping[str, Any]) -> Gpu:
    values: dict[str, Any] = dict.fromkeys(Gpu.__dataclass_fields__, _LACKING)
    known = {
        "pci": _is_text(row["pci"]),
        "on_pci": _yes(row.get("on_pci", True)),
        "numa_node": _number(row.get("numa_node")),
        "uuid": _text(row.get("uuid")),
    }
    return Gpu(**{**values, **known, "vga": _yes(row.get("vga")), "bound_to": _text(row.get("bound_to"))})


def _nics(data: Mapping[str, Any]) -> tuple[Nic, ...]:
    rows = data.get("nics")
    if _unread(rows) is not None or not isinstance(rows, list):
        return ()
    values: dict[str, Any] = dict.fromkeys(Nic.__dataclass_fields__, _LACKING)
    return tuple(Nic(**{**values, "pci": _is_text(row["pci"]), "numa_node": _number(row.get("numa_node"))}) for row in rows)


def _kubelet(data: Mapping[str, Any]) -> Kubelet:
    values: dict[str, Any] = dict.fromkeys(Kubelet.__dataclass_fields__, _LACKING)
    values["state"], values["error"] = _text(data.get("state")), _text(data.get("error"))
    values["config"] = _maybe(data.get("config"), _config)
    values["given"] = _maybe(data.get("given"), _state)
    return Kubelet(**values)


def _config(data: Mapping[str, Any]) -> KubeletConfig:
    """Fields by their names in KubeletConfiguration, or by ours."""
    given = {_plain(key): value for key, value in data.items()}
    values: dict[str, Any] = dict.fromkeys(KubeletConfig.__dataclass_fields__, _LACKING)
    for name in values:
        found = given.get(_plain(name))
        if name in _PAIRS:
            values[name] = _maybe(found, _pairs)
        elif name == "reserved_memory":
            values[name] = _list(found, _reserved)
        elif name in ("max_pods", "pods_per_core"):
            values[name] = _number(found)
        elif isinstance(found, str):
            values[name] = found
        elif found is not None:
            unread = _unread(found)
            values[name] = _LACKING if unread is None else unread
    return KubeletConfig(**values)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _reserved(row: Mapping[str, Any]) -> ReservedMemory:
    return ReservedMemory(_is_number(row["numaNode"] if "numaNode" in row else row["numa_node"]), _pairs(row["limits"]))


def _pairs(value: Any) -> Pairs:
    """An object, or a list of pairs."""
    items = value.items() if isinstance(value, Mapping) else value
    return tuple((_is_text(key), _is_text(item)) for key, item in items)


def _state(data: Mapping[str, Any]) -> KubeletState:
    return KubeletState(
        devices=_list(data.get("devices"), _device),
        devices_from=_text(data.get("devices_from")),
        cpu_policy=_text(data.get("cpu_policy")),
        cpus_shared=_text(data.get("cpus_shared")),
        cpus_exclusive=_text(data.get("cpus_exclusive")),
        memory_policy=_text(data.get("memory_policy")),
        memory=_list(data.get("memory"), _block),
        dra_only=_yes(data.get("dra_only", False)),
    )


def _device(row: Mapping[str, Any]) -> Device:
    return Device(
        _is_text(row["resource"]),
        _is_text(row["id"]),
        _list(row.get("nodes"), _is_number),
        _yes(row.get("healthy")),
        _yes(row.get("allocated")),
    )


def _block(row: Mapping[str, Any]) -> MemoryBlock:
    allocatable, free = _is_number(row["allocatable"]), _is_number(row["free"])
    group = tuple(_is_number(one) for one in row.get("group", ()))
    return MemoryBlock(_is_number(row["numa_node"]), _is_text(row["resource"]), allocatable, free, group)
