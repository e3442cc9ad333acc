"""Somebody else owns the driver than the profile says: whoever upgrades this host will upgrade it in the wrong way."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.profile import Profile

_CALLED = {"host": "host", "container": "GPU Operator's driver container"}
_REMEDIES = {
    "container": (
        Step("configure", "If the GPU Operator manages this host, check it with '--profile gpu-operator-26.3'."),
        Step("configure", "If not, remove the driver container and install the driver on the host."),
    ),
    "host": (
        Step("configure", "If the host's packages are right, set 'driver.owner: host' in the profile."),
        Step("configure", "If not, remove them, and let the GPU Operator install its driver container."),
    ),
}


@check(
    title="The driver's owner is the one that the profile names",
    severity="warning",
    part="",
    since="0.1",
    headline="The driver's owner is {found}, the profile says {wanted}",
    remedy=(
        Step("configure", "If the present owner is right, set 'driver.owner' in the profile."),
        Step("configure", "If not, move the driver to the owner that the profile names."),
    ),
    references=("NVIDIA GPU Operator, section Pre-Installed NVIDIA GPU Drivers",),
    confirm=(
        "ls -a /run/nvidia/driver  # a driver container's files",
        "dpkg -l '*nvidia*'  # Debian, Ubuntu",
        "rpm -qa '*nvidia*' | sort  # RHEL, SUSE",
    ),
)
def owner(driver: Driver, profile: Profile) -> Findings:
    wanted = profile.driver.owner
    if wanted in ("provider", "any"):
        skip("the profile leaves the driver to the provider" if wanted == "provider" else "the profile accepts any owner")
    found = "container" if need(driver.container_driver) else "host"
    if found == "host" and wanted == "container" and not need(driver.loaded):
        skip("no driver is loaded, so nobody owns one")
    if found != wanted:
        evidence = need(driver.container_driver_evidence)
        yield fail(
            f"the {_CALLED[found]} owns the driver, the profile names the {_CALLED.get(wanted, wanted)}",
            code=f"owned-by-{found}",
            found=found,
            wanted=wanted,
            evidence=evidence,
            remedy=_REMEDIES[found],
        )
