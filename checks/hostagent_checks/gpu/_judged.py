"""The GPUs of a host that are not judged: those of virtual machines, and cards that are there for a screen alone."""

from hostagent.check import need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.unread import Unread
from hostagent.knowledge.pci import is_display_card

#: Who has this driver holds the GPU for a virtual machine.
VFIO = "vfio-pci"


def skip_of_virtual_machine(gpu: Gpu) -> None:
    if need(gpu.bound_to) == VFIO:
        skip("vfio-pci has the GPU, for a virtual machine")


def skip_display_card(gpu: Gpu, gpus: tuple[Gpu, ...], driver: Driver) -> None:
    """One that the driver is too new or too open for is no fault beside a GPU that NVML serves."""
    bound_to = need(gpu.bound_to)
    if bound_to in ("", "nouveau") and any(serves(one) for one in gpus if one.pci != gpu.pci):
        version, flavour = need(driver.loaded_version), need(driver.flavour)
        if is_display_card(need(gpu.device_id), bound_to, version, flavour, vga=need(gpu.vga)):
            skip("a display card beside the GPUs that are judged: the driver does not have it")


def serves(gpu: Gpu) -> bool:
    """NVIDIA's driver has the GPU and NVML lists it now."""
    return not isinstance(gpu.bound_to, Unread) and gpu.bound_to == "nvidia" and gpu.in_nvml is True
