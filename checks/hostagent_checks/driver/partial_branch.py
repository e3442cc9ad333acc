"""The same part of the driver is installed from two branches: an earlier branch was not removed in full.

The left-over libraries or module sources keep their place in the search paths and in DKMS, confuse the package manager, and cause trouble
at the next upgrade or kernel.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, skip
from hostagent.domains.packages.commands import purge
from hostagent.domains.packages.tables.names import driver_part, driver_stem, is_driver_version, several_may_be_installed
from hostagent.facts.os import Os
from hostagent.facts.packages import Package, Packages
from hostagent.facts.version import branch


@check(
    title="Each part of the driver is installed from one branch",
    severity="warning",
    since="0.1",
    because=("driver.package_set_equal",),
    headline="A part of the driver is installed from two branches",
    remedy=(Step("install", "Remove the packages of the branch that is not in use."),),
    references=("NVIDIA Driver Installation Guide, section Removing the Driver",),
    confirm=(
        "dpkg -l '*nvidia*'  # Debian, Ubuntu",
        "rpm -qa '*nvidia*' | sort  # RHEL, SUSE",
    ),
)
def partial_branch(packages: Packages, os: Os | Unread) -> Findings:
    ours = [one for one in need(packages.installed) if driver_part(one.name) and not several_may_be_installed(one.name)]
    if not ours:
        skip("no package of the driver is installed")
    stems: dict[str, list[str]] = {}
    branches: dict[str, set[str]] = {}
    for one in ours:
        if not is_driver_version(need(one.upstream)):
            continue
        stem = driver_stem(one.name)
        stems.setdefault(stem, []).append(f"{one.name} {need(one.upstream)}")
        branches.setdefault(stem, set()).add(branch(need(one.upstream)))
    for stem, found in sorted(stems.items()):
        if len(branches[stem]) > 1:
            shown = first_of(sorted(found))
            steps = _steps(ours, packages, os)
            yield fail(
                f"{stem} is installed from two branches: {shown}", code="two-branches", found=shown, wanted="one branch", remedy=steps
            )


def _steps(ours: list[Package], packages: Packages, os: Os | Unread) -> tuple[Step, ...]:
    """The branch of most packages is the one in use."""
    versions = {one.name: branch(need(one.upstream)) for one in ours if is_driver_version(need(one.upstream))}
    used = max(versions.values(), key=lambda one: (list(versions.values()).count(one), int(one)))
    others = sorted(name for name, version in versions.items() if version != used)
    return (Step("install", f"Remove the packages that are not of branch {used}.", purge(packages, os, others)),)
