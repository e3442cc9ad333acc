"""The kernel module is open and the profile asks for the proprietary one, or the other way round."""

from hostagent.check import Findings, Step, check, fail, skip
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.profile import Profile

from ._module import module_flavour


@check(
    title="The kernel module is of the flavour the profile wants",
    severity="critical",
    since="0.1",
    headline="The kernel module is {found}, the profile wants {wanted}",
    remedy=(
        Step("install", "Replace the packages of the kernel module by those of the other flavour."),
        Step("reboot", "Reboot the node."),
    ),
    references=("NVIDIA Driver Installation Guide, section Kernel Modules",),
    confirm=(
        "modinfo -F license nvidia  # 'Dual MIT/GPL' is open, 'NVIDIA' is proprietary",
        "cat /proc/driver/nvidia/version",
    ),
)
def flavour(driver: Driver, kernel: Kernel, profile: Profile) -> Findings:
    wanted = profile.driver.flavour
    if wanted == "any":
        skip("the profile takes any flavour")
    found = module_flavour(driver, kernel)
    if found != wanted:
        yield fail(f"the kernel module is {found}, profile wants {wanted}", code="other-flavour", found=found, wanted=wanted)
