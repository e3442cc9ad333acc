"""No NVIDIA kernel module is live: nothing on this host can use a GPU, whatever is installed."""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.driver import Driver


@check(
    title="The NVIDIA kernel module is loaded",
    severity="critical",
    order=39,  # before the driver's other findings, which may follow from it
    since="0.1",
    remedy="Load it with 'modprobe nvidia'; if that fails, the kernel log and the kernel.* findings say why.",
    references=("Linux kernel, Documentation/ABI/testing/sysfs-module",),
)
def loaded(driver: Driver) -> Findings:
    if not need(driver.loaded):
        yield fail("the nvidia module is not loaded", code="not-loaded", found="not loaded", wanted="live")
