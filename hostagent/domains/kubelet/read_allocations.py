"""A kubelet's allocations: its two state files and the device manager's checkpoint, plain JSON below its root."""

# The device checkpoint registers healthy devices alone: what a container has and it does not register is unhealthy. Its checksum
# does not matter (the kubelet goes on without it). AllocResp and pods never leave the host. Devices keep the order in which they
# were answered, because pseudonyms sort otherwise. NVIDIA's plug-in names a GPU by its UUID (`::3` for the third that shares it),
# GKE's does not (nvidia0).

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import Unread, need, then
from hostagent.domains.kubelet.config.states import StateFile, StateFiles, state_file
from hostagent.domains.kubelet.retention import CHECKPOINT
from hostagent.domains.runtime.tables.versions import DRA_DRIVER
from hostagent.facts.cpulist import format_cpulist, parse_cpulist
from hostagent.facts.kubelet import Device, KubeletState, MemoryBlock
from hostagent.host.source import Source
from hostagent.host.values import names_in

T = TypeVar("T")
#: Resource and id.
_Pair = tuple[str, str]

_CHECKPOINT = "device-plugins/kubelet_internal_checkpoint"
_MOST_DEVICES = 4096
_NVIDIA = "nvidia.com/"
_NOT_RUNNING = Unread("not-running", "the kubelet does not run, and it alone says on which NUMA nodes a device is")


def parse_checkpoint(data: bytes, no_nodes: Unread = _NOT_RUNNING) -> "tuple[Device, ...] | Unread":
    """Devices of kubelet_internal_checkpoint: registered ones, which are those that are healthy, and those that containers have.

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
        taken = dict.fromkeys(pair for entry in _list(inner.get("PodDeviceEntries")) for pair in _taken(entry))
        registered = dict.fromkeys(
            (resource, one) for resource, ids in _table(inner.get("RegisteredDevices")).items() for one in _texts(ids)
        )
    except TypeError as error:
        return Unread("error", f"{_CHECKPOINT}: {error}")
    return _checked_devices(dict.fromkeys([*registered, *taken], no_nodes), registered.keys(), taken.keys(), _CHECKPOINT)


def _checked_devices(
    nodes: "Mapping[_Pair, tuple[int, ...] | Unread]", healthy: AbstractSet[_Pair], taken: AbstractSet[_Pair], where: str
) -> "tuple[Device, ...] | Unread":
    """The devices in the order of the answer, because pseudonyms sort differently; unread beyond the limit."""
    if len(nodes) > _MOST_DEVICES:
        return Unread("error", f"{where} has {len(nodes)} devices, wanted at most {_MOST_DEVICES}")
    return tuple(Device(*pair, nodes[pair], pair in healthy, pair in taken) for pair in nodes)


def devices_of(answer: Mapping[str, Any]) -> "tuple[Device, ...] | Unread":
    """The same from the answer of `podresources`: rows of resource, ids and NUMA nodes."""
    nodes: dict[_Pair, set[int]] = {}
    lists: dict[str, set[_Pair]] = {"devices": set(), "allocated": set()}
    try:
        for name, pairs in lists.items():
            for resource, ids, on in answer[name]:
                near = set(_numbers(on))
                for one in dict.fromkeys(_texts(ids)):
                    pairs.add((str(resource), one))
                    nodes.setdefault((str(resource), one), set()).update(near)
    except (TypeError, ValueError, KeyError) as error:  # a recording may hold anything
        return Unread("error", f"podresources: {type(error).__name__}: {error}"[:200])
    return _checked_devices({pair: tuple(sorted(on)) for pair, on in nodes.items()}, lists["devices"], lists["allocated"], "podresources")


def _numbers(value: Any) -> list[int]:
    found = _list(value)
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in found):
        raise TypeError("NUMA nodes that are no numbers")
    return found


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
def _devices(source: Source, root: str, *, runs: bool) -> "tuple[tuple[Device, ...], str]":
    """The devices and their source: a running, trusted kubelet, else its checkpoint."""
    answer = source.podresources() if runs else _NOT_RUNNING
    devices = then(answer, devices_of)
    if not isinstance(devices, Unread):
        return devices, "podresources"
    data = source.read(f"{root}/{_CHECKPOINT}", keep=CHECKPOINT)
    if isinstance(data, Unread) and data.why == "absent":
        return (), ""
    return need(parse_checkpoint(need(data), devices)), "checkpoint"


def _known_resources(source: Source, root: str, devices: "tuple[Device, ...]") -> "tuple[str, ...] | Unread":
    """Resources of the checkpoint. podresources names none without devices, so that the checkpoint is read where it shows no GPU."""
    if any(one.resource.startswith(_NVIDIA) and one.healthy is True for one in devices):
        return ()
    data = source.read(f"{root}/{_CHECKPOINT}", keep=CHECKPOINT)
    if isinstance(data, Unread):
        return () if data.why == "absent" else data
    return parse_resources(data)


def parse_resources(data: bytes) -> "tuple[str, ...] | Unread":
    """Resources of kubelet_internal_checkpoint, also those without a device: registered, or held by a container.

    >>> parse_resources(b'{"Data": {"PodDeviceEntries": null, "RegisteredDevices": {"nvidia.com/gpu": null}}}')
    ('nvidia.com/gpu',)
    """
    try:
        document = json.loads(data)
        inner = _table(_table(document).get("Data"))
        held = [_table(entry).get("ResourceName") for entry in _list(inner.get("PodDeviceEntries"))]
        names = [*_table(inner.get("RegisteredDevices")), *held]
    except (ValueError, RecursionError, TypeError) as error:
        return Unread("error", f"{_CHECKPOINT}: {type(error).__name__}: {error}"[:300])
    return tuple(dict.fromkeys(str(name) for name in names if isinstance(name, str)))[:_MOST_DEVICES]


def read_state_file(source: Source, path: str) -> "StateFile | Unread":
    """Absent where there is none."""
    answer = source.state_file(path)
    if isinstance(answer, Unread):
        return answer
    try:
        return state_file(answer)
    except (TypeError, ValueError, KeyError, AttributeError) as error:  # a recording may hold anything
        return Unread("error", f"{path}: an answer without {type(error).__name__} {error}"[:200])


def read_state_files(source: Source, root: str) -> StateFiles:
    """`root` is the kubelet's own directory."""
    return StateFiles(*(read_state_file(source, f"{root}/{name}") for name in ("cpu_manager_state", "memory_manager_state")))


def read_allocations(source: Source, root: str, states: StateFiles, *, runs: bool) -> KubeletState:
    """Devices, CPUs and memory allocated to containers."""
    devices = _devices(source, root, runs=runs)
    cpu, memory = (_sound(one) for one in states)
    return KubeletState(
        devices=then(devices, lambda found: found[0]),
        devices_from=then(devices, lambda found: found[1]),
        cpu_policy=_of(cpu, "", lambda one: one.policy),
        cpus_shared=_of(cpu, "", lambda one: _cpulist(one.default_cpus)),
        cpus_exclusive=_of(cpu, "", lambda one: _cpulist(",".join(filter(None, one.assigned_cpus)))),
        memory_policy=_of(memory, "", lambda one: one.policy),
        memory=_of(memory, (), _blocks),
        dra_only=_dra_only(source, root),
        known_resources=then(devices, lambda found: _known_resources(source, root, found[0])),
    )


@stops_at_unread
def _dra_only(source: Source, root: str) -> bool:
    """Whether GPUs are allocated by DRA only, by the sockets of plug-ins."""
    drivers = need(names_in(source, f"{root}/plugins/{DRA_DRIVER}"))
    if not any(name.startswith("dra") and name.endswith(".sock") for name in drivers):
        return False
    plugins = need(names_in(source, f"{root}/device-plugins"))
    return not any(name.startswith("nvidia") and name.endswith(".sock") for name in plugins)


def _sound(state: "StateFile | Unread") -> "StateFile | Unread":
    """Unread for a file that does not decode or has a wrong checksum."""
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
