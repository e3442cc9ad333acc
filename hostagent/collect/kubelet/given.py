"""What a kubelet has given away: its two state files and the device managers' checkpoint, plain JSON below its root."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hostagent.collect.kubelet.keeps import CHECKPOINT
from hostagent.collect.values import stops_at_unread
from hostagent.facts.kubelet import Device, KubeletState
from hostagent.facts.unread import Unread, need
from hostagent.source import Source

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


def read_given(source: Source, root: str) -> KubeletState:
    """`root` is the kubelet's own directory."""
    devices = _devices(source, root)
    unread = Unread("not-recorded", "the state files are not read yet")
    return KubeletState(
        devices=devices if isinstance(devices, Unread) else devices[0],
        devices_from=devices if isinstance(devices, Unread) else devices[1],
        cpu_policy=unread, cpus_shared=unread, cpus_exclusive=unread, memory_policy=unread, memory=unread,
    )  # fmt: skip
