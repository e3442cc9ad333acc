"""The kernel logged that the PCIe link of a GPU failed: the GPU lost its work, and may not come back.

Counted are the rows of docs/kernel-words.md about PCI, for the addresses of GPUs and of the ports above them: a device that cannot be
woken or does not come back from a reset, a link that went down, containment (DPC), fatal errors, DMA that the IOMMU blocks. Errors that did
not stop the GPU are worth knowing. Corrected errors count for nothing, in any number, and so do ports above no GPU: a disk that was
unplugged is no fault. What the kernel recovered from, or an administrator has cleared, is over.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.gpu.kernel_events import pci_troubles, trouble
from hostagent.domains.topology.below import behind
from hostagent.facts.gpu import Gpu
from hostagent.facts.history import History
from hostagent.facts.kernel_words import KernelEvent, KernelWords
from hostagent.facts.topology import Topology


@check(
    title="The kernel has logged no fault of a GPU's PCIe link",
    severity="critical",
    since="0.1",
    explains=("gpu", "memory-access"),
    because=("gpu.on_bus", "gpu.xid"),
    headline="The kernel logged a fault of the PCIe link of {device}",
    remedy=(REBOOT, Step("power_cycle", "Power the chassis off and on, and reseat the GPU.", if_back=True)),
    references=("Linux kernel, Documentation/PCI/pcieaer-howto",),
    confirm=("journalctl -k -g <address>", "lspci -vv -s <address>"),
)
def pci_words(words: KernelWords, gpus: tuple[Gpu, ...], topology: Topology | Unread, history: History | Unread) -> Findings:
    if not gpus:
        skip("this host has no NVIDIA GPU")
    found = pci_troubles(words, history, topology)
    addresses = [gpu.pci for gpu in gpus]
    by_gpu: dict[tuple[str, ...], list[KernelEvent]] = {}
    for one in found:
        if ours := behind(one.subject, addresses, topology):
            by_gpu.setdefault(ours, []).extend(one.events)
    for ours, events in by_gpu.items():
        one = trouble(ours[0], events)
        device = f"{len(ours)} GPUs" if len(ours) > 1 else ""
        report = fail if one.row.weight == "critical" else warn
        text = f"{one.text} ({device}: {', '.join(ours)})" if device else one.text
        yield report(
            text,
            code=one.row.id,
            found=one.row.id,
            wanted="none",
            evidence=one.lines,
            remedy=one.steps(device or "the GPU"),
            headline=one.headline(device) if device else one.row.headline,
            about="" if device else ours[0],
            at_most="info" if one.row.weight == "info" else None,
        )
    if any(not behind(one.subject, addresses, topology) for one in found):
        need(need(topology).places)  # which devices are below that bridge
