"""The driver is another version than the profile asks for: jobs built for that one may not start.

What counts is the driver that is there: the loaded module, else the kernel's module on disk, else the libraries, else the packages. The
finding says which.
"""

from typing import NamedTuple

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip, then
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.packages.commands import unhold
from hostagent.domains.packages.tables.names import driver_part, is_driver_version
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.version import satisfies, upstream
from hostagent.profile import Profile

_SONAMES = ("libcuda.so.1", "libnvidia-ml.so.1")
#: Parts whose packages always have the driver's version.
_PARTS = ("kernel module", "library", "driver")


class There(NamedTuple):
    version: str
    where: str  # "loaded", or where it lies


@check(
    title="The driver is the version that the profile asks for",
    severity="critical",
    since="0.1",
    because=("gpu.present:none",),
    headline="The driver is {found}, the profile asks for {wanted}",
    remedy=(
        Step("configure", "If this driver is right, use the profile 'any', or set driver.version in your own."),
        Step("install", "If not, install a driver that the profile accepts."),
        REBOOT,
    ),
    references=("NVIDIA Driver Installation Guide, section Version Locking",),
    confirm=(
        "cat /sys/module/nvidia/version  # the loaded driver",
        "modinfo -F version nvidia  # the module on disk",
    ),
)
def version(driver: Driver, kernel: Kernel, packages: Packages, os: Os | Unread, profile: Profile) -> Findings:
    there = _driver_there(driver, kernel, packages)
    found = need(upstream(there.version))
    if not satisfies(found, profile.driver.version):
        wanted = profile.driver.version
        text = f"driver {found} ({there.where}), the profile asks for {wanted}"
        yield fail(text, code="other-version", found=found, wanted=wanted, remedy=_steps(found, packages, os, wanted))


def _steps(found: str, packages: Packages, os: Os | Unread, wanted: str) -> tuple[Step, ...]:
    """What is held is released first."""
    installed = () if isinstance(packages.installed, Unread) else packages.installed
    held = [one.name for one in installed if one.held is True and driver_part(one.name)]
    keep = Step("configure", f"If {found} is right, use the profile 'any', or set driver.version in your own.")
    release = (Step("install", "If not, release the held packages.", unhold(packages, os, held)),) if held else ()
    return (keep, *release, Step("install", f"{'Then' if held else 'If not,'} install driver {wanted}."), REBOOT)


def _driver_there(driver: Driver, kernel: Kernel, packages: Packages) -> There:
    """The first of these; the check does not apply where none is. What cannot be read is not passed over."""
    if not _is_none(driver.loaded_version):
        return There(need(driver.loaded_version), "loaded")
    release = kernel.release
    on_disk = then(kernel.at(release), lambda one: one.nvidia_version)
    if not _is_none(on_disk):
        return There(need(on_disk), f"the module of kernel {need(release)} on disk")
    for library in need(driver.libraries):
        if library.soname in _SONAMES and library.version and not need(library.fault):
            return There(library.version, f"the library {library.path}")
    parts = [one for one in need(packages.installed) if driver_part(one.name) in _PARTS and is_driver_version(need(one.upstream))]
    versions = [need(one.upstream) for one in parts]
    if versions:
        version = max(sorted(set(versions)), key=versions.count)
        return There(version, f"the package {next(one.name for one in parts if one.upstream == version)}")
    return skip("the host has no driver: neither a module nor a library nor a package")


def _is_none(value: object) -> bool:
    return isinstance(value, Unread) and value.why in NOT_APPLICABLE
