"""The NIC's PCIe link is slower than the NIC and its slot can be.

Some cards lower the speed while nothing is sent, so this is for information. A card that keeps a lower speed under load cannot reach
its own.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.core.tables.pci import gigatransfers
from hostagent.facts.platform import Platform
from hostagent.facts.topology import Nic

from ._nodes import MACHINE, skip_passed_on


@check(
    title="The NIC's PCIe link has its full speed",
    severity="info",
    scope="fabric",
    since="0.1",
    because=("topology.nic_width",),
    headline="The PCIe link of {device} is slower than it can be",
    remedy=(Step("configure", "Set the slot's link speed to automatic in the firmware setup."),),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci, current_link_speed",),
    confirm=("lspci -vv -s <address> | grep -E 'LnkCap|LnkSta'",),
)
def nic_speed(nic: Nic, platform: Platform) -> Findings:
    now, most = gigatransfers(need(nic.link_speed)), gigatransfers(need(nic.link_speed_max))
    if not now or not most:
        skip("the link reports no speed")
    if now < most:
        skip_passed_on(nic)
        if need(platform.virtual) == MACHINE:
            skip("the slot belongs to the machine below this virtual one")
        text = f"the link runs at {now:g} GT/s, the card and its slot can do {most:g} GT/s"
        yield fail(text, code="slow", found=f"{now:g} GT/s", wanted=f"{most:g} GT/s")
