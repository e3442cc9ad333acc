"""Why the driver cannot start a GPU, by its BARs or by the kernel log: what the finding says, and what to do."""

from typing import NamedTuple

from hostagent.core.steps import Step
from hostagent.core.tables.kernel_words import BY_ID
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.core.unread import Unread
from hostagent.domains.gpu.bars import misplaced
from hostagent.domains.gpu.tables.xids import meaning
from hostagent.facts.gpu import Gpu, GpuEvents
from hostagent.facts.kernel_words import KernelWords
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
#: Rows of the kernel words that say why a GPU does not start.
_STARTS = ("power-cables", "fsp-timeout")
#: Rows of the kernel words that say no more than this.
_OF_BARS = ("bar-invalid",)
_PLACES = {"empty": "has no address", "low": "is below 4 GiB"}


class Cause(NamedTuple):
    """As a finding says it."""

    code: str
    text: str
    headline: str
    remedy: tuple[Step, ...]


def named_in_log(events: "GpuEvents | Unread", words: "KernelWords | Unread") -> frozenset[str]:
    """Addresses of GPUs for which the kernel log names another cause; "" among them where a record names no GPU."""
    xids = () if isinstance(events, Unread) or isinstance(events.xids, Unread) else events.xids
    logged = () if isinstance(words, Unread) or isinstance(words.gpu, Unread) else words.gpu
    found = {one.pci for one in xids if not one.ended_by and meaning(one.code).kind == "critical"}
    return frozenset(found | {one.subject for one in logged if not one.ended_by and one.row not in _OF_BARS})


def bar_cause(gpu: Gpu, gpus: "tuple[Gpu, ...]", platform: "Platform | Unread", named: frozenset[str] = frozenset()) -> "Cause | None":
    """None where the BARs of the GPU do not explain that it does not start.

    Many GPUs work below 4 GiB: that is no cause where the kernel log names another one, for this GPU or for one that it does not name.
    """
    found = misplaced(gpu, gpus)
    if found is None or (found.kind == "low" and not named.isdisjoint(("", gpu.pci))):
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


def logged_cause(pci: str, words: "KernelWords | Unread") -> "Cause | None":
    """A row of the kernel words that says why this GPU, or one that the record does not name, does not start."""
    logged = () if isinstance(words, Unread) or isinstance(words.gpu, Unread) else words.gpu
    found = [BY_ID[one.row] for one in logged if not one.ended_by and one.row in _STARTS and one.subject in ("", pci)]
    return Cause(found[0].id, found[0].meaning.rstrip("."), found[0].headline, found[0].steps) if found else None
