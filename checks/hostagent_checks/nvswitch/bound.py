"""An NVSwitch is not bound to NVIDIA's driver: the fabric manager cannot reach it, and no GPU can use NVLink through it."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.core.tables.nvlink_fabric import NVSWITCH_DRIVER
from hostagent.facts.nvswitch import Fabric

_OF_A_MACHINE = (Step("contact_owner", "Ask who bound the NVSwitch to vfio-pci: a virtual machine may be using it."),)


@check(
    title="Every NVSwitch is bound to NVIDIA's driver",
    severity="critical",
    since="0.1",
    explains=("nvlink",),
    because=("driver.loaded",),
    headline="An NVSwitch is not bound to NVIDIA's driver",
    remedy=(Step("restart_service", "Load the module.", command="modprobe nvidia"),),
    references=("open-gpu-kernel-modules, linux_nvswitch.c",),
    confirm=("lspci -k -d 10de:  # 'Kernel driver in use' of each bridge",),
)
def bound(fabric: Fabric) -> Findings:
    switches = need(fabric.nvswitches) or skip("this host has no NVSwitch on PCI")
    for switch in switches:
        driver = need(switch.bound_to)
        if driver != NVSWITCH_DRIVER:
            yield fail(
                f"{driver or 'no driver'} is bound to the NVSwitch {switch.pci}",
                code="other" if driver else "none",
                found=driver or "none",
                wanted=NVSWITCH_DRIVER,
                remedy=_OF_A_MACHINE if driver == "vfio-pci" else (),
            )
