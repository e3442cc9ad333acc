"""The driver is older than the first release of its branch that holds the fixes of NVIDIA's newest known security bulletin.

Anybody who can open the driver's device nodes, a container with a GPU included, can use those faults. The newest
bulletin that this release of hostagent knows is named in the finding: a later one may have raised the floor again.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.version import branch, compare_deb, upstream
from hostagent.knowledge.driver import floor

from ._module import module_version


@check(
    title="The driver holds the fixes of the known security bulletins",
    severity="warning",
    axis="security",
    since="0.1",
    headline="Driver {found} lacks security fixes of its branch ({wanted})",
    remedy=(
        Step("install", "Upgrade the driver to the wanted version or a later one of the branch."),
        Step("reboot", "Reboot the node."),
    ),
    references=("NVIDIA security bulletins for the GPU display driver: 5703, 5747, 5821, 5861",),
    confirm=("cat /sys/module/nvidia/version  # the loaded driver",),
)
def security_floor(driver: Driver, kernel: Kernel) -> Findings:
    version = need(upstream(module_version(driver, kernel)))
    known = floor(branch(version))
    if known is None:
        skip(f"no bulletin that this release knows names branch {branch(version)}")
    elif compare_deb(version, known.version) < 0:
        yield fail(
            f"driver {version} is below the security floor {known.version} of branch {known.branch}",
            code="below-floor",
            found=version,
            wanted=f">= {known.version}",
            evidence=(f"bulletin {known.bulletin} of {known.date}",),
        )
