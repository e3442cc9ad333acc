"""The paths between GPUs and network: from each GPU to the nearest network cards of the rails."""

# GPUs on vfio-pci, and those that let no network card in (GeForce, GB10 of DGX Spark, Thor: `tables/gpudirect.py`), have no
# way. A GPU's share of the rails is the sum of 1/users over its nearest ports; only a share below what more than half of the GPUs
# have is a finding.

from typing import NamedTuple

from hostagent.core.frozen import frozen
from hostagent.core.join import Join, cached
from hostagent.core.unread import Unread, need
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.gpudirect import lets_cards_in
from hostagent.domains.topology.distance import NEAREST_FIRST
from hostagent.domains.topology.peers import turns_between
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import PciControl, PciPlace, Topology

#: Near: no memory or link of a CPU is between them, but that of the CPU that the GPU is joined to.
DIRECT = ("LOC", "PIX", "PXB", "P2C")
#: Below one PCIe switch or port: what they send to each other need not go up to the CPU.
BELOW_A_BRIDGE = ("PIX", "PXB")
_VFIO = "vfio-pci"


class Way(NamedTuple):
    """From one GPU to the nearest of the rails."""

    gpu: str
    distance: str
    cards: tuple[str, ...]  # addresses of those that are as near, by address


@frozen
class GpuPaths(Join):
    """The ways between GPUs and rails, on a host that shows its PCI devices."""

    topology: Topology
    platform: Platform
    gpus: tuple[Gpu, ...]
    rails: Rails

    @cached
    def gpus_of_jobs(self) -> tuple[Gpu, ...]:
        return gpus_of_jobs(self.gpus)

    @cached
    def ways(self) -> tuple[Way, ...]:
        return ways(self.rails)


def ways(rails: Rails) -> tuple[Way, ...]:
    """The paths by GPU; none without rails. Raises ``UnreadError``, not-supported in a virtual machine that does not show its switches."""
    own = {gpu.pci for gpu in gpus_of_jobs(rails.gpus)}
    cards = sorted({card_of(port) for port in rails.ports}) if own else []
    if not cards:
        return ()
    rows = rails.distances.gpu_nic
    return tuple(
        _way(gpu.pci, {card: need(rows[gpu.pci].get(card, _lacking(card))) for card in cards}) for gpu in rails.gpus if gpu.pci in own
    )


def card_of(port: RdmaPort) -> str:
    """The address of its card: of a virtual function that of its physical one. Raises ``UnreadError``."""
    return need(port.virtual_of) or need(port.pci)


def gpus_of_jobs(gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """The GPUs that this host uses and that network cards may reach by GPUDirect. Raises ``UnreadError``."""
    own = (gpu for gpu in gpus if need(gpu.bound_to) != _VFIO)
    return tuple(gpu for gpu in own if lets_cards_in(need(gpu.device_id), "" if isinstance(gpu.name, Unread) else gpu.name))


def turns(topology: Topology, way: Way) -> tuple[str, ...]:
    """The bridges where what a GPU and its cards send to each other turns: see `turns_between`. Raises ``UnreadError``."""
    places = {one.pci: one for one in need(topology.places)}
    found: set[str] = set()
    for card in way.cards:
        found.update(turns_between(_place(places, way.gpu), _place(places, card)))
    return tuple(sorted(found))


def control(topology: Topology, address: str) -> PciControl:
    """The PCI settings of one function. Raises ``UnreadError``."""
    found = next((one for one in need(topology.controls) if one.pci == address), None)
    return need(Unread("error", f"how {address} is set up was not read")) if found is None else found


def _way(gpu: str, distances: dict[str, str]) -> Way:
    nearest = min(distances.values(), key=NEAREST_FIRST.index)
    return Way(gpu, nearest, tuple(card for card, found in distances.items() if found == nearest))


def _place(places: dict[str, PciPlace], address: str) -> PciPlace:
    return places[address] if address in places else need(_lacking(address))


def _lacking(address: str) -> Unread:
    return Unread("error", f"{address} is not known on PCI")
