"""The driver is older than the first release of its branch that holds the fixes of NVIDIA's newest known security bulletin.

Anybody who can open the driver's device nodes, a container with a GPU included, can use those faults. The finding names
the newest bulletin that this release of hostagent knows; a later one may have raised the floor again.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip, then
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.tables.releases import Floor, floor, has_fixes
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.version import branch, upstream

from ._module import module_version


@check(
    title="The driver has the fixes of NVIDIA's known security bulletins",
    severity="warning",
    axis="security",
    since="0.1",
    headline="Driver {found} lacks known security fixes",
    remedy=(
        Step("install", "Upgrade the driver within its branch."),
        REBOOT,
    ),
    references=("NVIDIA security bulletins for the GPU display driver: 5703, 5747, 5821, 5861",),
    confirm=("cat /sys/module/nvidia/version  # the loaded driver",),
)
def security_floor(driver: Driver, kernel: Kernel) -> Findings:
    version = need(upstream(module_version(driver, kernel)))
    known = floor(branch(version))
    if known is None:
        skip(f"no known security bulletin names branch {branch(version)}")
    elif not has_fixes(known, version):
        yield fail(
            f"driver {version} lacks security fixes that branch {known.branch} has from {known.version} on",
            code="below-floor",
            found=version,
            wanted=f">= {known.version}",
            evidence=(f"bulletin {known.bulletin} of {known.date}",),
            headline=f"Driver {version} lacks the security fixes of {known.version}",
            remedy=_steps(kernel, known),
        )


def _steps(kernel: Kernel, known: Floor) -> tuple[Step, ...]:
    """What is on disk already waits for a reboot alone."""
    on_disk = then(then(kernel.at(kernel.release), lambda one: one.nvidia_version), upstream)
    if not isinstance(on_disk, Unread) and branch(on_disk) == known.branch and has_fixes(known, on_disk):
        return (Step("reboot", f"Reboot the node: driver {on_disk} is installed and has the fixes."),)
    return (Step("install", f"Upgrade the driver to {known.version} or a later release of branch {known.branch}."), REBOOT)
