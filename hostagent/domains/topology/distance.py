"""Distances between GPUs and NICs, in the classes of nvidia-smi and NCCL.

LOC the same device; PIX below one PCIe switch, or one port; PXB below several switches, none of them a host bridge; P2C over the link
between a Grace CPU and its GPU, the NIC at that CPU; PHB over one host bridge; NODE over several of one NUMA node; SYS between NUMA
nodes; NV18 between GPUs over 18 NVLinks.
"""

# A path begins with the root port; each switch is two bridges (upstream port, downstream port). Two devices below one switch
# share its upstream port as deepest bridge and have one more bridge each: PIX. More bridges on a branch are more switches:
# PXB. If the deepest common bridge is a root or downstream port, functions directly below it are PIX.
# In a virtual machine root ports are emulated: only a shared switch (two common bridges) counts, all else is not-supported. NUMA
# node -1 on a host with several CPU nodes is not-supported too. P2C: a Grace board's GPU (`core.tables.pci.is_coherent`) and a NIC on
# its CPU node without a shared switch.
# NV18 and its like: both GPUs in one fabric (completed, same cluster and clique), or eight or more on a board with NVSwitches
# (A100 reports no fabric), or only two GPUs with equally many links. Links that lead elsewhere
# (nvmlDeviceGetNvLinkRemotePciInfo is not asked) make the pair not-supported, not a PCI class.

from collections.abc import Mapping
from typing import NamedTuple

from hostagent.core.tables.nvlink_fabric import BOARDS, is_on
from hostagent.core.tables.pci import is_coherent
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.facts.gpu import FabricInfo, Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.topology import Nic, NumaNode, PciPlace, Topology

#: Words of ``nvidia-smi topo -m`` and NCCL, the nearest first: nvidia-smi's own legend; NVIDIA/nccl, src/graph/topo.h (P2C: since 2.27).
CLASSES: Mapping[str, str] = {
    "LOC": "the same device",
    "NV#": "joined by # NVLinks",
    "PIX": "at most one PCIe switch between them",
    "PXB": "several PCIe switches between them, and no CPU",
    "P2C": "the GPU is joined to the CPU by NVLink-C2C, and the NIC is at that CPU",
    "PHB": "through the PCIe host bridge of one CPU",
    "NODE": "through several PCIe host bridges of one NUMA node",
    "SYS": "through the link between NUMA nodes",
}


def class_of(word: str) -> str:
    """The key of `CLASSES` for a cell: ``NV18`` is ``NV#``; "" for none.

    >>> class_of("NV18"), class_of("PIX"), class_of("NVX")
    ('NV#', 'PIX', '')
    """
    if word.startswith("NV") and word[2:].isascii() and word[2:].isdigit():
        return "NV#"
    return word if word in CLASSES and word != "NV#" else ""


#: The nearest first.
NEAREST_FIRST = tuple(word for word in CLASSES if word != class_of("NV1"))
_REGISTERED = "completed"
_BOARD_GPUS = 8

DistanceRow = Mapping[str, "str | Unread"]


class Distances(NamedTuple):
    """By PCI address of a GPU, and of the other device."""

    gpu_nic: Mapping[str, DistanceRow]
    gpu_gpu: Mapping[str, DistanceRow]


class Rail(NamedTuple):
    """A GPU and its nearest NICs, by address."""

    gpu: str
    nics: "tuple[str, ...] | Unread"
    distance: "str | Unread"


class _Device(NamedTuple):
    pci: str
    place: "PciPlace | Unread"
    numa_node: "int | Unread"
    at_cpu: bool  # a GPU that a C2C link joins to its CPU


class _Host(NamedTuple):
    cpu_nodes: "int | Unread"
    virtual: "str | Unread"


def classes(topology: "Topology | Unread", gpus: tuple[Gpu, ...], nics: tuple[Nic, ...], platform: "Platform | Unread") -> Distances:
    """Each GPU's distance to every other GPU and to every NIC. A virtual function has its card's distances and no entry of its own."""
    host = _Host(_cpu_nodes(topology), platform if isinstance(platform, Unread) else platform.virtual)
    places = topology if isinstance(topology, Unread) else topology.places
    by_address = places if isinstance(places, Unread) else {one.pci: one for one in places}
    links = {gpu.pci: _links(gpu) for gpu in gpus}
    ours = [(gpu, _Device(gpu.pci, _place(by_address, gpu.pci), gpu.numa_node, _is_at_cpu(gpu))) for gpu in gpus]
    theirs = [_Device(nic.pci, _place(by_address, nic.pci), nic.numa_node, at_cpu=False) for nic in cards(nics)]

    def between(gpu: Gpu, device: _Device, other: Gpu, its: _Device) -> "str | Unread":
        nvlink = _nvlink(gpu, other, gpus, links)
        return _known(device, its, host) if nvlink is None else nvlink

    return Distances(
        {gpu.pci: {nic.pci: _known(device, nic, host) for nic in theirs} for gpu, device in ours},
        {gpu.pci: {other.pci: between(gpu, device, other, its) for other, its in ours} for gpu, device in ours},
    )


def cards(nics: tuple[Nic, ...]) -> tuple[Nic, ...]:
    """The NICs that are not virtual functions."""
    return tuple(nic for nic in nics if isinstance(nic.virtual_of, Unread) or not nic.virtual_of)


def rails(distances: Distances, nics: tuple[Nic, ...], managers: tuple[str, ...] = ()) -> tuple[Rail, ...]:
    """The rail of each GPU: among NICs with an RDMA device if there are any, else among all; not those that manage NVLink switches."""
    own = tuple(nic for nic in cards(nics) if isinstance(nic.rdma, Unread) or not nic.rdma or not set(nic.rdma) <= set(managers))
    wanted = [nic.pci for nic in own if not isinstance(nic.rdma, Unread) and nic.rdma] or [nic.pci for nic in own]
    return tuple(_rail(gpu, {nic: row[nic] for nic in wanted}) for gpu, row in distances.gpu_nic.items())


def _rail(gpu: str, row: DistanceRow) -> Rail:
    if not row:
        none = Unread("absent", "the host has no NIC on PCI")
        return Rail(gpu, none, none)
    for found in row.values():
        if isinstance(found, Unread):
            return Rail(gpu, found, found)
    nearest = min((need(one) for one in row.values()), key=NEAREST_FIRST.index)
    return Rail(gpu, tuple(sorted(nic for nic, found in row.items() if found == nearest)), nearest)


def _cpu_nodes(topology: "Topology | Unread") -> "int | Unread":
    try:
        return len(cpu_nodes(need(topology)))
    except UnreadError as error:
        return error.unread


def _place(places: "Mapping[str, PciPlace] | Unread", address: str) -> "PciPlace | Unread":
    return places if isinstance(places, Unread) else places.get(address, Unread("absent", f"{address} is not on PCI"))


def _is_at_cpu(gpu: Gpu) -> bool:
    return isinstance(gpu.device_id, str) and is_coherent(gpu.device_id)


def _known(one: _Device, other: _Device, host: _Host) -> "str | Unread":
    if one.pci == other.pci:
        return "LOC"
    try:
        return _distance(one, other, host)
    except UnreadError as error:
        return error.unread


def _distance(one: _Device, other: _Device, host: _Host) -> str:
    first, second = need(one.place), need(other.place)
    if below_one_switch := _below_a_bridge(first, second, is_virtual=need(host.virtual) == "vm"):
        return below_one_switch
    if host.virtual == "vm":
        need(Unread("not-supported", "a virtual machine does not show which switches and host bridges its devices share"))
    near = _same_node(one, other, host)
    if one.at_cpu != other.at_cpu and near:
        return "P2C"
    if first.root == second.root:
        return "PHB"
    return "NODE" if near else "SYS"


def _below_a_bridge(one: PciPlace, other: PciPlace, *, is_virtual: bool) -> str:
    """PIX or PXB if both are below one bridge, "" if only a host bridge is above both.

    A switch is two levels of bridges: its upstream port, and a downstream port for each device. A path begins with the root port, so its
    second, fourth … bridge leads into a switch. In a virtual machine root ports may be emulated, switches are not.
    """
    if one.root != other.root:
        return ""
    common = 0
    for mine, its in zip(one.bridges, other.bridges, strict=False):
        if mine != its:
            break
        common += 1
    if common == 0 or (is_virtual and common == 1):
        return ""
    own_port = 1 if common % 2 == 0 else 0  # below a switch, each device has its own downstream port
    is_direct = len(one.bridges) <= common + own_port and len(other.bridges) <= common + own_port
    return "PIX" if is_direct else "PXB"


def _same_node(one: _Device, other: _Device, host: _Host) -> bool:
    first, second = need(one.numa_node), need(other.numa_node)
    if min(first, second) >= 0:
        return first == second
    if need(host.cpu_nodes) > 1:
        device = one if first < 0 else other
        need(Unread("not-supported", f"the firmware does not say which NUMA node {device.pci} is near"))
    return True


def _nvlink(gpu: Gpu, other: Gpu, gpus: tuple[Gpu, ...], links: Mapping[str, int]) -> "str | Unread | None":
    """The NVLink class if NVML reports active links; None if only PCI connects them."""
    common = min(links[gpu.pci], links[other.pci])
    if not common or gpu.pci == other.pci:
        return None
    if _share_switches(gpu, other, gpus) or _are_a_pair(gpu, other, gpus, links):
        return f"NV{common}"
    return Unread("not-supported", "NVML does not say to which GPUs these NVLinks lead")


def _links(gpu: Gpu) -> int:
    """The number of active NVLinks."""
    if isinstance(gpu.nvlinks, Unread):
        return 0
    return sum(link.active for link in gpu.nvlinks if not isinstance(link.active, Unread))


def _share_switches(gpu: Gpu, other: Gpu, gpus: tuple[Gpu, ...]) -> bool:
    """Whether both are on the same NVSwitches, which connect all GPUs. GPUs before Hopper report no fabric: there the board decides."""
    mine, its = gpu.fabric, other.fabric
    if isinstance(mine, FabricInfo) and isinstance(its, FabricInfo):
        same = (mine.cluster_uuid, mine.clique_id) == (its.cluster_uuid, its.clique_id)
        return same and mine.state == its.state == _REGISTERED
    for board in BOARDS:
        on_it = [one.pci for one in gpus if isinstance(one.device_id, str) and is_on(board, one.device_id)]
        if len(on_it) >= _BOARD_GPUS and {gpu.pci, other.pci} <= set(on_it):
            return True
    return False


def _are_a_pair(gpu: Gpu, other: Gpu, gpus: tuple[Gpu, ...], links: Mapping[str, int]) -> bool:
    """Whether they are the only GPUs with links, equally many each: an NVLink bridge connects them."""
    linked = [one.pci for one in gpus if isinstance(one.nvlinks, Unread) or one.nvlinks]
    return set(linked) == {gpu.pci, other.pci} and links[gpu.pci] == links[other.pci]


def cpu_nodes(topology: Topology) -> tuple[NumaNode, ...]:
    """NUMA nodes with CPUs; the others are memory of a GPU or an expansion card. Raises ``UnreadError``."""
    return tuple(node for node in need(topology.numa_nodes) if need(node.cpus))
