"""Parses what an Xid's line says after its number: unit, severity, link, registers, and the part that was hit."""

# A process's name is part of many lines, up to 15 characters of any kind: each pattern that decides is longer than that, or at the end.

import re
from typing import Literal, NamedTuple

from hostagent.core.tables.kernel_log import RECOVERY_CODE
from hostagent.core.tables.recovery_actions import DRIVER_ACTIONS
from hostagent.domains.gpu.tables.nvlink_xids import CODES, nvlink_fault
from hostagent.facts.gpu import Xid

#: Characters of a line that are read: no driver writes as many.
_LONGEST = 512
#: Lines of one code on one GPU within this time are one burst.
BURST_S = 600.0

_NVLINK = (
    r"\b(?P<unit>[A-Z][A-Z0-9_]{2,31})\s+(?P<severity>Fatal|Non-?fatal)\s+XC ?\d+\s+i ?(?P<injected>\d+)\s+Link\s+(?P<link>-?\d{1,3})\b"
    r"(?:\s*[(\[](?P<words>[0-9a-fA-Fx ,]*)(?P<end>[)\]])?)?"
)
#: A line that is cut off before its link, without a process.
_NVLINK_CUT = r"\): \d{3}, (?P<unit>[A-Z][A-Z0-9_]{2,31})\s+(?P<severity>Fatal|Non-?fatal)\b"
_NVLINK_UNIT = r"\): \d{3}, (?P<unit>[A-Z][A-Z0-9_]{2,31})\b"
_REGISTERS = (
    r"NVLink: (?:(?P<severity>fatal|non-?fatal) )?error detected on link (?P<link>\d{1,3})\s*(?:\((?P<words>[0-9a-fA-Fx ,]*)(?P<end>\))?)?"
)
_REGISTER_CODE = 74
#: The process that the driver names before its message.
_PROCESS = re.compile(r"\): \d{1,6}, (?:pid='?[^,]{1,12}, name=.{0,15}, )?")
_RECOVERY = re.compile(r"\bto (0x[0-9a-fA-F]+)(?: \(([^)]{1,40})\)?)?\.?$")

#: By code: a pattern of the message, and how a report names the part.
_PARTS: tuple[tuple[tuple[int, ...], str, str], ...] = (
    ((13,), r"\(GPC (\d+), TPC (\d+)(?:, SM (\d+))?\)(?:: ([\w /-]{3,40}))?", "GPC {0}, TPC {1}, SM {2}, {3}"),
    ((31,), r"ENGINE (\w+)[^@]{0,40}faulted @ (0x[0-9a-fA-F_]+)\..{0,20}?(FAULT_\w+) (ACCESS_TYPE_\w+)", "engine {0}, {2}, {3}"),
    ((31,), r"ENGINE (\w+)", "engine {0}"),
    ((43, 45), r"caused by previous Xid (\d+)", "after Xid {0}"),
    ((48,), r"partition (\d+), subpartition (\d+)", "partition {0}, subpartition {1}"),
    ((48, 171, 172), r"\b(?:in )?(FBPA|LTC|GPC) (\d+)(?: subpartition (\d+))?", "{0} {1}, subpartition {2}"),
    ((63, 64), r"Row Remapper[^(]{0,40}\((0x[0-9a-fA-F]+)\)", "row {0}"),
    ((63, 64), r"[Pp]age.{0,60}\((0x[0-9a-fA-F]+)\)", "page {0}"),
    ((63, 64), r"Row Remapper failed at row address (0x[0-9a-fA-F]+)", "row {0}"),
    ((92,), r"logical partition (\d+), due to high error rate", "partition {0}"),
    ((92,), r"\b(SM) SBE interrupt storm detected", "{0}"),
    ((94, 95), r"(?:Unc|C)ontained: ([^.]{2,40}?)(?:\. RST|$)", "{0}"),
    ((94, 95), r"(?:Unc|C)ontained (SRAM|DRAM) ECC error", "{0}"),
    ((109,), r"errorString ([A-Z ]{4,30}?), Info", "{0}"),
    ((119,), r"Expected function (\d+) \((\w+)\)", "function {0}, {1}"),
    ((119,), r"Expected function (\d+)", "function {0}"),
    ((137,), r"(\w+) interrupt hit on link (\d+)", "link {1}, {0}"),
    ((156, 157), r"TPC (\d+) from GPC (\d+)", "GPC {1}, TPC {0}"),
    ((160,), r"Marking (Channel|LTS) (\d+) in (FBP\w?) (\d+)", "{2} {3}, {0} {1}"),
    ((161,), r"Repairing (Channel|LTS) failed", "{0}"),
)
_ECC_UNITS = r"\b(DRAM|LTC|MMU|PCIE):(\d+)"
_UNITS_CODE = 140

Severity = Literal["", "fatal", "nonfatal"]


class XidDetail(NamedTuple):
    """One line after its number; empty where the line does not say it."""

    unit: str = ""  # RLW_SRC_TRACK
    severity: Severity = ""
    link: int = -1
    words: tuple[int, ...] = ()  # registers, in the order of the line
    is_injected: bool = False  # a test of the driver's error handling
    part: str = ""  # in words: "link 6, RLW_SRC_TRACK"


def parse_xid_line(line: str, code: int) -> XidDetail:
    """
    The detail of one line; `code` is its Xid.

    >>> parse_xid_line("NVRM: Xid (PCI:0000:c3:00): 145, RLW_CTRL Nonfatal XC1 i0 Link 06 (0x00000003 0x80000000)", 145)
    XidDetail(unit='RLW_CTRL', severity='nonfatal', link=6, words=(3, 2147483648), is_injected=False, part='link 6, RLW_CTRL')
    >>> parse_xid_line("NVRM: Xid (PCI:0000:d8:00): 74, NVLink: fatal error detected on link 14(0x0, 0x1", 74).words
    (0,)
    >>> parse_xid_line("NVRM: Xid (PCI:0000:1b:00): 13, pid=9, name=a, SM Warp Exception on (GPC 7, TPC 2, SM 0): Illegal Address", 13).part
    'GPC 7, TPC 2, SM 0, Illegal Address'
    """
    line = line[:_LONGEST]
    if code in CODES:
        return _nvlink(line)
    if code == _REGISTER_CODE:
        return _of_match(re.search(_REGISTERS, line, re.IGNORECASE))
    if code == _UNITS_CODE:
        hit = [unit for unit, number in re.findall(_ECC_UNITS, line) if int(number)]
        return XidDetail(part=", ".join(hit))
    return XidDetail(part=_part(_message(line), code))


def worse_line(old: str, new: str, code: int, kind: str = "xid") -> str:
    """The line that is kept of a fault: the more severe one, of equal ones the newer. `kind`: xid, sxid.

    >>> a, b = "NVRM: Xid (PCI:0000:1b:00): 145, TREX Fatal", "NVRM: Xid (PCI:0000:1b:00): 145, TREX Nonfatal"
    >>> worse_line(a, b, 145) == a, worse_line(b, a, 145) == a, worse_line(a, b, 13) == b
    (True, True, True)
    """
    if old == new or (kind == "xid" and code not in (*CODES, _REGISTER_CODE)):
        return new
    if kind != "xid":
        return old if " Fatal" in old and " Fatal" not in new else new
    return old if _rank(old, code) > _rank(new, code) else new


def recovery_action(one: Xid) -> str:
    """The recovery action that an Xid 154 changes to, in nvml.h's words; "" for other codes, and for a line that is cut off.

    >>> text = "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    >>> from hostagent.core.unread import Unread
    >>> gap = Unread("not-recorded")
    >>> recovery_action(Xid("", 154, text, 1, gap, "", gap, gap)), recovery_action(Xid("", 79, text, 1, gap, "", gap, gap))
    ('gpu-reset', '')
    """
    match = _RECOVERY.search(one.line.rstrip()) if one.code == RECOVERY_CODE else None
    if match is None:
        return ""
    words = (match[2] or "").lower()
    number = int(match[1], 16)
    by_words = next((action for word, action in _ACTION_WORDS.items() if word in words), "")
    return by_words or (DRIVER_ACTIONS[number] if number < len(DRIVER_ACTIONS) else "")


#: The driver's words for `DRIVER_ACTIONS`.
_ACTION_WORDS = {
    "gpu reset": "gpu-reset",
    "node reboot": "node-reboot",
    "drain p2p": "drain-p2p",
    "drain and reset": "drain-and-reset",
    "imex domain": "recover-imex-domain",
    "bus reset": "bus-reset",
    "system reboot": "system-reboot",
    "none": "none",
}


def _nvlink(line: str) -> XidDetail:
    whole = list(re.finditer(_NVLINK, line))[-1:]  # the last: what comes before may be a process's name
    return _of_match(whole[0] if whole else re.search(_NVLINK_CUT, line) or re.search(_NVLINK_UNIT, line))


def _of_match(match: "re.Match[str] | None") -> XidDetail:
    if match is None:
        return XidDetail()
    found = {name: text for name, text in match.groupdict().items() if text is not None}
    unit, link = found.get("unit", ""), int(found.get("link", "-1"))
    severity: Severity = "" if "severity" not in found else "fatal" if found["severity"].lower() == "fatal" else "nonfatal"
    part = ", ".join(filter(None, (f"link {link}" if link >= 0 else "", unit)))
    return XidDetail(unit, severity, link, _words(found), bool(int(found.get("injected", "0"))), part)


def _words(found: dict[str, str]) -> tuple[int, ...]:
    """The registers; the last one of a line that is cut off may be half of itself."""
    texts = re.findall(r"0x([0-9a-fA-F]{1,8})\b", found.get("words", ""))
    return tuple(int(text, 16) for text in (texts if "end" in found else texts[:-1]))


def _message(line: str) -> str:
    """The line after its number and the process."""
    match = _PROCESS.search(line)
    return line[match.end() :] if match else line


def _part(message: str, code: int) -> str:
    for codes, pattern, form in _PARTS:
        match = re.search(pattern, message) if code in codes else None
        if match:
            pieces = form.split(", ")
            values = [match[number] for number in range(1, match.re.groups + 1)]
            return ", ".join(piece.format(*values) for piece in pieces if not _is_gap(piece, values)).strip()
    return ""


def _is_gap(piece: str, values: "list[str | None]") -> bool:
    return any(values[int(number)] is None for number in re.findall(r"\{(\d)\}", piece))


def _rank(line: str, code: int) -> int:
    detail = parse_xid_line(line, code)
    row = nvlink_fault(code, detail.unit, detail.words)
    if detail.severity == "fatal" or (row and row.is_fatal):
        return 3
    if not detail.severity and row is None:
        return 2
    return 1 if row is None or row.resolution == "job" else 0
