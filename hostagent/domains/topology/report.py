"""``topology``: sockets, NUMA nodes, GPUs and NICs, distances between them, and the capacity of NUMA nodes."""

from collections.abc import Mapping
from typing import Any

from hostagent.core.typed import plain
from hostagent.core.unread import Unread, UnreadError, then
from hostagent.domains.report_json import each, fields_schema, list_schema, object_schema, or_unread, picked
from hostagent.domains.topology.distance import Distances, classes, rails
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Rdma
from hostagent.facts.topology import CpuPackage, Nic, NumaNode, Topology

_NODE = ("id", "cpus", "memory_bytes", "distances", "hugepages")
_PACKAGE = ("id", "cpus")
_LINK = {"speed": "link_speed", "speed_max": "link_speed_max", "width": "link_width", "width_max": "link_width_max"}
_DEVICE = ("pci", "numa_node", "local_cpus")
_GPU = ("uuid", "bound_to", "vga", "on_pci", "excluded")  # what a device plug-in offers, and its names
_NIC = ("netdevs", "rdma")
_MOST = ("max_gpus_single_numa_total", "max_gpus_single_numa_free", "max_gpus_restricted_free")
_COUNTED = ("gpus_per_numa", "cpus_per_numa", "nics_per_numa")
_NUMBER = {"type": "integer"}
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def write(facts: HostFacts) -> Any:
    topology, gpus, nics = facts.of(Topology), facts.of(Gpu), facts.of(Nic)
    distances = _distances(facts, gpus, nics)
    places = then(topology, lambda known: known.places)
    hangs = then(places, lambda listed: {one.pci: one for one in listed})
    return {
        "numa_nodes": _rows(topology, "numa_nodes", _NODE),
        "packages": _rows(topology, "packages", _PACKAGE),
        "cores": plain(then(topology, lambda known: known.cores)),
        "gpus": then(gpus, lambda listed: _gpus(listed, hangs)) if not isinstance(gpus, Unread) else plain(gpus),
        "nics": each(nics, lambda nic: {"name": _nic_name(nic), **_device(nic, hangs), **picked(nic, _NIC)}),
        "distances": {name: _matrix(distances, name) for name in Distances._fields},
        "rails": _rails(distances, nics, then(facts.of(Rdma), lambda known: known.managers)),
        "capacity": _capacity(topology, gpus, nics, facts.of(Kubelet)),
    }


def _rows(topology: "Topology | Unread", name: str, fields: tuple[str, ...]) -> Any:
    return each(then(topology, lambda known: getattr(known, name)), lambda one: picked(one, fields))


def _gpus(gpus: tuple[Gpu, ...], hangs: Any) -> list[dict[str, Any]]:
    """GPUs are named by NVML's index if each has one, else by their position in the order of addresses."""
    indices = [gpu.index for gpu in gpus]
    by_index = not any(isinstance(index, Unread) for index in indices)
    names = [f"GPU{gpu.index if by_index else number}" for number, gpu in enumerate(gpus)]
    return [{"name": name, **_device(gpu, hangs), **picked(gpu, _GPU)} for name, gpu in zip(names, gpus, strict=True)]


def _nic_name(nic: Nic) -> str:
    for names in (nic.rdma, nic.netdevs):
        if not isinstance(names, Unread) and names:
            return names[0]
    return nic.pci


def _device(one: "Gpu | Nic", hangs: Any) -> dict[str, Any]:
    place = then(hangs, lambda listed: listed.get(one.pci, Unread("absent", f"{one.pci} is not on PCI")))
    return {
        **picked(one, _DEVICE),
        "link": {name: plain(getattr(one, field)) for name, field in _LINK.items()},
        "root": plain(then(place, lambda known: known.root)),
        "bridges": plain(then(place, lambda known: known.bridges)),
    }


def _distances(facts: HostFacts, gpus: Any, nics: Any) -> "Distances | Unread":
    for part in (gpus, nics):
        if isinstance(part, Unread):
            return part
    return classes(facts.of(Topology), gpus, nics, facts.of(Platform))


def _matrix(distances: "Distances | Unread", name: str) -> Any:
    if isinstance(distances, Unread):
        return plain(distances)
    matrix: Mapping[str, Mapping[str, Any]] = getattr(distances, name)
    return {gpu: {other: plain(found) for other, found in row.items()} for gpu, row in matrix.items()}


def _rails(distances: "Distances | Unread", nics: Any, managers: "tuple[str, ...] | Unread") -> Any:
    found = then(distances, lambda known: rails(known, nics, () if isinstance(managers, Unread) else managers))
    return each(found, lambda one: {"gpu": one.gpu, "nics": plain(one.nics), "class": plain(one.distance)})


def _capacity(topology: Any, gpus: Any, nics: Any, kubelet: Any) -> Any:
    """The numbers of `hostagent.domains.kubelet.placement.capacity`; unread as a whole if the model lacks its inputs."""
    from hostagent.domains.kubelet.placement.capacities import capacity
    from hostagent.domains.kubelet.placement.node import node_of

    for part in (topology, gpus, nics):
        if isinstance(part, Unread):
            return plain(part)
    try:
        found = capacity(node_of(topology, gpus, kubelet, nics))
    except UnreadError as error:
        return plain(error.unread)
    return {name: _by_node(found[name]) if name in _COUNTED else plain(found[name]) for name in (*_MOST, *_COUNTED)}


def _by_node(counts: Any) -> Any:
    return plain(counts) if isinstance(counts, Unread) else {str(node): count for node, count in counts.items()}


def schema() -> dict[str, Any]:
    matrix = or_unread({"type": "object", "additionalProperties": {"type": "object", "additionalProperties": or_unread(_TEXT)}})
    counts = {"type": "object", "additionalProperties": _NUMBER}
    rail = object_schema({"gpu": _TEXT, "nics": or_unread(_TEXTS), "class": or_unread(_TEXT)})
    parts = {
        "numa_nodes": list_schema(object_schema(fields_schema(NumaNode, _NODE))),
        "packages": list_schema(object_schema(fields_schema(CpuPackage, _PACKAGE))),
        "cores": or_unread(_TEXTS),
        "gpus": list_schema(object_schema({**_device_schema(Gpu), **fields_schema(Gpu, _GPU)}, later=("excluded",))),
        "nics": list_schema(object_schema({**_device_schema(Nic), **fields_schema(Nic, _NIC)})),
        "distances": object_schema(dict.fromkeys(Distances._fields, matrix)),
        "rails": list_schema(rail),
        "capacity": or_unread(object_schema({**dict.fromkeys(_MOST, or_unread(_NUMBER)), **dict.fromkeys(_COUNTED, or_unread(counts))})),
    }
    return or_unread(object_schema(parts))


def _device_schema(kind: type) -> dict[str, Any]:
    links = fields_schema(kind, tuple(_LINK.values()))
    link = object_schema({name: links[field] for name, field in _LINK.items()})
    return {"name": _TEXT, **fields_schema(kind, _DEVICE), "link": link, "root": or_unread(_TEXT), "bridges": or_unread(_TEXTS)}
