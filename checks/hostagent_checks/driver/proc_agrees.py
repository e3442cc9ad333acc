"""The kernel reports two versions of the loaded module: what was read from this host cannot be trusted.

/sys and /proc take the version from one module. When they differ, one of them is not this kernel's: a stale bind mount in a
container, or a snapshot of two moments.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.driver import Driver


@check(
    title="/proc and /sys report the same driver version",
    severity="warning",
    since="0.1",
    because=("driver.library_match",),
    headline="/proc and /sys report different driver versions",
    remedy=(
        Step("rerun", "Run hostagent where it sees the host's own /proc and /sys."),
        Step("reboot", "Reboot the node.", if_back=True),
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
            f"/proc/driver/nvidia/version is {proc_version}, but /sys/module/nvidia/version is {sys_version}",
            code="differs",
            found=proc_version,
            wanted=sys_version,
        )
