"""What a kubelet has given away: its two state files and the device managers' checkpoint, plain JSON below its root."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from hostagent.collect.kubelet.keeps import CHECKPOINT
from hostagent.collect.kubelet.states import StateFile, read_state_file
from hostagent.collect.values import stops_at_unread
from hostagent.facts.cpulist import format_cpulist, parse_cpulist
from hostagent.facts.kubelet import Device, KubeletState, MemoryBlock
from hostagent.facts.unread import Unread, need, then
from hostagent.source import Source

T = TypeVar("T")

_CHECKPOINT = "device-plugins/kubelet_internal_checkpoint"
_MOST_DEVICES = 4096
_NO_TOPOLOGY = Unread("not-recorded", "only podresources says on which NUMA nodes a device is")
_NO_HEALTH = Unread("not-recorded", "only podresources leaves out a device that is not healthy")


def parse_checkpoint(data: bytes) -> "tuple[Device, ...] | Unread":
    """Devices of kubelet_internal_checkpoint: registered ones, and those that containers have.

    Shape (pkg/kubelet/cm/devicemanager/checkpoint): ``{"Data": {"PodDeviceEntries": [{"ResourceName", "DeviceIDs"}], "RegisteredDevices":
    {resource: [id]}}}``; DeviceIDs are ids by NUMA node, before Kubernetes 1.20 a list.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        return Unread("error", f"{_CHECKPOINT}: {type(error).__name__}: {error}"[:300])
    inner = document.get("Data") if isinstance(document, dict) else None
    if not isinstance(inner, dict):
        return Unread("error", f"{_CHECKPOINT} has no Data")
    try:
        taken = {pair for entry in _list(inner.get("PodDeviceEntries")) for pair in _taken(entry)}
        registered = {(resource, one) for resource, ids in _table(inner.get("RegisteredDevices")).items() for one in _texts(ids)}
    except TypeError as error:
        return Unread("error", f"{_CHECKPOINT}: {error}")
    pairs = sorted(registered | taken)
    if len(pairs) > _MOST_DEVICES:
        return Unread("error", f"{_CHECKPOINT} has {len(pairs)} devices, wanted at most {_MOST_DEVICES}")
    return tuple(Device(resource, one, _NO_TOPOLOGY, _NO_HEALTH, (resource, one) in taken) for resource, one in pairs)


def _taken(entry: Any) -> "Iterator[tuple[str, str]]":
    table = _table(entry)
    resource, ids = table.get("ResourceName"), table.get("DeviceIDs")
    if not isinstance(resource, str):
        raise TypeError("an entry without ResourceName")
    for group in ids.values() if isinstance(ids, dict) else [ids]:
        for one in _texts(group):
            yield resource, one


def _texts(value: Any) -> Iterable[str]:
    found = _list(value)
    if not all(isinstance(one, str) for one in found):
        raise TypeError("device ids that are no texts")
    return found


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(f"found {type(value).__name__}, wanted a list")
    return value


def _table(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"found {type(value).__name__}, wanted an object")
    return value


@stops_at_unread
def _devices(source: Source, root: str) -> "tuple[tuple[Device, ...], str]":
    """The devices, and where they are from."""
    data = source.read(f"{root}/{_CHECKPOINT}", keep=CHECKPOINT)
    if isinstance(data, Unread) and data.why == "absent":
        return (), ""
    return need(parse_checkpoint(need(data))), "checkpoint"


class StateFiles(NamedTuple):
    """The two of one kubelet; absent where there is none."""

    cpu: StateFile | Unread
    memory: StateFile | Unread


def read_state_files(source: Source, root: str) -> StateFiles:
    """`root` is the kubelet's own directory."""
    return StateFiles(*(read_state_file(source, f"{root}/{name}") for name in ("cpu_manager_state", "memory_manager_state")))


def read_given(source: Source, root: str, states: StateFiles) -> KubeletState:
    """Devices, CPUs and memory that containers have."""
    devices = _devices(source, root)
    cpu, memory = (_sound(one) for one in states)
    return KubeletState(
        devices=then(devices, lambda found: found[0]),
        devices_from=then(devices, lambda found: found[1]),
        cpu_policy=_of(cpu, "", lambda one: one.policy),
        cpus_shared=_of(cpu, "", lambda one: _cpulist(one.default_cpus)),
        cpus_exclusive=_of(cpu, "", lambda one: _cpulist(",".join(filter(None, one.assigned_cpus)))),
        memory_policy=_of(memory, "", lambda one: one.policy),
        memory=_of(memory, (), _blocks),
    )


def _sound(state: "StateFile | Unread") -> "StateFile | Unread":
    """A file that does not decode, or that somebody changed, says nothing."""
    if isinstance(state, Unread):
        return state
    if state.error or state.checksum == "wrong":
        return Unread("error", state.error or "the checksum of the state file is wrong")
    return state


def _of(state: "StateFile | Unread", absent: T, value: "Callable[[StateFile], T | Unread]") -> "T | Unread":
    if isinstance(state, Unread):
        return absent if state.why == "absent" else state
    return value(state)


def _cpulist(text: str) -> "str | Unread":
    try:
        return format_cpulist(parse_cpulist(text))
    except ValueError as error:
        return Unread("error", f"cpu_manager_state: {error}")


def _blocks(state: StateFile) -> tuple[MemoryBlock, ...]:
    return tuple(
        MemoryBlock(node.id, one.resource, one.allocatable, one.free, node.cells if node.assignments > 0 else ())
        for node in state.nodes
        for one in node.memory
    )
