"""NVIDIA publishes no driver packages for this distribution or version.

NVIDIA's driver cannot be installed as a package there. Where one of the distribution's own (Arch, Fedora's RPM Fusion, NixOS) or the
.run installer's serves the GPUs now, this does not apply: whoever packages it provides the fixes.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.system.distributions import DISTRIBUTIONS, repository, versions
from hostagent.facts.driver import Driver
from hostagent.facts.os import Os
from hostagent.facts.platform import Platform


@check(
    title="NVIDIA publishes packages for this distribution",
    severity="warning",
    since="0.1",
    headline="NVIDIA publishes no packages for this distribution",
    remedy=(
        Step(
            "contact_owner",
            "Move the node to a distribution that NVIDIA has packages for.",
        ),
    ),
    references=("NVIDIA Driver Installation Guide, supported distributions", "os-release(5)"),
    confirm=("cat /etc/os-release",),
)
def supported(os: Os, platform: Platform, driver: Driver) -> Findings:
    distribution = need(os.id)
    if need(platform.base) == "guest" or (need(platform.base) == "managed" and not versions(distribution)):
        skip(f"{need(platform.name)} provides the driver")
    if not repository(distribution, _version(os)) and _serves(driver):
        skip(f"NVIDIA has no repository for {distribution}, and a driver from elsewhere serves the GPUs")
    if not versions(distribution):
        known = ", ".join(one.id for one in DISTRIBUTIONS)
        yield fail(f"NVIDIA has no packages for {distribution}", code="other-distribution", found=distribution, wanted=known)
        return
    version = need(os.version_id)
    if not repository(distribution, version):
        wanted = ", ".join(versions(distribution))
        yield fail(f"NVIDIA has no packages for {distribution} {version}", code="other-version", found=version, wanted=wanted)


def _version(os: Os) -> str:
    return "" if isinstance(os.version_id, Unread) else os.version_id


def _serves(driver: Driver) -> bool:
    return driver.loaded is True and not isinstance(driver.nvml_error_code, Unread) and driver.nvml_error_code == 0
