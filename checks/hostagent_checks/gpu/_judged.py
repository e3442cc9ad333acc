"""The GPUs of a host that are not judged: those of virtual machines, and cards that are there for a screen alone."""

from typing import TypeVar

from hostagent.check import NOT_APPLICABLE, Unread, need, skip
from hostagent.core.tables.pci import is_display_card
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu

#: Who has this driver holds the GPU for a virtual machine.
VFIO = "vfio-pci"
T = TypeVar("T")


def skip_of_virtual_machine(gpu: Gpu) -> None:
    if need(gpu.bound_to) == VFIO:
        skip("the GPU is bound to vfio-pci, for a virtual machine")


def skip_display_card(gpu: Gpu, gpus: tuple[Gpu, ...], driver: Driver) -> None:
    """One that the driver is too new or too open for is no fault next to a GPU that NVML serves; unknown where it may be one."""
    bound_to = need(gpu.bound_to)
    if bound_to not in ("", "nouveau") or not need(gpu.vga):
        return
    version, flavour = _there(driver.loaded_version), _there(driver.flavour)
    if not version or not flavour or not is_display_card(need(gpu.device_id), bound_to, version, flavour, vga=True):
        return
    others = [one for one in gpus if one.pci != gpu.pci]
    if any(_serves(one) for one in others):
        skip("this is a display card, next to GPUs for jobs")
    for one in others:
        if need(one.bound_to) == "nvidia":
            _there(one.in_nvml)


def _there(value: "T | Unread") -> "T | None":
    """None for what does not exist here; what could not be read leaves the check unknown."""
    return None if isinstance(value, Unread) and value.why in NOT_APPLICABLE else need(value)


def _serves(gpu: Gpu) -> bool:
    """NVIDIA's driver has the GPU and NVML lists it now."""
    return not isinstance(gpu.bound_to, Unread) and gpu.bound_to == "nvidia" and gpu.in_nvml is True
