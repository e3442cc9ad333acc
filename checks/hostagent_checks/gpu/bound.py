"""The GPU has no driver of NVIDIA's: CUDA cannot see it.

With nouveau, the free display driver took the GPU before NVIDIA's could. With vfio-pci, the GPU is reserved for a
virtual machine. With no driver, the module is not loaded, or refused this GPU (too old or too new for it, or an open
module and a GPU without GSP).
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.gpu import Gpu

_REMEDIES = {
    "nouveau": "Blacklist nouveau, rebuild the initramfs and reboot.",
    "vfio-pci": "Give the GPU back with 'driverctl unset-override', or judge the virtual machine that has it.",
}


@check(
    title="The GPU is bound to NVIDIA's driver",
    severity="critical",
    since="0.1",
    order=21,  # before kernel and driver, whose findings may follow from it
    remedy="Load the module with 'modprobe nvidia' and read the kernel log: it says why the module refuses a GPU.",
    references=("Linux kernel, Documentation/ABI/testing/sysfs-bus-pci", "NVIDIA Driver README, appendix Supported NVIDIA GPU Products"),
)
def bound(gpu: Gpu) -> Findings:
    driver = need(gpu.bound_to)
    if driver != "nvidia":
        code = driver if driver in _REMEDIES else "other" if driver else "none"
        yield fail(
            f"{driver or 'no driver'} has the GPU, wanted nvidia",
            code=code,
            found=driver or "none",
            wanted="nvidia",
            remedy=_REMEDIES.get(driver, ""),
        )
