"""The kernel's own driver for NVIDIA GPUs, nouveau or nova_core, is loaded: it holds the GPUs, and the nvidia module cannot bind them.

nova_core is nouveau's successor, written in Rust: its PCI driver calls itself NovaCore. One that holds no GPU waits for one that the nvidia
module lets go of, and takes it at some boot: that warns. nouveau may have a display card that is too old for the driver if another GPU
works.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.core.tables.pci import is_display_card
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.boot import KERNELS_OWN, blacklist, module_of
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.kernel import Kernel
from hostagent.facts.packages import Packages


@check(
    title="The nouveau driver is not loaded",
    severity="critical",
    since="0.1",
    headline="The nouveau driver is loaded and drives GPUs",
    remedy=(
        Step("configure", "Blacklist nouveau in /etc/modprobe.d/blacklist-nouveau.conf."),
        Step("configure", "Rebuild the initramfs."),
        Step("reboot", "Reboot the node."),
    ),
    references=("NVIDIA Driver Installation Guide, section Disabling Nouveau",),
    confirm=(
        "lsmod | grep nouveau",
        "lspci -k -d 10de:",
    ),
)
def nouveau_loaded(kernel: Kernel, gpus: tuple[Gpu, ...], driver: Driver, packages: Packages | Unread) -> Findings:
    found = sorted(set(KERNELS_OWN) & set(need(kernel.loaded_modules)))
    if not found:
        return
    held = [gpu for gpu in gpus if module_of(gpu) in found]
    holding = sorted({module_of(gpu) for gpu in held}) or found
    names, steps = " and ".join(holding), (*blacklist(packages, *holding), REBOOT)
    if held and any(gpu.in_nvml is True for gpu in gpus) and all(_is_display_card(gpu, driver) for gpu in held):
        skip("nouveau drives a display card that is too old for NVIDIA's driver")
    if held or not gpus:
        headline = "" if holding == ["nouveau"] else f"{names} has {'the GPU' if len(held) == 1 else 'the GPUs'}, not NVIDIA's driver"
        text = f"{names} is loaded and drives the GPUs"
        yield fail(text, code="loaded", found=found, wanted="not loaded", remedy=steps, headline=headline)
    else:
        headline = f"The {names} driver is loaded, and waits for a GPU"
        yield warn(f"{names} is loaded and drives no GPU", code="idle", found=found, wanted="not loaded", remedy=steps, headline=headline)


def _is_display_card(gpu: Gpu, driver: Driver) -> bool:
    known = (gpu.device_id, gpu.bound_to, driver.loaded_version, driver.flavour, gpu.vga)
    device, bound_to, version, flavour, vga = (need(one) for one in known)
    return is_display_card(str(device), str(bound_to), str(version), str(flavour), vga=vga is True)
