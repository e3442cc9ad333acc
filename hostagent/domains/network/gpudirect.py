"""How network cards reach GPU memory on this host: peer memory, DMA-BUF."""

# The release of RHEL 8 (4.18 with drivers of 5.x) does not say whether DMA-BUF is there: unknown unless peer memory works. A host
# without libibverbs runs jobs in containers that bring their own. EFA: efa_nv_peermem, DMA-BUF, else skipped, because older EFA
# drivers had a way that nothing shows.

from typing import NamedTuple

from hostagent.core.unread import NOT_APPLICABLE, NOT_THERE, Unread
from hostagent.domains.network.tables.gpudirect import takes_dmabuf
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.rdma import Rdma

_OPEN = "open"


class Gdr(NamedTuple):
    """The two ways. One of them is enough."""

    peermem: "str | Unread"  # "" not there, loaded (without effect), usable
    dmabuf: "bool | Unread"
    lacks: tuple[str, ...]  # what DMA-BUF is known to lack: a kernel that takes it, the open module, a library that registers it


def gdr(kernel: "Kernel | Unread", driver: "Driver | Unread", rdma: "Rdma | Unread") -> Gdr:
    """DMA-BUF needs a kernel that takes it, the open module and, if the host has libibverbs, one that registers it.

    A host without libibverbs runs jobs in containers that bring their own.
    """
    parts = {
        "kernel": _kernel(kernel),
        "module": _module(driver),
        "library": _library(rdma),
    }
    lacks = tuple(part for part, found in parts.items() if found is False)
    gap = next((found for found in parts.values() if isinstance(found, Unread)), None)
    return Gdr(rdma if isinstance(rdma, Unread) else rdma.peer_memory, False if lacks else True if gap is None else gap, lacks)


def unasked(kernel: "Kernel | Unread", driver: "Driver | Unread", rdma: "Rdma | Unread") -> "Unread | None":
    """Why one of the parts was not read; None where all were, and the kernel's release alone does not say whether it takes DMA-BUF."""
    release = kernel if isinstance(kernel, Unread) else kernel.release
    peermem = rdma if isinstance(rdma, Unread) else rdma.peer_memory
    parts = (release, _module(driver), _library(rdma), peermem)
    return next((found for found in parts if isinstance(found, Unread) and found.why not in NOT_APPLICABLE), None)


def _kernel(kernel: "Kernel | Unread") -> "bool | Unread":
    release = kernel if isinstance(kernel, Unread) else kernel.release
    if isinstance(release, Unread):
        return release
    found = takes_dmabuf(release)
    return Unread("error", f"the release {release} does not say whether its RDMA drivers take DMA-BUF") if found is None else found


def _module(driver: "Driver | Unread") -> "bool | Unread":
    flavour = driver if isinstance(driver, Unread) else driver.flavour
    return flavour if isinstance(flavour, Unread) else flavour == _OPEN


def _library(rdma: "Rdma | Unread") -> "bool | Unread":
    if isinstance(rdma, Unread):
        return rdma
    library, found = rdma.library, rdma.registers_dmabuf
    if (isinstance(library, Unread) and library.why in NOT_THERE) or (not isinstance(library, Unread) and not library):
        return True
    return True if isinstance(found, Unread) and found.why in NOT_THERE else found
