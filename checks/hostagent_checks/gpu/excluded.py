"""The driver was told to leave this GPU alone (NVreg_ExcludedGpus): no program can use it, and nothing else says so."""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.gpu import Gpu


@check(
    title="The GPU is not excluded from use",
    severity="warning",
    since="0.1",
    headline="{device} is excluded from use by a driver option",
    remedy=(
        Step(
            "configure", "Take its UUID out of NVreg_ExcludedGpus in /etc/modprobe.d and rebuild the initramfs; or have the GPU replaced."
        ),
        Step("reboot", "Reboot the node."),
    ),
    references=("NVIDIA Driver README, module parameter NVreg_ExcludedGpus",),
    confirm=(
        "grep ExcludedGpus /proc/driver/nvidia/params",
        "modprobe -c | grep ExcludedGpus",
    ),
)
def excluded(gpu: Gpu) -> Findings:
    if need(gpu.excluded):
        yield fail("the driver excludes this GPU", code="excluded", found="excluded", wanted="in use")
