"""GPU architectures by PCI device id, and which flavours of the kernel module can drive them.

Sources: the list of devices with the feature ``kernelopen`` in supported-gpus.json of the Linux driver 580.82.07 (as
awslabs/amazon-eks-ami carries it, nvidia-open-supported-devices-580.txt, read 2026-11-21): every id of it lies in a range
below that the open module can drive, and a test holds that; the id blocks of the chips from the PCI ID database; flavours
from NVIDIA's Driver Installation Guide, section Kernel Modules: the open module needs Turing or newer, Grace Hopper and
Blackwell have no proprietary one; the last branches from NVIDIA's page of legacy GPUs and the release notes of 590, which drops
Maxwell, Pascal and Volta. Ranges, not single ids, so that a card that is newer than the list is still known.
"""

# A display card is left out by what was found: class 0300, nouveau or no driver, an architecture that the loaded branch or
# flavour does not support, and another GPU that NVIDIA's driver has and NVML lists. A card that the driver could serve and
# nouveau has is a fault.

import re
from typing import Literal, NamedTuple

Flavour = Literal["open", "proprietary"]


class Chips(NamedTuple):
    first: int
    last: int
    architecture: str


RANGES = (
    Chips(0x0020, 0x133F, "kepler or older"),
    Chips(0x1340, 0x147F, "maxwell"),  # GM107, GM108, GM204, GM206
    Chips(0x15F0, 0x15FF, "pascal"),  # GP100
    Chips(0x17C0, 0x17FF, "maxwell"),  # GM200
    Chips(0x1B00, 0x1D7F, "pascal"),  # GP102 to GP108
    Chips(0x1D80, 0x1DFF, "volta"),  # GV100
    Chips(0x1E00, 0x1FFF, "turing"),  # TU102, TU104, TU106, TU117
    Chips(0x2080, 0x20FF, "ampere"),  # GA100
    Chips(0x2180, 0x21FF, "turing"),  # TU116
    Chips(0x2200, 0x22FF, "ampere"),  # GA102
    Chips(0x2300, 0x233F, "hopper"),  # GH100
    Chips(0x2340, 0x237F, "grace-hopper"),
    Chips(0x2400, 0x25FF, "ampere"),  # GA103 to GA107
    Chips(0x2680, 0x28FF, "ada"),  # AD102 to AD107
    Chips(0x2900, 0x293F, "blackwell"),  # GB100
    Chips(0x2940, 0x297F, "grace-blackwell"),
    Chips(0x2980, 0x29FF, "blackwell"),
    Chips(0x2B00, 0x2B7F, "blackwell"),  # the GPU of Jetson Thor
    Chips(0x2B80, 0x2DFF, "blackwell"),  # GB202, GB203, GB206, GB207
    Chips(0x2E00, 0x2E7F, "blackwell"),  # GB10: DGX Spark
    Chips(0x2F00, 0x2F7F, "blackwell"),  # GB205
    Chips(0x3180, 0x31BF, "blackwell"),  # GB110
    Chips(0x31C0, 0x31FF, "grace-blackwell"),
)

#: Flavours that can drive an architecture. Mixed hosts need one that every GPU supports.
FLAVOURS: tuple[tuple[str, tuple[Flavour, ...]], ...] = (
    ("kepler or older", ("proprietary",)),
    ("maxwell", ("proprietary",)),
    ("pascal", ("proprietary",)),
    ("volta", ("proprietary",)),
    ("turing", ("open", "proprietary")),
    ("ampere", ("open", "proprietary")),
    ("ada", ("open", "proprietary")),
    ("hopper", ("open", "proprietary")),
    ("grace-hopper", ("open",)),
    ("blackwell", ("open",)),
    ("grace-blackwell", ("open",)),
)

#: The newest driver branch that supports an architecture; newer ones refuse the GPU. For others none is known.
LAST_BRANCH = {"kepler or older": 470, "maxwell": 580, "pascal": 580, "volta": 580}

#: GPU memory is coherent with the CPU's, and becomes NUMA nodes unless the driver is configured otherwise.
_COHERENT = ("grace-hopper", "grace-blackwell")


def is_coherent(device_id: str) -> bool:
    """Whether the GPU's memory is coherent with the CPU's.

    >>> is_coherent("0x2342"), is_coherent("0x2330")
    (True, False)
    """
    return architecture(device_id) in _COHERENT


def architecture(device_id: str) -> str:
    """The architecture of a PCI device id, "" when it is not known.

    >>> architecture("0x2330"), architecture("0x1db6"), architecture("0x9999")
    ('hopper', 'volta', '')
    """
    try:
        number = int(device_id, 16)
    except ValueError:
        return ""
    return next((chips.architecture for chips in RANGES if chips.first <= number <= chips.last), "")


def flavours(device_id: str) -> "tuple[Flavour, ...]":
    """The flavours of the kernel module that can drive a GPU, () when its id is not known."""
    return dict(FLAVOURS).get(architecture(device_id), ())


def can_drive(device_id: str, version: str, flavour: str) -> bool:
    """Whether a driver of this version and flavour of module takes the GPU; True where its id or the version is not known.

    >>> can_drive("0x128b", "580.142", "proprietary"), can_drive("0x1b80", "580.142", "open"), can_drive("0x2330", "580.142", "open")
    (False, False, True)
    """
    able = flavours(device_id)
    last = LAST_BRANCH.get(architecture(device_id))
    branch = version.partition(".")[0]
    is_newer = last is not None and branch.isdigit() and int(branch) > last
    return not is_newer and (not able or flavour in able)


#: The driver for GPUs of containers; virtual machines and consoles use others.
_DRIVER = "nvidia"


def is_for_jobs(bound_to: object, *, vga: object, excluded: object) -> bool:
    """Whether jobs may have a GPU: not one bound to another driver than NVIDIA's or excluded by it, and no unbound display card.
    Unread values do not exclude it.

    >>> [is_for_jobs(one, vga=False, excluded=False) for one in ("nvidia", "", None, "vfio-pci", "nouveau")]
    [True, True, True, False, False]
    >>> is_for_jobs("", vga=True, excluded=False), is_for_jobs("nvidia", vga=False, excluded=True)
    (False, False)
    """
    if excluded is True:
        return False
    return not isinstance(bound_to, str) or bound_to == _DRIVER or (bound_to == "" and vga is not True)


def is_display_card(device_id: str, bound_to: str, version: str, flavour: str, *, vga: bool) -> bool:
    """Whether a card only serves a screen: too old for the driver, with nouveau or no driver.

    >>> is_display_card("0x128b", "nouveau", "580.142", "open", vga=True), is_display_card("0x1db6", "", "580.142", "open", vga=False)
    (True, False)
    """
    return vga and bound_to in ("", "nouveau") and not can_drive(device_id, version, flavour)


_SPEED = re.compile(r"(\d{1,4}(?:\.\d{1,3})?) GT/s")


def gigatransfers(speed: str) -> float:
    """The number in "32.0 GT/s PCIe"; 0 where there is none."""
    match = _SPEED.match(speed)
    return float(match[1]) if match else 0.0
