"""The toolkit's packages have different versions: one of them was upgraded alone.

The hook, the command-line tool and the library are built and tested together and talk to each other without a stable
interface. This comes about when only some of the four names are given a version or a pin.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.packages.commands import install
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.toolkit import Toolkit


@check(
    title="All packages of the toolkit have the same version",
    severity="critical",
    since="0.1",
    headline="The toolkit's packages have different versions",
    remedy=(Step("install", "Install all packages of the toolkit in one version."),),
    references=("NVIDIA Container Toolkit, packaging: dependencies between its packages",),
    confirm=(
        "dpkg -l '*nvidia-container*'  # Debian, Ubuntu",
        "rpm -qa '*nvidia-container*'  # RHEL, SUSE",
    ),
)
def packages_equal(toolkit: Toolkit, database: Packages | Unread, os: Os | Unread) -> Findings:
    packages = need(toolkit.packages)
    if len(packages) < 2:
        skip("fewer than two of the toolkit's packages are installed")
    versions = {one.name: need(one.upstream) for one in packages}
    if len(set(versions.values())) > 1:
        found = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
        newest = max(versions.values(), key=lambda one: [int(part) for part in one.replace("~", ".").split(".") if part.isdecimal()])
        steps = (Step("install", f"Install all of them in version {newest}.", install(database, os, sorted(versions), newest)),)
        yield fail(f"the toolkit's packages differ: {found}", code="differ", found=found, wanted="one version", remedy=steps)
