"""PCIe has reported fatal errors of a GPU, of an RDMA card, or of a bridge above one since the boot.

A fatal error takes the link down: the device loses what it was doing, and may not come back. Counted are those that the kernel heard of by
Advanced Error Reporting (AER). The counters start at zero with each boot.
"""

from typing import NamedTuple

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, counted, need, skip, warn
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.topology import Nic, Topology


class Params(NamedTuple):
    """max_fatal_errors: fatal errors of one PCIe function since the boot; more than that warn"""

    max_fatal_errors: int = 0


@check(
    title="PCIe has reported no fatal error of a GPU or RDMA card since the boot",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("memory-access",),
    because=("gpu.on_bus", "gpu.lost", "gpu.pci_words", "rdma.nic_words"),
    headline="PCIe has reported fatal errors of {device}",
    remedy=(
        Step("drain_and_inspect", "Drain the node, and read what the kernel says: 'journalctl -k -b --grep AER'."),
        Step("replace", "Power it off, and reseat the card or its riser."),
        Step("contact_owner", "Ask the vendor of the board.", if_back=True),
    ),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats, aer_dev_fatal",),
    confirm=("grep -H TOTAL /sys/bus/pci/devices/*/aer_dev_fatal", "journalctl -k -b --grep AER"),
)
def fatal_errors(topology: Topology, gpus: tuple[Gpu, ...], nics: tuple[Nic, ...], platform: Platform | Unread, params: Params) -> Findings:
    if not isinstance(platform, Unread) and (platform.in_container or need(platform.contained)):
        skip("PCI is set up by the host of this container")
    controls = need(topology.controls)
    if not controls:
        skip("the host has not both a GPU and an RDMA card")
    devices = {*(gpu.pci for gpu in gpus), *(nic.pci for nic in nics)}
    for one in controls:
        if not isinstance(one.fatal_errors, Unread) and one.fatal_errors > params.max_fatal_errors:
            count, most = one.fatal_errors, params.max_fatal_errors
            if one.pci in devices:
                yield warn(
                    f"{counted(count, 'fatal error')} since the boot", code="device", found=count, wanted=f"<= {most}", about=one.pci
                )
            else:
                text = f"{counted(count, 'fatal error')} of the PCIe bridge {one.pci} since the boot"
                headline = "PCIe has reported fatal errors of a bridge above GPUs or RDMA cards"
                yield warn(text, code="bridge", found=count, wanted=f"<= {most}", headline=headline)
    gaps = [one.fatal_errors for one in controls if isinstance(one.fatal_errors, Unread)]
    for gap in gaps:
        if gap.why not in NOT_APPLICABLE or len(gaps) == len(controls):
            need(gap)
