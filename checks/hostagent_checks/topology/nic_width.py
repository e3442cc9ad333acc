"""The NIC's PCIe link has fewer lanes than the NIC and its slot can use: it cannot reach its own speed.

The width does not depend on load. A card of the same kind in another slot with more lanes shows that the slot is wired for them. A card
without such a peer is judged where it has an RDMA device, and not in a virtual machine, where nobody can reach the slot. NCCL plans with
the lanes that a link could have, so it does not see this.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, counted, fail, need, skip, warn
from hostagent.facts.platform import Platform
from hostagent.facts.topology import Nic

from ._nodes import MACHINE, VFIO, skip_passed_on

#: What registers of no or of a dead link read as.
_NO_WIDTH = (0, 63, 255)


@check(
    title="The NIC's PCIe link has its full width",
    severity="warning",
    scope="fabric",
    since="0.1",
    headline="The PCIe link of {device} has fewer lanes than it should",
    remedy=(
        Step("replace", "Power the node off, and reseat the card or its riser."),
        Step("replace", "Compare the slot's wiring with the board's manual.", if_back=True),
    ),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci, current_link_width",),
    confirm=("lspci -vv -s <address> | grep -E 'LnkCap|LnkSta'",),
)
def nic_width(nic: Nic, nics: tuple[Nic, ...], platform: Platform) -> Findings:
    width, most = need(nic.link_width), need(nic.link_width_max)
    if width in _NO_WIDTH or most in _NO_WIDTH:
        skip(f"the link reports no width ({width} of {most})")
    if width >= most:
        return
    skip_passed_on(nic)
    peers = [lanes for lanes in _lanes_of_peers(nic, nics) if lanes not in _NO_WIDTH]
    if any(lanes > width for lanes in peers):
        text = f"the link has {counted(width, 'lane')}, its peers' links have {max(peers)}"
        yield fail(text, code="fewer-than-peers", found=width, wanted=max(peers))
    elif not peers:
        if need(platform.virtual) == MACHINE:
            skip(f"{width} of {most} lanes, but the slot belongs to the machine below this virtual one")
        if not need(nic.rdma):
            skip(f"{width} of {most} lanes, and no other NIC of this kind to compare with")
        yield warn(f"the link has {counted(width, 'lane')}, the card and its slot can use {most}", code="narrow", found=width, wanted=most)


def _lanes_of_peers(nic: Nic, nics: tuple[Nic, ...]) -> list[int]:
    """Of cards of the same kind in other slots: the functions of one card share a link. What should be there and is unread raises."""
    own = (need(nic.vendor_id), need(nic.device_id))
    slot = nic.pci.rpartition(".")[0]
    others = [one for one in nics if one.pci.rpartition(".")[0] != slot and need(one.bound_to) != VFIO]
    widths = [one.link_width for one in others if (need(one.vendor_id), need(one.device_id)) == own]
    return [need(width) for width in widths if not isinstance(width, Unread) or width.why not in NOT_APPLICABLE]
