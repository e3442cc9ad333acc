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
_PLACES = {"empty": "has no address", "low": "is below 4 GiB"}


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
    where = _PLACES[found.kind]
    bar = f"BAR {found.number} of"
    if is_guest:
        text = f"{bar} the GPU {where}: the 64-bit MMIO window of the virtual machine is too small"
        return Cause(f"bar-{found.kind}", text, f"The 64-bit MMIO window is too small: {bar} {{device}} {where}", _MACHINE)
    text = f"{bar} the GPU {where}: Above 4G decoding is off in the firmware, or opens too little"
    verb = "leaves" if found.kind == "empty" else "places"
    rest = "without an address" if found.kind == "empty" else "below 4 GiB"
    return Cause(f"bar-{found.kind}", text, f"The firmware {verb} {bar} {{device}} {rest} (Above 4G decoding)", _FIRMWARE)
