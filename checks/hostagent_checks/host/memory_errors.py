"""The host's memory had an uncorrected error since the boot: what was in it is lost, and the process that used it was killed or is wrong.

Linux ends the process that reads the place, and takes its page out of use; where the kernel itself uses it, the host stops. A module
that failed once fails again, mostly under a job that fills the memory. EDAC counts the errors of each module; a reload of its driver
begins at zero. Corrected errors alone, in any number, cost no job and are not judged. Virtual machines, and boards for which the kernel
has no driver of EDAC, have no such counters.
"""

from hostagent.check import Findings, Step, check, counted, fail, first_of, need
from hostagent.facts.host import MemoryErrors

_SEL = Step("drain_and_inspect", "Read which module the board's own log names.", "ipmitool sel list")


@check(
    title="The host's memory had no uncorrected error since the boot",
    severity="warning",
    since="0.1",
    headline="The host's memory had an uncorrected error",
    remedy=(
        Step("drain_and_inspect", "Drain the node: jobs here may be killed, or compute wrong results."),
        Step("replace", "Replace the memory module."),
    ),
    references=("Linux kernel, Documentation/ABI/testing/sysfs-devices-edac",),
    confirm=(
        "grep -H . /sys/devices/system/edac/mc/mc*/ue_count /sys/devices/system/edac/mc/mc*/dimm*/dimm_ue_count",
        "grep -H . /sys/devices/system/edac/mc/mc*/dimm*/dimm_label",
    ),
)
def memory_errors(errors: MemoryErrors) -> Findings:
    modules, unplaced = need(errors.modules), need(errors.unplaced)
    total = sum(one.uncorrected for one in modules) + unplaced
    if not total:
        return
    labels = tuple(one.label for one in modules)
    named = f" ({labels[0]})" if len(labels) == 1 else ""
    where = f" in {first_of(labels)}" if labels else ", in a module that EDAC does not name"
    module = f"Replace the memory module {labels[0]}." if len(labels) == 1 else "Replace the memory modules that have errors."
    yield fail(
        f"{counted(total, 'uncorrected error')} of the host's memory since the boot{where}",
        code="uncorrected",
        found=f"{total}",
        wanted="0",
        headline=f"The host's memory{named} had an uncorrected error",
        remedy=(
            Step("drain_and_inspect", "Drain the node: jobs here may be killed, or compute wrong results."),
            *((_SEL,) if need(errors.ipmitool) else ()),
            Step("replace", module),
        ),
    )
