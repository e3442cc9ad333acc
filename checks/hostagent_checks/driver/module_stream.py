"""The enabled dnf stream is of another driver branch than the profile asks for, or follows the newest branch, or none is chosen.

On RHEL 8 and 9 and Amazon Linux 2023 the driver is a dnf module. Without a chosen stream dnf takes the default, which is the newest
branch; an installation or upgrade then leaves the branch that jobs were tested with.
"""

import re

from hostagent.check import Findings, Step, check, fail, need, shell, skip
from hostagent.domains.driver.owned import image_of
from hostagent.domains.packages.tables.names import DRIVER_MODULE, driver_part, has_module_streams
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.facts.version import admits
from hostagent.profile import Profile


@check(
    title="dnf's enabled driver stream is the branch that the profile asks for",
    severity="warning",
    since="0.1",
    because=("driver.version",),
    headline="dnf's enabled driver stream is not the branch that the profile asks for",
    remedy=(
        Step("install", "Enable the stream of the profile's branch.", command="dnf module switch-to nvidia-driver:<branch>-<flavour>"),
    ),
    references=("NVIDIA Driver Installation Guide, section Red Hat Enterprise Linux, Modularity",),
    confirm=("dnf module list --enabled nvidia-driver",),
)
def module_stream(packages: Packages, os: Os, platform: Platform, profile: Profile) -> Findings:
    stream = dict(need(packages.module_streams)).get(DRIVER_MODULE, "")
    if not stream:
        if not has_module_streams(need(os.id), need(os.version_id)):
            skip("this distribution has no dnf module of the driver")
        if owner := image_of(platform, platform.driver):
            skip(f"{owner} provides the driver in its own way")
        if not any(driver_part(one.name) and need(one.origin) == "cuda" for one in need(packages.installed)):
            skip("no package of the driver is installed from NVIDIA's repository")
        text = "no stream of the driver is enabled, so dnf takes the newest branch"
        yield fail(text, code="none", found="none", wanted=profile.driver.version, remedy=_steps(stream, profile))
    elif not stream[:1].isdigit():
        text, wanted = f"the stream {stream} follows the newest branch", f"a stream of {profile.driver.version}"
        yield fail(text, code="newest", found=stream, wanted=wanted, remedy=_steps(stream, profile))
    elif not admits(stream.partition("-")[0], profile.driver.version):
        text, wanted = f"the stream {stream} is another branch than {profile.driver.version}", f"a stream of {profile.driver.version}"
        yield fail(text, code="other-branch", found=stream, wanted=wanted, remedy=_steps(stream, profile))


def _steps(stream: str, profile: Profile) -> tuple[Step, ...]:
    """Streams are called 580-open and 580-dkms; () where the profile names no branch."""
    named = re.search(r"\d{3}", profile.driver.version)
    if not named:
        return ()
    is_proprietary = profile.driver.flavour == "proprietary" or (stream.endswith("-dkms") and "open" not in stream)
    wanted = f"{named[0]}-{'dkms' if is_proprietary else 'open'}"
    if not stream:
        return (Step("install", f"Enable the stream {wanted}.", shell("dnf module enable {}", f"{DRIVER_MODULE}:{wanted}")),)
    return (Step("install", f"Switch to the stream {wanted}.", shell("dnf module switch-to {}", f"{DRIVER_MODULE}:{wanted}")),)
