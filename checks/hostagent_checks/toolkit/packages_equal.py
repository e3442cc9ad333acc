"""The toolkit's packages have different versions: one of them was upgraded alone.

The hook, the command-line tool and the library are built and tested together and talk to each other without a stable
interface. This comes about when only some of the four names are given a version or a pin.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.toolkit import Toolkit


@check(
    title="The toolkit's packages are of one version",
    severity="critical",
    since="0.1",
    headline="The toolkit's packages are not of one version",
    remedy=(Step("install", "Install all four packages in one transaction: name each of them with the version."),),
    references=("NVIDIA Container Toolkit, packaging: dependencies between its packages",),
    confirm=(
        "dpkg -l '*nvidia-container*'  # Debian, Ubuntu",
        "rpm -qa '*nvidia-container*'  # RHEL, SUSE",
    ),
)
def packages_equal(toolkit: Toolkit) -> Findings:
    packages = need(toolkit.packages)
    if len(packages) < 2:
        skip("fewer than two of the toolkit's packages are installed")
    versions = {one.name: need(one.upstream) for one in packages}
    if len(set(versions.values())) > 1:
        found = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
        yield fail("the toolkit's packages differ in version", code="differ", found=found, wanted="one version")
