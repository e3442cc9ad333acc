"""The meaning of an Xid by its number and by the words of its line: severity, NVLink status, registers, words."""

from typing import NamedTuple

from hostagent.core.steps import Step
from hostagent.core.tables.recovery_actions import REBOOT, REPLACE_IF_BACK, RESET, RESET_ALL, RESET_LATER
from hostagent.core.unread import Unread
from hostagent.domains.gpu.tables.nvlink_xids import CODES, HARMLESS, Look, NvlinkFault, nvlink_fault, register_classes
from hostagent.domains.gpu.tables.xids import SOURCE, XidMeaning, meaning, weighed_by
from hostagent.domains.gpu.xid_lines import XidDetail, parse_xid_line
from hostagent.facts.cpulist import format_cpulist
from hostagent.facts.gpu import Gpu, Xid

_REGISTER_CODE = 74
#: First of a nonfatal fault without an Xid 154: the GPU goes on.
JOB_AGAIN = Step("rerun", "Start the job on this GPU again: the driver asks for no reset.")
NO_STEP = Step("rerun", "Nothing now: the hardware recovered. Watch the link.")
_LOOK: dict[Look, Step] = {
    "vendor": Step("contact_owner", "Send the log lines to the GPU's vendor.", if_back=True),
    "link": Step("contact_owner", "Have the signal of this link tested.", if_back=True),
    "cables": Step("contact_owner", "Have the link's cables and connectors checked.", if_back=True),
    "peer": Step("drain_and_inspect", "Look at the other end of the link first: its fault is the cause."),
    "host": Step("drain_and_inspect", "Look at the host first: it took the link down."),
    "software": Step("drain_and_inspect", "Find out which program or administrator took the link down."),
}
_BOARD = Step("replace", "Check the baseboard, the NVLink bridge or the cable.", if_back=True)
#: By code: words of the line that decide, longer than a process's name or at the line's end; what the code means with them.
WORDED: tuple[tuple[int, str, XidMeaning], ...] = (
    (63, "Row Remapper: New row", XidMeaning(63, "warning", "a memory row was remapped", (RESET_LATER,))),
    (
        63,
        "Dynamic Page Retirement",
        XidMeaning(63, "warning", "a memory page was retired", (Step("reboot", "At the next maintenance, reboot the node."),)),
    ),
    (
        64,
        "already pending remapping",
        XidMeaning(64, "warning", "a memory row that waits to be remapped failed again", (RESET_LATER, REPLACE_IF_BACK)),
    ),
    (94, "RST: Yes, D-RST: No", XidMeaning(94, "critical", "memory error: the driver asks for a reset", (RESET, REPLACE_IF_BACK))),
    (160, "Perform node reboot", XidMeaning(160, "warning", "a memory channel waits to be repaired", (REBOOT,))),
    (160, "Perform GPU reset", XidMeaning(160, "warning", "a memory channel waits to be repaired", (RESET,))),
    (177, "Bank Remapper: New bank marked", XidMeaning(177, "warning", "a memory bank waits to be remapped", (RESET_LATER,))),
)
_AT_THE_END = "RST: Yes, D-RST: No"


class XidReading(NamedTuple):
    """What one of the log's faults means."""

    meaning: XidMeaning
    part: str = ""  # what was hit: "link 6, RLW_SRC_TRACK"
    is_nonfatal: bool = False  # of an NVLink fault: the GPU goes on
    is_recovered: bool = False  # and no job was hit
    why: str = ""  # the source of the meaning


def read_xid(one: Xid, gpus: tuple[Gpu, ...] = ()) -> XidReading:
    """The meaning of a fault, by its line where that says more than the number.

    >>> gap = Unread("not-recorded")
    >>> line = "NVRM: Xid (PCI:0000:c3:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 06 (0x04085a07 0x00000004)"
    >>> reading = read_xid(Xid("0000:c3:00.0", 145, line, 1, gap, "", gap, gap))
    >>> reading.meaning.meaning, reading.is_nonfatal, reading.meaning.action[0].text
    ('nonfatal NVLink error (RLW)', True, 'Start the job on this GPU again: the driver asks for no reset.')
    """
    known, detail = meaning(one.code), parse_xid_line(one.line, one.code)
    part = _part(one, detail)
    if one.code in CODES:
        return _nvlink(known, detail, part)
    if one.code == _REGISTER_CODE:
        return _registers(known, detail, part, _compute_capability(one, gpus))
    for code, words, worded in WORDED:
        if code == one.code and (one.line.rstrip().endswith(words) if words == _AT_THE_END else words in one.line):
            return XidReading(worded, part, why=f"{worded.kind} by the words of the line")
    return XidReading(known, part, why=weighed_by(one.code))


def is_repaired_by_reset(one: Xid) -> bool:
    """Whether a reset ends a fault of a code that a new board ends otherwise: a row that only waits to be remapped."""
    return read_xid(one).meaning.kind == "warning"


def _nvlink(known: XidMeaning, detail: XidDetail, part: str) -> XidReading:
    row = nvlink_fault(known.code, detail.unit, detail.words)
    if detail.severity == "fatal" or (row and row.is_fatal):
        steps = (*((_LOOK[row.look],) if row and row.look in ("peer", "host", "software") else ()), *known.action)
        return XidReading(known._replace(meaning=f"fatal {known.meaning}", action=steps), part, why=_why("critical", detail, row))
    if detail.severity == "nonfatal" or row:
        return _nonfatal(known, detail, row, part)
    return XidReading(known, part, why=f"{weighed_by(known.code)}; its line has no severity")


def _nonfatal(known: XidMeaning, detail: XidDetail, row: "NvlinkFault | None", part: str) -> XidReading:
    is_recovered = row is not None and row.resolution == "none"
    again = _LOOK[row.look if row and row.look in ("link", "cables") else "vendor"]
    mild = known._replace(kind="warning", meaning=f"nonfatal {known.meaning}", action=(NO_STEP if is_recovered else JOB_AGAIN, again))
    return XidReading(mild, part, True, is_recovered and not (row and row.look), _why("nonfatal", detail, row))


def _registers(known: XidMeaning, detail: XidDetail, part: str, compute_capability: str) -> XidReading:
    classes = register_classes(detail.words, compute_capability)
    if classes and classes <= HARMLESS:
        mild = known._replace(kind="warning", meaning="NVLink errors that were corrected", action=(NO_STEP, _LOOK["link"]))
        return XidReading(mild, part, why=f"warning by {SOURCE}: its registers")
    if detail.severity == "nonfatal":
        return _nonfatal(known, detail, None, part)
    why = weighed_by(known.code)
    return XidReading(known, part, why=f"{why}; registers: {', '.join(sorted(classes))}" if classes else why)


def _part(one: Xid, detail: XidDetail) -> str:
    """All links that the lines name; the unit of this one."""
    links = () if isinstance(one.links, Unread) else one.links
    named = f"links {format_cpulist(links)}" if len(links) > 1 else ""
    text = ", ".join(filter(None, (named, detail.unit))) if named else detail.part
    return f"{text} (injected)" if detail.is_injected else text


def _why(kind: str, detail: XidDetail, row: "NvlinkFault | None") -> str:
    if row is None:
        return f"{kind} by its line"
    status = f"sub-code {row.subcode}" if row.subcode else f"status 0x{detail.words[1]:x}" if len(detail.words) > 1 else "any status"
    bucket = {"none": "nothing to do", "job": "an Xid 154 decides, else the job starts again", "reset": "reset the GPU"}[row.resolution]
    return f"{kind} by {SOURCE}: {row.unit}, {status}: {bucket}"


def _compute_capability(one: Xid, gpus: tuple[Gpu, ...]) -> str:
    found = next((gpu.compute_capability for gpu in gpus if gpu.pci == one.pci), "")
    return "" if isinstance(found, Unread) else found


#: Of a burst of nonfatal faults: the job does not survive it, and the next one may not.
STORM = (RESET_ALL, _BOARD)
