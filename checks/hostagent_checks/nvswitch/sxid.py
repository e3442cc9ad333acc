"""An NVSwitch logged a fault (SXid) since the host was booted.

After a fatal one the switch, and every GPU on it, must be reset. NVIDIA's table says what one that is not fatal does. Some stop the
traffic until GPUs and switches are reset, and fail too; some end the job on a link, which is started again; what the hardware corrected
is worth knowing. docs/xids.md has all codes. The records "Severity …" and "Data {…}" that follow an SXid are part of it.

What came before the driver was loaded again is over where the driver lists the switch now, and so is what an administrator has cleared
(`hostagent events clear`).
"""

from hostagent.check import Finding, Findings, Unread, check, fail, first_of, need, warn
from hostagent.domains.gpu.faults import is_cleared, lost
from hostagent.domains.gpu.sxid_readings import SxidReading, read_sxid
from hostagent.domains.gpu.tables.sxids import BY_LINE
from hostagent.facts.gpu import GpuEvents, Xid
from hostagent.facts.history import History
from hostagent.facts.nvswitch import Fabric

from ._switches import local_switches

_MOST = 8


@check(
    title="The kernel log of this boot has no NVSwitch fault",
    severity="critical",
    since="0.1",
    headline="An NVSwitch logged a fault: {found}",
    remedy=BY_LINE,
    references=("NVIDIA Fabric Manager User Guide, section NVSwitch SXid Errors",),
    confirm=("journalctl -k -g SXid",),
)
def sxid(events: GpuEvents, fabric: Fabric, history: History | Unread) -> Findings:
    faults = (*lost(history, "sxid"), *need(events.sxids))
    if not faults:
        local_switches(fabric)
    readings = [(one, read_sxid(one)) for one in faults if not is_cleared(one, events, "sxid") and not _is_over(one, fabric)]
    for one, reading in readings:
        if reading.weight != "none":
            yield _describe(one, reading)
    if harmless := [(one, reading) for one, reading in readings if reading.weight == "none"]:
        yield _of_all(harmless)


def _is_over(one: Xid, fabric: Fabric) -> bool:
    return bool(one.ended_by) and not isinstance(fabric.driver_nvswitches, Unread) and one.pci in fabric.driver_nvswitches


def _describe(one: Xid, reading: SxidReading) -> Finding:
    meaning = reading.meaning.meaning
    said = f": {meaning}" if meaning else ""
    kind = "fatal" if reading.weight == "fatal" else "non-fatal"
    report = fail if reading.needs_reset else warn
    return report(
        f"{kind} SXid {one.code}{_times(one)}{said}",
        code=reading.weight,
        found=f"SXid {one.code}",
        wanted="none",
        evidence=(one.line,),
        remedy=reading.meaning.action,
        headline=f"An NVSwitch logged SXid {one.code}{said}" if said else "",
        about=one.pci,
    )


def _of_all(harmless: list[tuple[Xid, SxidReading]]) -> Finding:
    """One finding for all of them: what the hardware corrects may be logged on every link."""
    codes = {one.code: reading.meaning for one, reading in harmless}
    counted = [
        f"SXid {code} ({sum(one.count for one, _ in harmless if one.code == code)}): {codes[code].meaning}" for code in sorted(codes)
    ]
    first = next(iter(codes.values()))
    many = f"SXids {first_of(sorted(map(str, codes)))}: no effect on jobs"
    what = f"SXid {first.code}: {first.meaning}" if len(codes) == 1 else many
    switches = {one.pci for one, _ in harmless}
    return warn(
        f"NVSwitches logged {'; '.join(counted[:_MOST])}: no effect on jobs",
        code="none",
        found=first_of([f"SXid {code}" for code in sorted(codes)]),
        wanted="none",
        evidence=tuple(one.line for one, _ in harmless[:_MOST]),
        remedy=first.action,
        headline=f"An NVSwitch logged {what}",
        about=switches.pop() if len(switches) == 1 else "",
        at_most="info",
    )


def _times(one: Xid) -> str:
    return f", {one.count} times" if one.count > 1 else ""
