"""One node as the model sees it: its NUMA nodes and CPUs, the kubelet's configuration, its devices and allocations."""

from typing import Literal, NamedTuple

from hostagent.core.unread import NOT_THERE, Unread, UnreadError, need
from hostagent.facts.cpulist import parse_cpulist
from hostagent.facts.gpu import Gpu
from hostagent.facts.kubelet import Device, Kubelet, KubeletConfig, KubeletState
from hostagent.facts.topology import Nic, NumaNode, Topology

GPU_RESOURCE = "nvidia.com/gpu"
CpuSets = tuple[tuple[int, ...], ...]


class Numa(NamedTuple):
    """One NUMA node; hugepages are pages by their size in bytes."""

    id: int
    cpus: tuple[int, ...]
    memory_bytes: int | Unread
    distances: tuple[int, ...] | Unread
    hugepages: tuple[tuple[int, int], ...] | Unread


class Node(NamedTuple):
    """The input of `place`. Devices are in the order of allocation."""

    state: str  # accepted, rejected, absent
    error: str
    config: KubeletConfig | Unread
    numa: tuple[Numa, ...]
    packages: CpuSets | Unread
    cores: CpuSets | Unread
    devices: tuple[Device, ...] | Unread
    devices_from: Literal["podresources", "checkpoint", "pci", ""]
    given: KubeletState | Unread
    nics: tuple[tuple[str, int], ...] = ()  # address and NUMA node of each NIC, for the numbers alone


def node_of(topology: Topology, gpus: tuple[Gpu, ...], kubelet: Kubelet | Unread, nics: tuple[Nic, ...] = ()) -> Node:
    """Raises ``UnreadError`` where the NUMA nodes, their CPUs or the kubelet's state are not known. `nics` are for `capacity` alone.

    A host without a kubelet is a node too: in state absent, with the GPUs that are on PCI.
    """
    numa = tuple(_numa(node) for node in sorted(need(topology.numa_nodes), key=lambda node: node.id))
    packages = topology.packages if isinstance(topology.packages, Unread) else tuple(_cpus(one.cpus) for one in topology.packages)
    cores = topology.cores if isinstance(topology.cores, Unread) else tuple(_cpus(one) for one in topology.cores)
    if isinstance(kubelet, Unread):
        if kubelet.why not in NOT_THERE:
            raise UnreadError(kubelet)
        return Node("absent", "", kubelet, numa, packages, cores, _on_pci(gpus), "pci", kubelet, _lie(nics))
    devices, source = _devices(gpus, kubelet.given)
    error = kubelet.error if isinstance(kubelet.error, str) else ""
    return Node(need(kubelet.state), error, kubelet.config, numa, packages, cores, devices, source, kubelet.given, _lie(nics))


def _lie(nics: tuple[Nic, ...]) -> tuple[tuple[str, int], ...]:
    return tuple((nic.pci, nic.numa_node) for nic in nics if not isinstance(nic.numa_node, Unread))


def emptied(node: Node) -> Node:
    """The same node without allocations; unhealthy devices stay so."""
    devices = node.devices if isinstance(node.devices, Unread) else tuple(_free(device) for device in node.devices)
    return node._replace(devices=devices, given=Unread("absent", "nothing is given away"))


def _free(device: Device) -> Device:
    return Device(device.resource, device.id, device.nodes, device.healthy, False)


def _cpus(text: str) -> tuple[int, ...]:
    try:
        return parse_cpulist(text)
    except ValueError as error:
        raise UnreadError(Unread("error", str(error))) from error


def _numa(node: NumaNode) -> Numa:
    pages = node.hugepages if isinstance(node.hugepages, Unread) else tuple((size.size_bytes, size.total) for size in node.hugepages)
    return Numa(node.id, _cpus(need(node.cpus)), node.memory_bytes, node.distances, pages)


def _devices(
    gpus: tuple[Gpu, ...], given: KubeletState | Unread
) -> tuple[tuple[Device, ...] | Unread, Literal["podresources", "checkpoint", "pci", ""]]:
    """The registered devices; where the kubelet lists no GPUs, every NVIDIA GPU on PCI counts as a free one."""
    if isinstance(given, Unread):
        return (_on_pci(gpus), "pci") if given.why in ("absent", "not-running") else (given, "")
    if isinstance(given.dra_only, Unread):
        return given.dra_only, ""
    if given.dra_only:  # containers get GPUs by claims, which no topology manager sees
        return (given.devices, "") if isinstance(given.devices, Unread) else (tuple(sorted(given.devices, key=_order)), "podresources")
    if isinstance(given.devices, Unread):
        return (_on_pci(gpus), "pci") if given.devices.why in ("absent", "not-running") else (given.devices, "")
    registered = tuple(_with_nodes(device, gpus) for device in given.devices)
    if not any(is_gpu_resource(device.resource) for device in registered):
        others = _on_pci(gpus)
        if isinstance(others, Unread):
            return others, ""
        registered += others
    source: Literal["podresources", "checkpoint", "pci"] = "pci"
    if given.devices and not isinstance(given.devices_from, Unread):
        source = "podresources" if given.devices_from == "podresources" else "checkpoint"
    return tuple(sorted(registered, key=_order)), source


def admits_by_count(node: Node, gpus: int) -> bool:
    """Whether this kubelet, as most do, aligns nothing, and has so many free and healthy GPUs (0: all that it has): then it admits a pod
    that asks for them alone. False says nothing: `place` of this package answers that, and its import takes some milliseconds.
    """
    config, devices = node.config, node.devices
    if node.state != "accepted" or isinstance(config, Unread) or isinstance(devices, Unread):
        return False
    policies = (config.topology_manager_policy, config.cpu_manager_policy, config.memory_manager_policy)
    others = (config.topology_manager_scope, config.reserved_system_cpus, config.kube_reserved, config.system_reserved)
    eviction = config.eviction_hard
    if any(isinstance(one, Unread) for one in (*policies, *others)) or isinstance(eviction, Unread) or policies != ("none", "none", "None"):
        return False
    if any(value.endswith("%") for _, value in eviction) and any(isinstance(one.memory_bytes, Unread) for one in node.numa):
        return False
    names = {one.resource for one in devices if is_gpu_resource(one.resource)}
    resource = GPU_RESOURCE if GPU_RESOURCE in names or len(names) != 1 else names.pop()
    found = [one.healthy is True and one.allocated is False for one in devices if one.resource == resource]
    return 0 < (gpus or 1) <= len(found) and all(found)


def is_gpu_resource(name: str) -> bool:
    return name.startswith((GPU_RESOURCE, "nvidia.com/mig-", "nvidia.com/pgpu"))


def _order(device: Device) -> tuple[str, int, str]:
    nodes = device.nodes
    return device.resource, -1 if isinstance(nodes, Unread) or not nodes else min(nodes), device.id


def _with_nodes(device: Device, gpus: tuple[Gpu, ...]) -> Device:
    """A GPU's nodes by its UUID where podresources was not asked: its plug-in reads the same file of sysfs."""
    if not isinstance(device.nodes, Unread):
        return device
    uuid = device.id.partition("::")[0]
    for gpu in gpus:
        if isinstance(gpu.uuid, str) and gpu.uuid == uuid:
            return Device(device.resource, device.id, _nodes_of(gpu), device.healthy, device.allocated)
    return device


def _nodes_of(gpu: Gpu) -> tuple[int, ...] | Unread:
    if isinstance(gpu.numa_node, Unread):
        return gpu.numa_node
    return (gpu.numa_node,) if gpu.numa_node >= 0 else ()


def _on_pci(gpus: tuple[Gpu, ...]) -> tuple[Device, ...] | Unread:
    """GPUs that a device plug-in would offer: none that is given to a virtual machine, and no display card."""
    counted = []
    for gpu in sorted(gpus, key=lambda gpu: gpu.pci):
        for known in (gpu.on_pci, gpu.bound_to, gpu.vga):
            if isinstance(known, Unread) and gpu.on_pci is not False:
                return known
        if gpu.on_pci is True and gpu.bound_to != "vfio-pci" and not _is_display_card(gpu):
            counted.append(Device(GPU_RESOURCE, gpu.pci, _nodes_of(gpu), healthy=True, allocated=False))
    return tuple(counted)


def _is_display_card(gpu: Gpu) -> bool:
    """A card with a display that no NVIDIA driver has taken: it shows the console."""
    return gpu.vga is True and gpu.bound_to in ("", "nouveau")
