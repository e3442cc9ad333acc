"""NVIDIA's driver does not have the GPU: CUDA cannot see it.

With nouveau, the free display driver took the GPU before NVIDIA's could. With no driver, the module that is loaded refused
this GPU (too old or too new for it, or an open module and a GPU without GSP). A GPU on vfio-pci is for a virtual machine:
`gpu.passthrough` tells of it. A display card that is too old for the driver is left out if another GPU works.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu

from ._judged import skip_display_card, skip_of_virtual_machine

_NOUVEAU = (Step("configure", "Blacklist nouveau and rebuild the initramfs."), Step("reboot", "Reboot the node."))


@check(
    title="The GPU is bound to NVIDIA's driver",
    severity="critical",
    since="0.1",
    because=("kernel.nouveau_loaded", "driver.loaded"),
    part="driver",
    order=35,  # after kernel, whose findings it may follow from, and before driver
    headline="{device} is not bound to NVIDIA's driver",
    remedy=(
        Step(
            "restart_service", "Load the module, then read the kernel log: it says why the module refuses a GPU.", command="modprobe nvidia"
        ),
    ),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci", "NVIDIA Driver README, appendix Supported NVIDIA GPU Products"),
    confirm=("lspci -k -s <address>  # 'Kernel driver in use'",),
)
def bound(gpu: Gpu, gpus: tuple[Gpu, ...], driver: Driver) -> Findings:
    found = need(gpu.bound_to)
    if found == "nvidia":
        return
    if not found and driver.loaded is False:
        skip("the module is not loaded: driver.loaded says so, and the kernel's findings why")
    skip_of_virtual_machine(gpu)
    skip_display_card(gpu, gpus, driver)
    need(gpu.on_pci)  # whether it is a GPU at all
    if not found and driver.loaded is False:
        skip("no module of NVIDIA's is loaded: driver.loaded judges that")
    yield fail(
        f"{found or 'no driver'} has the GPU, wanted nvidia",
        code="nouveau" if found == "nouveau" else "other" if found else "none",
        found=found or "none",
        wanted="nvidia",
        remedy=_NOUVEAU if found == "nouveau" else (),
    )
