"""NVIDIA's driver does not have the GPU: CUDA cannot see it.

With nouveau, or its successor nova_core, the kernel's own driver took the GPU before NVIDIA's could. With no driver, the module that is
loaded refused this GPU (too old or too new for it, or an open module and a GPU without GSP), or the firmware left a BAR of the GPU without
an address. A driver is named by its module: the PCI driver of nova_core calls itself NovaCore. A GPU on vfio-pci is for a virtual machine:
`gpu.passthrough` checks it. A display card that is too old for the driver is left out if another GPU works.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.pci import can_drive
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.boot import KERNELS_OWN, blacklist, module_of
from hostagent.domains.gpu.start_cause import EMPTY, bar_cause
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform

from ._judged import skip_display_card, skip_of_virtual_machine


@check(
    title="The GPU is bound to NVIDIA's driver",
    severity="critical",
    since="0.1",
    because=("kernel.nouveau_loaded", "driver.loaded"),
    part="driver",
    order=35,  # after kernel, whose findings it may follow from, and before driver
    headline="{device} is not bound to NVIDIA's driver",
    remedy=(
        Step("drain_and_inspect", "Read in the kernel log why the driver refuses the GPU.", command="journalctl -k -b -g NVRM"),
        Step("install", "Install a driver branch, and a flavour of its kernel module, that supports this GPU."),
    ),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci", "NVIDIA Driver README, appendix Supported NVIDIA GPU Products"),
    confirm=("lspci -k -s <address>  # 'Kernel driver in use'",),
)
def bound(gpu: Gpu, gpus: tuple[Gpu, ...], driver: Driver, packages: Packages | Unread, platform: Platform | Unread) -> Findings:
    found = need(gpu.bound_to)
    if found == "nvidia":
        return
    if not found and driver.loaded is False:
        skip("the nvidia module is not loaded; driver.loaded checks that")
    skip_of_virtual_machine(gpu)
    skip_display_card(gpu, gpus, driver)
    need(gpu.on_pci)  # whether it is a GPU at all
    module = module_of(gpu)
    cause = bar_cause(gpu, gpus, platform) if not found else None
    if cause and (cause.code == EMPTY or _could_drive(driver, gpu)):
        text = f"no driver is bound to the GPU: {cause.text}"
        yield fail(text, code=cause.code, found="none", wanted="nvidia", headline=cause.headline, remedy=cause.remedy)
        return
    yield fail(
        f"{module or 'no driver'} is bound to the GPU",
        code="nouveau" if module in KERNELS_OWN else "other" if found else "none",
        found=module or "none",
        wanted="nvidia",
        headline=f"{module} has {{device}}, not NVIDIA's driver" if module else "",
        remedy=_steps(module, packages),
    )


def _could_drive(driver: Driver, gpu: Gpu) -> bool:
    """Whether the loaded driver supports the GPU, so that something else keeps it from the GPU."""
    known = (gpu.device_id, driver.loaded_version, driver.flavour)
    words = [str(one) for one in known if not isinstance(one, Unread)]
    return len(words) == len(known) and can_drive(*words)


def _steps(module: str, packages: Packages | Unread) -> tuple[Step, ...]:
    if module in KERNELS_OWN:
        return (*blacklist(packages, module), REBOOT)
    return (
        (Step("configure", f"Find what binds the GPU to {module} (driver_override, modprobe.d), and remove it."), REBOOT) if module else ()
    )
