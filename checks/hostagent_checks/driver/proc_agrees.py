"""The kernel gives two different versions for the loaded module: what is read from this host cannot be trusted.

/sys and /proc take the version from one module. When they differ, one of them is not this kernel's: a stale bind mount in a
container, or a snapshot of two moments.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.driver import Driver


@check(
    title="The kernel's two statements of the driver's version agree",
    severity="warning",
    since="0.1",
    because=("driver.library_match",),
    headline="The kernel states two versions of the driver",
    remedy=(
        Step("rerun", "Check that the agent sees the host's own /proc and /sys."),
        Step("reboot", "Reboot the node."),
    ),
    references=("NVIDIA driver README, chapter The /proc Interface",),
    confirm=(
        "cat /proc/driver/nvidia/version",
        "cat /sys/module/nvidia/version  # the loaded driver",
    ),
)
def proc_agrees(driver: Driver) -> Findings:
    sys_version, proc_version = need(driver.loaded_version), need(driver.proc_version)
    if sys_version != proc_version:
        yield fail(
            f"/proc/driver/nvidia/version says {proc_version}, /sys/module/nvidia/version says {sys_version}",
            code="differs",
            found=proc_version,
            wanted=sys_version,
        )
