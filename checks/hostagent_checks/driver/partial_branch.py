"""The same part of the driver is installed from two branches: an earlier branch was not removed in full.

The old libraries or module sources stay in the search paths and in DKMS, block the package manager, and cause faults at the
next upgrade or kernel.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.packages import Packages
from hostagent.facts.version import branch
from hostagent.knowledge.packages import driver_part, driver_stem, is_driver_version, several_may_be_installed


@check(
    title="Each part of the driver is installed from one branch",
    severity="warning",
    since="0.1",
    because=("driver.package_set_equal",),
    headline="A part of the driver is installed from two branches",
    remedy=(Step("install", "Purge the packages of the branch that is not wanted: 'apt-get purge <package>' or 'dnf remove <package>'."),),
    references=("NVIDIA Driver Installation Guide, section Removing the Driver",),
    confirm=(
        "dpkg -l '*nvidia*'  # Debian, Ubuntu",
        "rpm -qa '*nvidia*' | sort  # RHEL, SUSE",
    ),
)
def partial_branch(packages: Packages) -> Findings:
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
            shown = ", ".join(sorted(found))
            yield fail(f"{stem} is installed from two branches", code="two-branches", found=shown, wanted="one branch")
