"""NVML, the library through which every tool asks about GPUs, does not start.

`nvidia-smi`, the device plugin and the container toolkit fail the same way. The finding carries NVML's own error number.
Where the module is loaded and NVML cannot be asked, nothing is known of the GPUs' health, and the check says so.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.unread import Unread
from hostagent.knowledge.driver import nvml_meaning, nvml_name
from hostagent.profile import Profile


@check(
    title="NVML starts",
    severity="critical",
    since="0.1",
    remedy="Read the kernel log ('journalctl -k -b -g NVRM') and the other driver findings; if none explains it, reboot the host.",
    references=("nvml.h, nvmlReturn_t",),
)
def nvml_initialises(driver: Driver, profile: Profile) -> Findings:
    if profile.nvml == "optional" and isinstance(driver.nvml_error_code, Unread):
        skip("the profile makes NVML optional")
    code = driver.nvml_error_code
    if isinstance(code, Unread) and code.why == "absent" and need(driver.loaded):
        need(Unread("error", f"NVML could not be asked: {code.detail}", code.question))
    number = need(code)
    if number:
        yield fail(f"NVML error {number}: {nvml_meaning(number)}", code=nvml_name(number), found=number, wanted=0)
