"""IMEX has another version than the loaded driver: the daemon does not start, or its peers refuse it."""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.driver import Driver
from hostagent.facts.packages import Packages
from hostagent.knowledge.fabric import IMEX_PACKAGES
from hostagent.profile import Profile

from ._imex import skip_unless_required
from ._packages import named


@check(
    title="IMEX has the driver's version",
    severity="critical",
    scope="fabric",
    since="0.1",
    headline="IMEX is {found}, the driver is {wanted}",
    remedy=(Step("install", "Install nvidia-imex in exactly the driver's version on every node of the rack, and hold it."),),
    references=("NVIDIA IMEX Service Guide, section Installation",),
    confirm=(
        "nvidia-imex --version",
        "cat /sys/module/nvidia/version  # the loaded driver",
    ),
)
def imex_version(packages: Packages, driver: Driver, profile: Profile) -> Findings:
    skip_unless_required(profile)
    found = named(need(packages.installed), IMEX_PACKAGES)
    if not found:
        yield fail("nvidia-imex is not installed", code="missing", found="not installed", wanted="nvidia-imex")
        return
    loaded = need(driver.loaded_version)
    for package in found:
        if package.upstream != loaded:
            yield fail(f"{package.name} {package.upstream}, driver {loaded}", code="other-version", found=package.upstream, wanted=loaded)
