"""Whether NCCL would let the cards that it opens reach the memory of the GPUs: GPUDirect RDMA, as NVIDIA/nccl decides it.

Sources: NVIDIA/nccl, src/graph/paths.cc (ncclTopoCheckGdr), src/transport/net_ib (ncclIbGdrSupport, ncclIbDmaBufSupport). Tested by cases
alone: no library here has a GPU.
"""

# A way in (peer memory, DMA-BUF unless NCCL_DMABUF_ENABLE=0, EFA's own), then per GPU the distance to the nearest opened port by
# the level that counts. P2C counts as C2C from 2.26 with NCCL_NET_GDR_C2C, and by the level since 2.29.2. `mixed` is some GPUs,
# or one direction alone (NCCL_NET_GDR_READ=0; GPUs before Ampere without NVLink).

from collections.abc import Mapping
from typing import NamedTuple

from hostagent.core.unread import Unread, need
from hostagent.domains.nccl.levels import is_within, parse_level
from hostagent.domains.nccl.numbers import parse_number
from hostagent.domains.nccl.tables.changes import Version, has_c2c_level
from hostagent.domains.nccl.tables.variables import levels, variables
from hostagent.domains.network.gpu_path import card_of
from hostagent.domains.network.gpudirect import gdr as ways_in
from hostagent.domains.network.tables.gpudirect import EFA_PEERMEM, lets_cards_in
from hostagent.domains.network.tables.rdma_devices import EFA
from hostagent.domains.topology.distance import NEAREST_FIRST, classes
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.kernel import Kernel
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Rdma, RdmaPort
from hostagent.facts.topology import Nic, Topology

_LEVEL, _C2C, _READ, _DMABUF = "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_C2C", "NCCL_NET_GDR_READ", "NCCL_DMABUF_ENABLE"
_USABLE, _VFIO = "usable", "vfio-pci"
#: From this compute capability on, cards read from GPU memory whatever else is on PCIe.
_READS_ALWAYS = 8


class Host(NamedTuple):
    """The facts of a host that decide."""

    gpus: "tuple[Gpu, ...] | Unread"
    nics: "tuple[Nic, ...] | Unread"
    topology: "Topology | Unread"
    platform: "Platform | Unread"
    kernel: "Kernel | Unread"
    driver: "Driver | Unread"
    rdma: "Rdma | Unread"


def number(settings: Mapping[str, str], name: str, version: Version) -> int:
    """The value in effect: the setting as NCCL reads it, else the default.

    >>> number({"NCCL_IB_DISABLE": "1"}, "NCCL_IB_DISABLE", (2, 28, 9)), number({}, "NCCL_DMABUF_ENABLE", (2, 28, 9))
    (1, 1)
    """
    found = parse_number(settings.get(name, ""))
    default = variables()[name].default(version)
    return int(default or "0") if found is None else found


def gpudirect(host: Host, ports: tuple[RdmaPort, ...], settings: Mapping[str, str], version: Version) -> str:
    """yes, no, mixed: of some GPUs, or in one direction alone. `ports` are those that NCCL opens. Raises ``UnreadError``."""
    gpus = tuple(gpu for gpu in need(host.gpus) if need(gpu.bound_to) != _VFIO)
    if not gpus:
        need(Unread("absent", "the host has no GPU for jobs"))
    if not _is_let_in(host, ports, settings, version):
        return "no"
    rows = classes(host.topology, gpus, need(host.nics), host.platform).gpu_nic
    cards = sorted({card_of(port) for port in ports})
    reached = [gpu for gpu in gpus if _lets_in(gpu) and _is_near(_nearest(rows[gpu.pci], cards), settings, version)]
    if not reached:
        return "no"
    return "yes" if len(reached) == len(gpus) and all(_is_read(gpu, gpus, settings, version) for gpu in gpus) else "mixed"


def _is_let_in(host: Host, ports: tuple[RdmaPort, ...], settings: Mapping[str, str], version: Version) -> bool:
    """Whether cards have access to GPU memory, by peer memory or DMA-BUF."""
    found = ways_in(host.kernel, host.driver, host.rdma)
    if not isinstance(found.peermem, Unread) and found.peermem == _USABLE:
        return True
    has_dmabuf = number(settings, _DMABUF, version) != 0
    if has_dmabuf and not isinstance(found.dmabuf, Unread) and found.dmabuf:
        return True
    if any(need(port.driver) == EFA for port in ports):
        if EFA_PEERMEM in need(need(host.kernel).loaded_modules):
            return True
        need(Unread("not-supported", "Amazon's EFA driver may have a way of its own, which it does not show"))
    need(found.peermem)
    return has_dmabuf and need(found.dmabuf)


def _lets_in(gpu: Gpu) -> bool:
    return lets_cards_in(need(gpu.device_id), need(gpu.name))


def _nearest(row: "Mapping[str, str | Unread]", cards: "list[str]") -> str:
    lacking = Unread("absent", "a port's card is not on PCI")
    return min((need(row.get(card, lacking)) for card in cards), key=NEAREST_FIRST.index)


def _is_near(distance: str, settings: Mapping[str, str], version: Version) -> bool:
    by_c2c = _C2C in variables() and variables()[_C2C].known_to(version) and number(settings, _C2C, version) != 0
    word = distance
    if distance == "P2C" and by_c2c and not has_c2c_level(version):
        word = "C2C"  # as near as the GPU's own CPU
    default = "P2C" if by_c2c and has_c2c_level(version) else "PXB"
    level = parse_level(settings.get(_LEVEL, ""), version) or default
    return is_within(word if word in levels(version) else distance, level, version)


def _is_read(gpu: Gpu, gpus: tuple[Gpu, ...], settings: Mapping[str, str], version: Version) -> bool:
    """Whether cards send from its memory, too: before Ampere only where NVLink keeps PCIe free, or it is alone."""
    wanted = number(settings, _READ, version)
    if wanted >= 0:
        return wanted > 0
    return int(need(gpu.compute_capability).partition(".")[0]) >= _READS_ALWAYS or len(gpus) == 1 or bool(need(gpu.nvlinks))
