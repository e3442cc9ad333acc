"""The driver was told to leave this GPU alone (NVreg_ExcludedGpus): no program can use it, and nothing else says so."""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.boot import rebuild_initramfs
from hostagent.facts.gpu import Gpu
from hostagent.facts.packages import Packages


@check(
    title="No driver option excludes the GPU from use",
    severity="warning",
    since="0.1",
    headline="A driver option excludes {device} from use",
    remedy=(
        Step("configure", "Take the GPU's UUID out of NVreg_ExcludedGpus in /etc/modprobe.d, if the GPU is healthy."),
        Step("configure", "Rebuild the initramfs."),
        REBOOT,
    ),
    references=("NVIDIA Driver README, module parameter NVreg_ExcludedGpus",),
    confirm=(
        "grep ExcludedGpus /proc/driver/nvidia/params",
        "modprobe -c | grep ExcludedGpus",
    ),
)
def excluded(gpu: Gpu, packages: Packages | Unread) -> Findings:
    if need(gpu.excluded):
        edit = Step("configure", "Take the GPU's UUID out of NVreg_ExcludedGpus in /etc/modprobe.d, if the GPU is healthy.")
        steps = (edit, rebuild_initramfs(packages), REBOOT)
        yield fail("NVreg_ExcludedGpus excludes the GPU", code="excluded", found="excluded", wanted="in use", remedy=steps)
