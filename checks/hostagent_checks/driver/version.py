"""The driver has a version that the profile does not accept: jobs may not start.

The check looks at the loaded module, else at the kernel's module on disk, else at the libraries, else at the packages. The
finding says which.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.packages import Packages
from hostagent.facts.unread import NOT_APPLICABLE, Unread, then
from hostagent.facts.version import satisfies, upstream
from hostagent.knowledge.packages import driver_part, is_driver_version
from hostagent.profile import Profile

_SONAMES = ("libcuda.so.1", "libnvidia-ml.so.1")
#: Parts whose packages always have the driver's version.
_PARTS = ("kernel module", "library", "driver")


class There(NamedTuple):
    version: str
    where: str  # "loaded", or where it lies


@check(
    title="The driver is of the version the profile wants",
    severity="critical",
    since="0.1",
    headline="The driver is {found}, the profile wants {wanted}",
    remedy=(
        Step(
            "install",
            "Install the wanted driver from the origin that the host already uses; or use the profile 'any', which takes every version.",
        ),
        Step("reboot", "Reboot the node."),
    ),
    references=("NVIDIA Driver Installation Guide, section Version Locking",),
    confirm=(
        "cat /sys/module/nvidia/version  # the loaded driver",
        "modinfo -F version nvidia  # the module on disk",
    ),
)
def version(driver: Driver, kernel: Kernel, packages: Packages, profile: Profile) -> Findings:
    there = _driver_there(driver, kernel, packages)
    found = need(upstream(there.version))
    if not satisfies(found, profile.driver.version):
        wanted = profile.driver.version
        yield fail(f"driver {found} ({there.where}), profile wants {wanted}", code="other-version", found=found, wanted=wanted)


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
    return skip("the host has no driver: no module, no library, no package")


def _is_none(value: object) -> bool:
    return isinstance(value, Unread) and value.why in NOT_APPLICABLE
