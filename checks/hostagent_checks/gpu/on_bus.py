"""The GPU fell off the PCIe bus: reads of its configuration space give all ones, and the link is dead.

It may still have a name in /proc and in NVML. A reboot may bring it back, else a power cycle; a loose seat, a bad riser, too little
power or heat are the usual causes.
"""

from hostagent.check import Findings, Unread, check, fail, need
from hostagent.core.tables.recovery_actions import LOST
from hostagent.facts.gpu import Gpu, GpuEvents

from ._judged import skip_of_virtual_machine
from ._xids import ladder_of

#: Lanes as registers of all ones read.
_DEAD_WIDTHS = (63, 255)


@check(
    title="The GPU answers on the PCIe bus",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    order=22,  # before kernel and driver, whose findings may follow from it
    headline="{device} has fallen off the PCIe bus",
    remedy=LOST,
    references=("NVIDIA Xid Errors, Xid 79", "PCI Express Base Specification, Link Status Register"),
    confirm=(
        "lspci -s <address>  # '(rev ff)': it does not answer",
        "journalctl -k -g 'Xid|fallen off'",
    ),
)
def on_bus(gpu: Gpu, events: GpuEvents | Unread) -> Findings:
    steps = ladder_of(gpu.pci, events)
    if not need(gpu.config_readable):
        skip_of_virtual_machine(gpu)  # one that sleeps in the hands of vfio-pci may read all ones
        text = "no answer on the PCIe bus (the configuration space reads all ones)"
        yield fail(text, code="config-dead", found="all ones", wanted="readable", remedy=steps)
    elif need(gpu.link_width) in _DEAD_WIDTHS:
        skip_of_virtual_machine(gpu)
        text = f"the PCIe link is dead (width {gpu.link_width})"
        yield fail(text, code="link-dead", found=f"width {gpu.link_width}", wanted="a working link", remedy=steps)
