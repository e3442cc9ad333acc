"""Automatic upgrades are on and nothing holds the driver: the next one replaces its libraries while jobs run.

The old kernel module stays loaded, so every new GPU container then fails with "Driver/library version mismatch" until the host
reboots, often days after the upgrade. On RHEL 8 and 9 an enabled module stream of one branch holds the packages of that stream.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, skip
from hostagent.domains.driver.owned import image_of
from hostagent.domains.packages.commands import hold, moves
from hostagent.domains.packages.tables.names import DRIVER_MODULE, driver_part
from hostagent.facts.os import Os
from hostagent.facts.packages import Package, Packages
from hostagent.facts.platform import Platform

#: What is not in the dnf module of the driver, so that a stream does not hold it.
_OUTSIDE_THE_MODULE = ("fabric manager", "IMEX", "NSCQ", "NVSDM")


@check(
    title="The driver's packages are held at their version",
    severity="warning",
    since="0.1",
    because=("driver.package_set_equal",),
    headline="Packages of the driver are not held at their version",
    remedy=(Step("configure", "Hold the driver's packages at their version."),),
    references=("NVIDIA Driver Installation Guide, section Version Locking", "apt-mark(8)"),
    confirm=(
        "apt-mark showhold  # Debian, Ubuntu",
        "dnf versionlock list  # RHEL",
        "zypper locks  # SUSE",
    ),
)
def package_held(packages: Packages, os: Os | Unread, platform: Platform) -> Findings:
    ours = [one for one in need(packages.installed) if driver_part(one.name)]
    if not ours:
        skip("no package of the driver is installed")
    streams = dict(need(packages.module_streams)) if need(packages.manager) == "rpm" else {}
    stream_holds = streams.get(DRIVER_MODULE, "")[:1].isdigit()
    free = [one.name for one in ours if not one.held and not (stream_holds and _in_stream(one))]
    if free:
        if owner := image_of(platform, platform.driver):
            skip(f"{owner} provides the driver, and replaces it with the image")
        if len(free) == len(ours) and not any(moves(packages, one) for one in ours):
            skip("none is held, and no automatic upgrade replaces them")
        found = f"{first_of(free)} not held"
        code = "not-held" if len(free) == len(ours) else "partial"
        steps = (Step("configure", "Hold the driver's packages at their version.", hold(packages, os, free)),)
        text = f"{found} at their version"
        yield fail(text, code=code, found=found, wanted="all held", remedy=steps)


def _in_stream(package: Package) -> bool:
    return driver_part(package.name) not in _OUTSIDE_THE_MODULE
