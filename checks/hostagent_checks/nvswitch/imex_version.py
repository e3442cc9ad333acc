"""IMEX and the loaded driver have different versions: the daemon does not start, or its peers refuse it."""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.core.tables.nvlink_fabric import IMEX_PACKAGES
from hostagent.facts.driver import Driver
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.profile import Profile

from ._imex import other_versions, skip_unless_required
from ._packages import install_at, named


@check(
    title="IMEX has the same version as the driver",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("imex",),
    headline="IMEX is {found}, but driver {wanted} is loaded",
    remedy=(Step("install", "Install nvidia-imex in the driver's version on every node of the rack."),),
    references=("NVIDIA IMEX Service Guide, section Installation",),
    confirm=(
        "nvidia-imex --version",
        "cat /sys/module/nvidia/version  # the loaded driver",
    ),
)
def imex_version(packages: Packages, driver: Driver, os: Os | Unread, profile: Profile) -> Findings:
    skip_unless_required(profile)
    found = named(need(packages.installed), IMEX_PACKAGES)
    if not found:
        loaded = driver.loaded_version
        steps = install_at("nvidia-imex", loaded, packages, os) if not isinstance(loaded, Unread) else ()
        headline = "IMEX is not installed"
        yield fail(
            "nvidia-imex is not installed", code="missing", found="not installed", wanted="nvidia-imex", remedy=steps, headline=headline
        )
        return
    yield from other_versions(packages, need(driver.loaded_version), os)
