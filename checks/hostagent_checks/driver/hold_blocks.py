"""A hold, pin or version lock keeps the driver or the toolkit at a version that the profile does not accept.

Installing the wanted version then stops with "you have held broken packages" or "Held packages were changed", or quietly installs
the pinned one. It is usually left from an earlier branch.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need
from hostagent.core.tables.platforms import HOSTS_OWN
from hostagent.domains.packages.commands import unhold
from hostagent.domains.packages.tables.names import TOOLKIT_PACKAGES, driver_part, names_driver
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages, VersionLock, names
from hostagent.facts.version import admits, branch, satisfies, upstream
from hostagent.profile import Profile

_INSTALL = Step("install", "Install a version that the profile accepts.")


@check(
    title="No hold or pin keeps a version that the profile does not accept",
    severity="warning",
    since="0.1",
    because=("driver.version",),
    headline="A hold or pin keeps a version that the profile does not accept",
    remedy=(
        Step("install", "Release the named packages, or remove the named lock."),
        Step("install", "Install a version that the profile accepts."),
    ),
    references=("apt_preferences(5)", "NVIDIA ansible-role-nvidia-driver issues 11, 28, 33"),
    confirm=(
        "apt-mark showhold  # Debian, Ubuntu",
        "dnf versionlock list  # RHEL",
        "zypper locks  # SUSE",
        "apt-cache policy <package>",
    ),
)
def hold_blocks(packages: Packages, os: Os | Unread, profile: Profile) -> Findings:
    for lock in need(packages.locks):
        if (wanted := _wanted(lock, profile)) and not admits(_prefix(lock), wanted):
            found = f"{lock.package} at {lock.version}"
            steps = (Step("configure", f"Remove the lock of {lock.package} from {lock.file}."), _INSTALL)
            text = f"{lock.file} keeps {found}, the profile asks for {wanted}"
            yield fail(text, code="pinned-elsewhere", found=found, wanted=wanted, remedy=steps)
    held: dict[tuple[str, str], list[str]] = {}
    for one in need(packages.installed):
        wanted = _wanted_of(one.name, profile)
        if wanted and one.held and not satisfies(need(one.upstream), wanted):
            held.setdefault((need(one.upstream), wanted), []).append(one.name)
    for (version, wanted), found_names in held.items():
        count = f"{len(found_names)} packages are" if len(found_names) > 1 else f"{found_names[0]} is"
        steps = (Step("install", "Release the packages.", unhold(packages, os, found_names)), _INSTALL)
        evidence = tuple(found_names)
        yield fail(f"{count} held at {version}", code="held-elsewhere", found=version, wanted=wanted, evidence=evidence, remedy=steps)


def _wanted_of(name: str, profile: Profile) -> str:
    """The constraint on a package of the host's; "" where a container owns what it belongs to."""
    if name in TOOLKIT_PACKAGES:
        return profile.toolkit.version if profile.toolkit.owner in HOSTS_OWN else ""
    return profile.driver.version if driver_part(name) and profile.driver.owner in HOSTS_OWN else ""


def _wanted(lock: VersionLock, profile: Profile) -> str:
    """The constraint on what a lock names; driver versions begin with three digits and toolkit versions
    do not, so a lock on "*" is sorted by its version.
    """
    prefix = _prefix(lock)
    if not prefix:
        return ""
    if len(branch(prefix)) == 3:
        return profile.driver.version if names_driver(lock.package) and profile.driver.owner in HOSTS_OWN else ""
    if profile.toolkit.owner not in HOSTS_OWN:
        return ""
    return profile.toolkit.version if any(names(lock.package, name) for name in TOOLKIT_PACKAGES) else ""


def _prefix(lock: VersionLock) -> str:
    """What every version that the lock takes begins with, as NVIDIA writes versions; "" when that is anything."""
    prefix = upstream(lock.version)
    return "" if isinstance(prefix, Unread) else prefix
