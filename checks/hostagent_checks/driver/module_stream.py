"""The enabled dnf stream belongs to another driver branch than the profile asks for, follows the newest branch, or none is chosen.

On RHEL 8 and 9 and Amazon Linux 2023 the driver is a dnf module. Without a chosen stream dnf takes the default, which is the newest
branch; an installation or upgrade then leaves the branch that jobs were tested with.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.derived.owned import image_of
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.facts.version import admits
from hostagent.knowledge.packages import DRIVER_MODULE, driver_part
from hostagent.profile import Profile


@check(
    title="The enabled dnf stream of the driver is of the branch the profile wants",
    severity="warning",
    since="0.1",
    because=("driver.version",),
    headline="dnf's enabled stream of the driver is {found}, the profile wants {wanted}",
    remedy=(
        Step(
            "install",
            "Reset the stream, enable the wanted one (or <branch>-dkms), then install.",
            command="dnf module reset nvidia-driver && dnf module enable nvidia-driver:<branch>-open",
        ),
    ),
    references=("NVIDIA Driver Installation Guide, section Red Hat Enterprise Linux, Modularity",),
    confirm=("dnf module list --enabled nvidia-driver",),
)
def module_stream(packages: Packages, os: Os, platform: Platform, profile: Profile) -> Findings:
    stream = dict(need(packages.module_streams)).get(DRIVER_MODULE, "")
    if not stream:
        if not _has_modules(need(os.id), need(os.version_id)):
            skip("this distribution has no module of the driver")
        if owner := image_of(platform, platform.driver):
            skip(f"{owner} brings the driver in its own way")
        if not any(driver_part(one.name) and need(one.origin) == "cuda" for one in need(packages.installed)):
            skip("no package of the driver is installed from NVIDIA's repository")
        yield fail(
            "no stream of the driver is enabled", code="none", found="none: dnf takes the newest branch", wanted=profile.driver.version
        )
    elif not stream[:1].isdigit():
        yield fail("the stream follows the newest branch", code="newest", found=stream, wanted=f"a stream of {profile.driver.version}")
    elif not admits(stream.partition("-")[0], profile.driver.version):
        yield fail("the stream is of another branch", code="other-branch", found=stream, wanted=f"a stream of {profile.driver.version}")


def _has_modules(distribution: str, version: str) -> bool:
    el = distribution in ("rhel", "rocky", "almalinux", "centos", "ol")
    return (el and version.partition(".")[0] in ("8", "9")) or (distribution == "amzn" and version == "2023")
