"""An NVSwitch logged a fault (SXid) since the host was booted.

After a fatal one the switch, and every GPU on it, must be reset; others are logged and worked around. What came before the driver was
loaded again is over where the driver lists the switch now, and so is what an administrator has cleared (`hostagent events clear`).
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, warn
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.gpu.faults import is_cleared, lost
from hostagent.facts.gpu import GpuEvents
from hostagent.facts.history import History
from hostagent.facts.nvswitch import Fabric

from ._switches import local_switches


@check(
    title="The kernel log of this boot has no NVSwitch fault",
    severity="critical",
    since="0.1",
    headline="An NVSwitch logged a fault: {found}",
    remedy=(
        REBOOT,
        Step("replace", "Have the baseboard serviced.", if_back=True),
    ),
    references=("NVIDIA Fabric Manager User Guide, section NVSwitch SXid Errors",),
    confirm=("journalctl -k -g SXid",),
)
def sxid(events: GpuEvents, fabric: Fabric, history: History | Unread) -> Findings:
    faults = (*lost(history, "sxid"), *need(events.sxids))
    if not faults:
        local_switches(fabric)
    for one in faults:
        if is_cleared(one, events, "sxid"):
            continue
        if one.ended_by and not isinstance(fabric.driver_nvswitches, Unread) and one.pci in fabric.driver_nvswitches:
            continue
        fatal = ", Fatal" in one.line
        times = f", {one.count} times" if one.count > 1 else ""
        report = fail if fatal else warn
        yield report(
            f"{'fatal' if fatal else 'non-fatal'} SXid {one.code}{times}",
            code="fatal" if fatal else "non-fatal",
            found=f"SXid {one.code}",
            wanted="none",
            evidence=(one.line,),
            about=one.pci,
        )
