"""The kernel module has another flavour (open or proprietary) than the profile asks for."""

from hostagent.check import Findings, Step, check, fail, skip
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.profile import Profile

from ._module import module_flavour


@check(
    title="The kernel module has the flavour that the profile asks for",
    severity="critical",
    since="0.1",
    headline="The kernel module is {found}, the profile asks for {wanted}",
    remedy=(
        Step("install", "Replace the kernel module's packages with those of the other flavour."),
        REBOOT,
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
        skip("the profile accepts any flavour")
    found = module_flavour(driver, kernel)
    if found != wanted:
        steps = (Step("install", f"Replace the kernel module's packages with the {wanted} ones."), REBOOT)
        text = f"the kernel module is {found}, the profile asks for {wanted}"
        yield fail(text, code="other-flavour", found=found, wanted=wanted, remedy=steps)
