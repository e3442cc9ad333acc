"""A NIC asks for data, or sends it, in smaller pieces than its like: it does not reach their bandwidth.

The firmware sets the largest request (MaxReadReq) and the largest packet (MaxPayload) of each PCIe function. Which sizes are best depends
on the board, and none is asked for here: but rails of one kind should have the same.
"""

from collections.abc import Callable, Mapping

from hostagent.check import Findings, Step, Unread, check, fail, need, of_more_than_half, size
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.network.gpu_path import card_of, control
from hostagent.domains.network.rails import Rails
from hostagent.facts.platform import Platform
from hostagent.facts.topology import Nic, PciControl, Topology

from ._ways import ports_of, skip_in_a_machine

_SIZES: Mapping[str, Callable[[PciControl], "int | Unread"]] = {
    "MaxReadReq": lambda one: one.max_read_request,
    "MaxPayload": lambda one: one.max_payload,
}


@check(
    title="NICs of one kind move data over PCIe in equal pieces",
    severity="warning",
    scope="fabric",
    since="0.1",
    headline="{device} moves data over PCIe in smaller pieces than its like",
    remedy=(
        Step("configure", "Give the slot the firmware settings for PCIe of the other slots, and undo setpci."),
        REBOOT,
    ),
    references=("PCI Express Base Specification, section 7.5.3.4",),
    confirm=("lspci -vv -s <address> | grep -E 'MaxPayload|MaxReadReq'",),
)
def nic_requests(nics: tuple[Nic, ...], topology: Topology, platform: Platform, rails: Rails) -> Findings:
    skip_in_a_machine(platform)
    cards = {card_of(port) for port in ports_of(rails)}
    kinds: dict[tuple[str, str], list[PciControl]] = {}
    for nic in nics:
        if nic.pci in cards:
            kinds.setdefault((need(nic.vendor_id), need(nic.device_id)), []).append(control(topology, nic.pci))
    for alike in kinds.values():
        for name, of in _SIZES.items():
            sizes = {one.pci: need(of(one)) for one in alike}
            usual = of_more_than_half(sizes.values())
            for pci, bytes_ in sizes.items():
                if usual is not None and bytes_ < usual:
                    text = f"{name} is {size(bytes_)}, its like have {size(usual)}"
                    yield fail(text, code=name.lower(), found=size(bytes_), wanted=size(usual), about=pci)
