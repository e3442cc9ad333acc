"""Pairs of GPUs that PCIe alone joins, and the bridges where what they send to each other turns.

A pair has no NVLink, and the driver lets each read and write the memory of the other. Only GPUs of one kind count: jobs share work
among these. GPUs of a board with NVLinks (HGX), those that C2C joins to the CPU, and those cut into MIG instances have no such pair.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from hostagent.core.tables.nvlink_fabric import has_links_built_in
from hostagent.core.tables.pci import is_coherent, is_for_jobs
from hostagent.core.tables.peer_access import is_refused
from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.facts.gpu import Gpu, Mig
from hostagent.facts.topology import PciPlace, Topology

#: The distance of a pair below one switch or port.
BELOW_A_BRIDGE = "PXB"
_DRIVER = "nvidia"


class Pair(NamedTuple):
    """Two GPUs, by address."""

    one: str
    other: str
    distance: str  # PXB below a bridge that both share, PHB at one CPU, SYS at two
    turns: tuple[str, ...]  # bridges: of the switch above both, or the root ports


def pairs(topology: Topology, gpus: tuple[Gpu, ...]) -> tuple[Pair, ...]:
    """The pairs of a host, by address. Raises ``UnreadError``."""
    ours = [gpu for gpu in gpus if _is_of_driver(gpu)]
    if len(ours) > 1:
        ours = [gpu for gpu in ours if _is_whole(gpu)]
    if len(ours) < 2:
        return ()
    places = {place.pci: place for place in need(topology.places)}
    return tuple(_pairs(ours, places))


def turns_between(one: PciPlace, other: PciPlace) -> tuple[str, ...]:
    """The bridges where what two devices send to each other turns from up to down, or is sent on to the CPU.

    They are the ports of the switch above both, or root ports: further down everything goes up anyway (as rdma-core's rdma_topo has it).

    >>> at = lambda last: PciPlace("", "pci0000:16", ("0000:16:01.0", "0000:17:00.0", last))
    >>> turns_between(at("0000:18:00.0"), at("0000:18:01.0"))
    ('0000:18:00.0', '0000:18:01.0')
    """
    both = len(_shared(one, other))
    return tuple(sorted({*one.bridges[both : both + 1], *other.bridges[both : both + 1]}))


def _shared(one: PciPlace, other: PciPlace) -> tuple[str, ...]:
    return tuple(bridge for bridge in one.bridges if bridge in other.bridges)


def _pairs(ours: list[Gpu], places: dict[str, PciPlace]) -> Iterator[Pair]:
    for one, other in combinations(ours, 2):
        if need(one.device_id) != need(other.device_id) or (_has_nvlink(one) and _has_nvlink(other)):
            continue
        if not (_reaches(one, other) and _reaches(other, one)):
            continue
        first, second = (places[gpu.pci] if gpu.pci in places else need(_lacking(gpu)) for gpu in (one, other))
        yield Pair(one.pci, other.pci, _distance(one, other, is_below_one=bool(_shared(first, second))), turns_between(first, second))


def _distance(one: Gpu, other: Gpu, *, is_below_one: bool) -> str:
    if is_below_one:
        return BELOW_A_BRIDGE
    known = not isinstance(one.numa_node, Unread) and not isinstance(other.numa_node, Unread)
    return "PHB" if known and one.numa_node == other.numa_node else "SYS"


def _is_of_driver(gpu: Gpu) -> bool:
    """Whether NVIDIA's driver has it, and no board joins it to others."""
    if need(gpu.bound_to) != _DRIVER or not is_for_jobs(_DRIVER, vga=gpu.vga, excluded=gpu.excluded):
        return False
    device = need(gpu.device_id)
    return not is_coherent(device) and not has_links_built_in(device)


def _is_whole(gpu: Gpu) -> bool:
    """Whether NVML lists it, and it is not cut into MIG instances."""
    if isinstance(gpu.in_nvml, Unread) and gpu.in_nvml.why in NOT_APPLICABLE:
        return False
    return need(gpu.in_nvml) and not (isinstance(gpu.mig, Mig) and gpu.mig.current)


def _has_nvlink(gpu: Gpu) -> bool:
    links = gpu.nvlinks
    if isinstance(links, Unread):
        return False if links.why in NOT_APPLICABLE else bool(need(links))
    return any(need(link.active) for link in links)


def _reaches(one: Gpu, other: Gpu) -> bool:
    """Whether the driver lets one read and write the memory of the other: by NVML, else by the name."""
    if not isinstance(one.peer_access, Unread):
        for peer in one.peer_access:
            if peer.pci == other.pci:
                return peer.is_allowed
    return not is_refused(need(one.name))


def _lacking(gpu: Gpu) -> Unread:
    return Unread("error", f"{gpu.pci} is not known on PCI")
