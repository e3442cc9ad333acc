"""NVIDIA's driver does not have the GPU: CUDA cannot see it.

With nouveau, the free display driver took the GPU before NVIDIA's could. With no driver, the module that is loaded refused
this GPU (too old or too new for it, or an open module and a GPU without GSP). A GPU on vfio-pci is for a virtual machine:
`gpu.passthrough` tells of it. A display card that is too old for the driver is left out if another GPU works.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.boot import blacklist_nouveau
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.packages import Packages

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
def bound(gpu: Gpu, gpus: tuple[Gpu, ...], driver: Driver, packages: Packages | Unread) -> Findings:
    found = need(gpu.bound_to)
    if found == "nvidia":
        return
    if not found and driver.loaded is False:
        skip("the nvidia module is not loaded; driver.loaded checks that")
    skip_of_virtual_machine(gpu)
    skip_display_card(gpu, gpus, driver)
    need(gpu.on_pci)  # whether it is a GPU at all
    yield fail(
        f"{found or 'no driver'} is bound to the GPU",
        code="nouveau" if found == "nouveau" else "other" if found else "none",
        found=found or "none",
        wanted="nvidia",
        remedy=_steps(found, packages),
    )


def _steps(found: str, packages: Packages | Unread) -> tuple[Step, ...]:
    if found == "nouveau":
        return (*blacklist_nouveau(packages), REBOOT)
    return (Step("configure", f"Find what binds the GPU to {found} (driver_override, modprobe.d), and remove it."), REBOOT) if found else ()
