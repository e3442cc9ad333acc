"""A BAR of a GPU as the reason why the driver cannot start it: what the finding says, and what to do in the firmware."""

from typing import NamedTuple

from hostagent.core.steps import Step
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.core.unread import Unread
from hostagent.domains.gpu.bars import misplaced
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform

_FIRMWARE = (
    Step("configure", "Switch on Above 4G decoding and Resizable BAR in the firmware setup."),
    Step("reboot", "Start the node with that."),
    Step("configure", "Update the board's firmware; where it has no such setting, boot with pci=realloc.", if_back=True),
    Step("contact_owner", "Ask the vendor of the board for the room that the GPU's BARs take.", if_back=True),
)
_MACHINE = (
    Step("contact_owner", "Ask for a larger 64-bit MMIO window of this virtual machine (q35, OVMF: X-PciMmio64Mb)."),
    Step("configure", "Or let the kernel assign the BARs again: add pci=realloc to its command line."),
    REBOOT,
)


#: The code of a BAR without an address.
EMPTY = "bar-empty"
_PLACES = {"empty": ("has no address", "no address"), "low": ("is below 4 GiB", "no room above 4 GiB")}


class Cause(NamedTuple):
    """A misplaced BAR as a finding says it."""

    code: str
    text: str
    headline: str
    remedy: tuple[Step, ...]


def bar_cause(gpu: Gpu, gpus: "tuple[Gpu, ...]", platform: "Platform | Unread") -> "Cause | None":
    """None where the BARs of the GPU do not explain that it does not start."""
    found = misplaced(gpu, gpus)
    if found is None:
        return None
    is_guest = not isinstance(platform, Unread) and not isinstance(platform.virtual, Unread) and platform.virtual == "vm"
    where, lack = _PLACES[found.kind]
    why = (
        "the 64-bit MMIO window of the virtual machine is too small"
        if is_guest
        else "Above 4G decoding is off in the firmware, or too small"
    )
    headline = f"The {'virtual firmware' if is_guest else 'firmware'} gives BAR {found.number} of {{device}} {lack}"
    return Cause(f"bar-{found.kind}", f"BAR {found.number} of the GPU {where}: {why}", headline, _MACHINE if is_guest else _FIRMWARE)
