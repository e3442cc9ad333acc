"""Measures each condition of the node from one report, before debouncing."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal, get_args

from hostagent.core.escape import visible
from hostagent.core.frozen import frozen
from hostagent.core.vocabulary import Verdict
from hostagent.engine.report import PLACEABLE, Judgement, Report, verdict_of
from hostagent.engine.report.devices import devices_of
from hostagent.engine.report.grouping import NOTHING, Group, first_steps, groups, headline, rank_of, subjects_of
from hostagent.engine.report.host_coverage import gap_word
from hostagent.engine.report.node_status import ConditionType, Device, Status, camel_case

TYPES: tuple[ConditionType, ...] = get_args(ConditionType)
#: A condition that none of its checks applies to has no verdict.
Measure = Verdict | Literal[""]
#: Bytes of a message.
LONGEST = 512
#: At most so many of them for the action, and so many for PCI addresses of devices.
_ACTION, _ADDRESSES = 200, 120
#: Devices that a condition names to programs.
_DEVICES = 16
_RANK = {"not_ready": 0, "unknown": 1, "degraded": 2}
_CUT = "..."


@frozen
class Measured:
    """One condition as one pass found it. ``reason`` and ``message`` are those of a Kubernetes condition."""

    type: ConditionType
    verdict: Measure
    reason: str
    message: str
    devices: tuple[Device, ...] = ()


def measured(report: Report, condition_of: Mapping[str, str]) -> tuple[Measured, ...]:
    """All six, in their order. `condition_of`: by check, the condition that its family declares."""
    grouped, verdicts = groups(report), {"Ready": report.verdict.single_node, "MultiNodeReady": report.verdict.multi_node}
    own = {"Ready": [one for one in report.findings if one.scope == "node"], "MultiNodeReady": list(report.findings)}
    for one in report.findings:
        own.setdefault(condition_of.get(one.id, ""), []).append(one)
    found = (_measured(kind, own.get(kind, []), (report, grouped), verdicts.get(kind)) for kind in TYPES)
    gap = gap_word(report)
    return tuple(_with_gap(one, gap) if gap and one.type in verdicts and one.verdict in PLACEABLE else one for one in found)


def _with_gap(one: Measured, gap: str) -> Measured:
    """A condition that lets jobs in names what could not be read."""
    tail = f" (coverage {gap})"
    return replace(one, message=f"{cut(one.message, LONGEST - len(tail))}{tail}")


def status_of(verdict: Verdict) -> Status:
    return "True" if verdict in PLACEABLE else "False" if verdict == "not_ready" else "Unknown"


def _measured(kind: ConditionType, own: list[Judgement], whole: tuple[Report, tuple[Group, ...]], verdict: "Verdict | None") -> Measured:
    """By its own findings and all causes; `verdict` where the report has it already."""
    if verdict is None and not any(one.outcome not in ("skip", "off") and one.severity != "info" for one in own):
        return Measured(kind, "", "", "")
    found: Verdict = verdict or verdict_of(own)
    if found == "ready":
        return Measured(kind, found, "Ready", "Every check that counts passes")
    mine = {(one.id, one.subject) for one in own if rank_of(one) < NOTHING}
    report, grouped = whole
    causes = [group for group in grouped if any(_keys(group) & mine)]
    first = next((group for group in causes if _rank(group, mine) == _RANK[found]), None) or next(iter(causes), None)
    if first is None:
        return Measured(kind, found, "CouldNotRead", "No check that counts could be judged")
    devices = devices_of(report, subjects_of(first))[:_DEVICES]
    return Measured(kind, found, _reason(found, first), _message(report, first, devices, len(causes) - 1), devices)


def _keys(group: Group) -> set[tuple[str, str]]:
    members = {(one.finding.id, subject) for one in group.members for subject in (one.subjects or ("",))}
    return members | {(one.id, one.subject) for one in group.unknown}


def _rank(group: Group, mine: set[tuple[str, str]]) -> int:
    """The worst rank of the group for this condition: a consequence may count less than its cause, and the other way round."""
    findings: Iterable[Judgement] = (*(one.finding for one in group.members), *group.unknown)
    ids = {name for name, _ in mine & _keys(group)}
    return min((rank_of(one) for one in findings if one.id in ids), default=NOTHING)


def _reason(verdict: Verdict, first: Group) -> str:
    """``GpuXid`` where a job must not be placed."""
    if verdict == "not_ready":
        return camel_case(first.cause.finding.id)
    return "CouldNotRead" if verdict == "unknown" else "Degraded"


def _message(report: Report, first: Group, devices: tuple[Device, ...], more: int) -> str:
    """The cause with the PCI addresses of its devices, what to do, and how many more causes there are; the same from pass to pass."""
    finding = first.cause.finding
    text = f"Could not read what {finding.id} needs" if finding.outcome == "unknown" and not finding.headline else headline(first)
    unnamed = [one.pci for one in devices if one.pci not in text]
    addresses = f" ({cut(', '.join(unnamed), _ADDRESSES)})" if unnamed else ""
    steps = visible(" ".join(step.text for step in first_steps(report, first)))
    tail = f"{addresses}{f'. {cut(steps, _ACTION)}' if steps else ''}{f' (and {more} more)' if more else ''}"
    return f"{cut(visible(text), LONGEST - len(tail.encode()))}{tail}"


def cut(text: str, most: int) -> str:
    """At most so many bytes of UTF-8, whole characters.

    >>> cut("abcdef", 5), cut("äöü", 5)
    ('ab...', 'ä...')
    """
    data = text.encode()
    return text if len(data) <= most else f"{data[: most - len(_CUT)].decode('utf-8', 'ignore')}{_CUT}"
