"""The kernel's own driver for NVIDIA GPUs, nouveau, is loaded: it holds the GPUs, and the nvidia module cannot bind them.

Where it holds none of them it waits for a GPU that the nvidia module lets go of, and takes one at some boot: that warns. nouveau may
have a display card that is too old for the driver if another GPU works.
"""

from hostagent.check import Findings, Step, check, fail, need, skip, warn
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.kernel import Kernel
from hostagent.knowledge.pci import is_display_card


@check(
    title="The nouveau driver is not loaded",
    severity="critical",
    since="0.1",
    headline="The nouveau driver is loaded and holds GPUs",
    remedy=(
        Step(
            "configure",
            "Put 'blacklist nouveau' and 'options nouveau modeset=0' into /etc/modprobe.d/blacklist-nouveau.conf and rebuild the "
            "initramfs ('update-initramfs -u' or 'dracut --force').",
        ),
        Step("reboot", "Reboot the node."),
    ),
    references=("NVIDIA Driver Installation Guide, section Disabling Nouveau",),
    confirm=(
        "lsmod | grep nouveau",
        "lspci -k -d 10de:",
    ),
)
def nouveau_loaded(kernel: Kernel, gpus: tuple[Gpu, ...], driver: Driver) -> Findings:
    found = sorted({"nouveau", "nova_core"} & set(need(kernel.loaded_modules)))
    if not found:
        return
    names = ", ".join(found)
    held = [gpu for gpu in gpus if need(gpu.bound_to) in found]
    if held and any(gpu.in_nvml is True for gpu in gpus) and all(_is_display_card(gpu, driver) for gpu in held):
        skip("nouveau has a display card that the driver does not have")
    if held or not gpus:
        yield fail(f"{names} is loaded and holds the GPUs", code="loaded", found=found, wanted="not loaded")
    else:
        yield warn(f"{names} is loaded and holds no GPU", code="idle", found=found, wanted="not loaded")


def _is_display_card(gpu: Gpu, driver: Driver) -> bool:
    known = (gpu.device_id, gpu.bound_to, driver.loaded_version, driver.flavour, gpu.vga)
    device, bound_to, version, flavour, vga = (need(one) for one in known)
    return is_display_card(str(device), str(bound_to), str(version), str(flavour), vga=vga is True)
