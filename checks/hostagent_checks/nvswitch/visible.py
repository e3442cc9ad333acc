"""The driver could not start an NVSwitch that it is bound to: the driver's own list does not have it."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.core.tables.nvlink_fabric import NVSWITCH_DRIVER
from hostagent.core.tables.recovery_actions import POWER_CYCLE
from hostagent.facts.nvswitch import Fabric


@check(
    title="The driver lists every NVSwitch that PCI shows",
    severity="critical",
    since="0.1",
    because=("nvswitch.bound", "driver.loaded"),
    headline="The driver does not list an NVSwitch that PCI shows",
    remedy=(
        Step("drain_and_inspect", "Read what the driver logged.", command="journalctl -k -b -g nvidia-nvswitch"),
        POWER_CYCLE,
        Step("replace", "Have the baseboard serviced.", if_back=True),
    ),
    references=("open-gpu-kernel-modules, procfs_nvswitch.c",),
    confirm=(
        "lspci -k -d 10de:",
        "ls /proc/driver/nvidia-nvswitch/devices",
    ),
)
def visible(fabric: Fabric) -> Findings:
    switches = [one for one in need(fabric.nvswitches) if need(one.bound_to) == NVSWITCH_DRIVER]
    if not switches:
        skip(f"no NVSwitch is bound to {NVSWITCH_DRIVER}")
    listed = need(fabric.driver_nvswitches)
    for switch in switches:
        if switch.pci not in listed:
            yield fail(f"the driver does not list the NVSwitch {switch.pci}", code="missing", found="missing", wanted="listed")
