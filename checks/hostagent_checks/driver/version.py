"""The loaded driver is of another version than the profile wants: jobs built against it may not start.

Without a loaded module there is no version to judge: `driver.loaded` says so.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.driver import Driver
from hostagent.facts.version import satisfies, upstream
from hostagent.profile import Profile


@check(
    title="The loaded driver is of the version the profile wants",
    severity="critical",
    since="0.1",
    remedy="Install the wanted driver from the origin the host already uses, then reboot; "
    "or judge by the profile 'any', which takes every version.",
    references=("NVIDIA Driver Installation Guide, section Version Locking",),
)
def version(driver: Driver, profile: Profile) -> Findings:
    loaded = need(upstream(need(driver.loaded_version)))
    if not satisfies(loaded, profile.driver.version):
        yield fail(
            f"driver {loaded}, profile wants {profile.driver.version}", code="other-version", found=loaded, wanted=profile.driver.version
        )
