"""The driver is of another version than the profile wants: jobs built against it may not start.

Judged is the driver that is there: the loaded module, else the kernel's module on disk, else the libraries, else the packages. The
finding says which.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.packages import Packages
from hostagent.facts.version import satisfies, upstream
from hostagent.profile import Profile

from ._there import driver_there


@check(
    title="The driver is of the version the profile wants",
    severity="critical",
    since="0.1",
    remedy="Install the wanted driver from the origin the host already uses, then reboot; "
    "or judge by the profile 'any', which takes every version.",
    references=("NVIDIA Driver Installation Guide, section Version Locking",),
)
def version(driver: Driver, kernel: Kernel, packages: Packages, profile: Profile) -> Findings:
    there = driver_there(driver, kernel, packages)
    found = need(upstream(there.version))
    if not satisfies(found, profile.driver.version):
        wanted = profile.driver.version
        yield fail(f"driver {found} ({there.where}), profile wants {wanted}", code="other-version", found=found, wanted=wanted)
