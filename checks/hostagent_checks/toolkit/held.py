"""Automatic upgrades are on and nothing holds the toolkit, or only some of its packages are held.

An upgrade then replaces the program that starts every GPU container while jobs run. With only some of the four pinned,
the next install or upgrade stops with "Depends: nvidia-container-toolkit-base (= …) but … is to be installed".
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.driver.owned import image_of
from hostagent.domains.packages.commands import hold, moves
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.facts.toolkit import Toolkit


@check(
    title="The toolkit's packages are held at their version",
    severity="warning",
    since="0.1",
    headline="The toolkit's packages are not all held at their version",
    remedy=(Step("configure", "Hold all packages of the toolkit at their version."),),
    references=("apt-mark(8), apt_preferences(5)", "DNF versionlock plugin"),
    confirm=(
        "apt-mark showhold  # Debian, Ubuntu",
        "dnf versionlock list  # RHEL",
        "zypper locks  # SUSE",
    ),
)
def held(toolkit: Toolkit, packages: Packages, platform: Platform, os: Os | Unread) -> Findings:
    installed = need(toolkit.packages)
    if not installed:
        skip("no package of the toolkit is installed")
    free = sorted(one.name for one in installed if not one.held)
    if free and (owner := image_of(platform, platform.toolkit)):
        skip(f"{owner} provides the toolkit, and replaces it with the image")
    steps = (Step("configure", "Hold all packages of the toolkit at their version.", hold(packages, os, free)),)
    if len(free) == len(installed):
        if not any(moves(packages, one) for one in installed):
            skip("none is held, and no automatic upgrade replaces them")
        yield fail("no package of the toolkit is held", code="not-held", found="none held", wanted="all held", remedy=steps)
    elif free:
        text, found = f"{', '.join(free)} not held, although other packages of the toolkit are", f"{', '.join(free)} not held"
        yield fail(text, code="partial", found=found, wanted="all held", remedy=steps)
