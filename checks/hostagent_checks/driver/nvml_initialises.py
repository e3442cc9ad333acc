"""NVML, the library through which every tool asks about GPUs, does not start.

`nvidia-smi`, the device plugin and the container toolkit fail the same way. The finding carries NVML's own error number.
Where the module is loaded and NVML cannot be asked, nothing is known of the GPUs' health, and the check says so.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.tables.releases import nvml_meaning, nvml_name
from hostagent.facts.driver import Driver
from hostagent.profile import Profile


@check(
    title="NVML starts",
    severity="critical",
    since="0.1",
    because=("driver.library_match", "driver.loaded", "driver.library_present"),
    headline="NVML does not start",
    remedy=(
        Step("drain_and_inspect", "Read what the driver logged.", command="journalctl -k -b -g NVRM"),
        REBOOT,
    ),
    references=("nvml.h, nvmlReturn_t",),
    confirm=(
        "nvidia-smi",
        "journalctl -k -g NVRM",
    ),
)
def nvml_initialises(driver: Driver, profile: Profile) -> Findings:
    if profile.nvml == "optional" and isinstance(driver.nvml_error_code, Unread):
        skip("the profile makes NVML optional")
    code = driver.nvml_error_code
    if isinstance(code, Unread) and code.why == "absent" and need(driver.loaded):
        need(Unread("error", f"NVML could not be asked: {code.detail}", code.question))
    number = need(code)
    if number:
        silent = driver.nvml_driver_version if isinstance(driver.nvml_driver_version, Unread) else ""
        yield fail(f"NVML error {number}: {nvml_meaning(number)}", code=nvml_name(number), found=number, wanted=0, about=silent)
