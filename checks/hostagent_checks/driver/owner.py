"""The driver has another owner than the profile says: whoever upgrades this host will do it in the wrong way."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.profile import Profile


@check(
    title="The party that the profile names owns the driver",
    severity="warning",
    part="",
    since="0.1",
    headline="The driver's owner is {found}, the profile says {wanted}",
    remedy=(
        Step(
            "configure",
            "If the present owner is meant, use its profile (gpu-operator-26.3: the GPU Operator; default: the host; any: each), or set "
            "'driver.owner' in your own. Otherwise move the driver to its owner.",
        ),
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
        skip("the profile gives the driver to the provider" if wanted == "provider" else "the profile takes any owner")
    found = "container" if need(driver.container_driver) else "host"
    if found == "host" and wanted == "container" and not need(driver.loaded):
        skip("no driver is loaded: nobody owns one")
    if found != wanted:
        evidence = need(driver.container_driver_evidence)
        yield fail(
            f"the {found} owns the driver, profile wants the {wanted}",
            code=f"owned-by-{found}",
            found=found,
            wanted=wanted,
            evidence=evidence,
        )
