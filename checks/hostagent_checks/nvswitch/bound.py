"""NVIDIA's driver does not have an NVSwitch: the fabric manager cannot reach it, and no GPU can use NVLink through it."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.nvswitch import Fabric
from hostagent.knowledge.fabric import NVSWITCH_DRIVER


@check(
    title="NVIDIA's driver has every NVSwitch",
    severity="critical",
    since="0.1",
    because=("driver.loaded",),
    headline="An NVSwitch is not bound to NVIDIA's driver",
    remedy=(
        Step(
            "restart_service",
            "Load the module. If vfio-pci has the switch, it is for a virtual machine: ask who runs it.",
            command="modprobe nvidia",
        ),
    ),
    references=("open-gpu-kernel-modules, linux_nvswitch.c",),
    confirm=("lspci -k -d 10de:  # 'Kernel driver in use' of each bridge",),
)
def bound(fabric: Fabric) -> Findings:
    switches = need(fabric.nvswitches) or skip("this host has no NVSwitch on PCI")
    for switch in switches:
        driver = need(switch.bound_to)
        if driver != NVSWITCH_DRIVER:
            yield fail(
                f"{switch.pci}: {driver or 'no driver'} has the NVSwitch, wanted {NVSWITCH_DRIVER}",
                code="other" if driver else "none",
                found=driver or "none",
                wanted=NVSWITCH_DRIVER,
            )
