"""A report as a tired reader wants it: the verdict and its reason, then what is wrong, equal findings as one entry."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from hostagent.report import PLACEABLE, Judgement, Report, subject_order
from hostagent.visible import visible
from hostagent.vocabulary import SEVERITIES, Verdict

WORDS: Mapping[Verdict, str] = {"not_ready": "NOT READY", "ready": "READY", "degraded": "DEGRADED", "unknown": "UNKNOWN"}
#: Sections whose entries are told with all details.
FULL = ("BLOCKS JOBS", "TO LOOK AT", "COULD NOT READ", "SECURITY", "WORTH KNOWING")
_WRONG = ("fail", "warn", "unknown")
_EVIDENCE = {
    "host-root": "a live host mounted below another root",
    "image": "an image that is not running",
}


class Entry(NamedTuple):
    """One thing to tell: a finding and every subject it holds for, or one reason and every check it stopped."""

    finding: Judgement
    subjects: tuple[str, ...]
    of: int  # subjects the check judged
    ids: tuple[str, ...]


class Section(NamedTuple):
    """Entries under one heading, worst first."""

    title: str
    entries: tuple[Entry, ...]

    @property
    def heading(self) -> str:
        """The title and how many checks stand below it."""
        return f"{self.title} ({len({name for entry in self.entries for name in entry.ids})})"


def verdict_lines(report: Report) -> tuple[tuple[Verdict, str], ...]:
    """(verdict, sentence): one when both scopes agree, else one a scope."""
    single, multi = report.verdict.single_node, report.verdict.multi_node
    if report.partial:
        return ((single, f"{WORDS[single]} by the checks that were asked for alone{_because(report, report.findings, single)}"),)
    if single == multi:
        return ((single, f"{WORDS[single]} for single-node and multi-node jobs{_because(report, report.findings, single)}"),)
    node = [one for one in report.findings if one.scope == "node"]
    return (
        (single, f"{WORDS[single]} for single-node jobs{_because(report, node, single)}"),
        (multi, f"{WORDS[multi]} for multi-node jobs{_because(report, report.findings, multi)}"),
    )


def _because(report: Report, findings: Iterable[Judgement], verdict: Verdict) -> str:
    if verdict == "ready":
        return ""
    if verdict == "degraded":
        return f": {_checks(one for one in findings if one.severity != 'info' and one.outcome in _WRONG)} to look at"
    outcome, phrase = ("fail", "failed") if verdict == "not_ready" else ("unknown", "could not be judged")
    rank = _ranked(report)
    blocking = sorted((one for one in findings if (one.severity, one.outcome) == ("critical", outcome)), key=lambda one: rank(one.id))
    if not blocking:
        return ": nothing was judged"
    if verdict == "unknown":
        return f": {_checks(blocking, 'critical ')} {phrase}"
    others = len({one.id for one in blocking} - {blocking[0].id})
    return f": {visible(blocking[0].message)}{f' ({others} more critical check{_s(others)} failed)' if others else ''}"


def _checks(findings: Iterable[Judgement], kind: str = "") -> str:
    count = len({one.id for one in findings})
    return f"{count} {kind}check{_s(count)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _ranked(report: Report) -> Callable[[str], tuple[int, str]]:
    """The key that sorts checks as the report wants them read; what it does not name comes last."""
    places = {name: place for place, name in enumerate(report.reading_order)}
    return lambda name: (places.get(name, len(places)), name)


def host_line(report: Report) -> str:
    host = report.host
    parts = [
        host.hostname,
        host.platform,
        host.os,
        f"kernel {host.kernel}" if host.kernel else "",
        host.arch,
        f"profile {report.profile.name}",
    ]
    return ", ".join(visible(part) for part in parts if part)


def remarks(report: Report) -> tuple[str, ...]:
    """What a reader must know before believing the verdict."""
    lines = []
    kind = "a simulated host: a tree whose /proc and /sys are not a kernel's" if report.simulated else _EVIDENCE.get(report.evidence, "")
    if report.replayed:
        lines.append(f"judged from a snapshot{f' of {kind}' if kind else ''}")
    elif kind:
        lines.append(f"judged from {kind}")
    if (
        report.verdict.multi_node in PLACEABLE
        and not report.partial
        and not any((one.scope, one.severity) == ("fabric", "critical") and one.outcome != "skip" for one in report.findings)
    ):
        lines.append("no critical check of the fabric applied: the multi-node verdict says no more than the single-node one")
    if any(one.code == "unread-denied" for one in report.findings):
        lines.append("some evidence was denied: run it as root to judge the rest")
    return tuple(lines)


def cage_lines(report: Report) -> tuple[str, ...]:
    """In which cage each lane's library was asked, and which parts of one the kernel lacks."""
    lines = []
    for lane, cage in report.cages.items():
        rights = ", ".join(cage["capabilities"]) or "none"
        calls = "system calls refused" if cage["system_calls"] else "no filter of system calls"
        files = f"Landlock {cage['landlock']}" if cage["landlock"] else "no Landlock"
        lines.append(f"the {lane} library was asked in a cage: user {cage['user']}, capabilities {rights}, {calls}, {files}")
    return tuple(lines)


def sections(report: Report) -> tuple[Section, ...]:
    """What is wrong, in reading order; sections without entries are left out."""
    findings = report.findings
    noted = [one for one in findings if one.severity == "info" and one.outcome in ("fail", "warn")]
    counting = [one for one in findings if one.severity != "info"]
    found = (
        Section("BLOCKS JOBS", _grouped(report, [one for one in counting if _blocks(one)])),
        Section("TO LOOK AT", _grouped(report, [one for one in counting if one.outcome in ("fail", "warn") and not _blocks(one)])),
        Section("COULD NOT READ", _by_reason(report, [one for one in findings if one.outcome == "unknown"])),
        Section("SECURITY", _grouped(report, [one for one in noted if one.axis == "security"])),
        Section("WORTH KNOWING", _grouped(report, [one for one in noted if one.axis != "security"])),
        Section("TURNED OFF", _by_reason(report, [one for one in findings if one.outcome == "off"])),
    )
    return tuple(section for section in found if section.entries)


def rest(report: Report) -> tuple[Section, ...]:
    """What a reader sees only on request: what passed and what did not apply."""
    passed = Section("PASSED", _grouped(report, [one for one in report.findings if one.outcome == "pass"]))
    skipped = Section("DID NOT APPLY", _by_reason(report, [one for one in report.findings if one.outcome == "skip"]))
    return tuple(section for section in (passed, skipped) if section.entries)


def _grouped(report: Report, chosen: Iterable[Judgement]) -> tuple[Entry, ...]:
    """Findings that differ in their subject alone become one entry."""
    judged = _subjects(report.findings)
    groups: dict[tuple[str, ...], list[Judgement]] = {}
    for one in chosen:
        groups.setdefault((one.id, one.code, one.message, one.found, one.wanted, str(one.remedy), *one.evidence), []).append(one)
    entries = [
        Entry(same[0], tuple(one.subject for one in same if one.subject), len(judged[same[0].id]), (same[0].id,))
        for same in groups.values()
    ]
    return tuple(sorted(entries, key=_worst_first(report)))


def _by_reason(report: Report, chosen: Iterable[Judgement]) -> tuple[Entry, ...]:
    """One unreadable file stops many checks: the reason is told once, with the checks beside it, worst first."""
    groups: dict[str, list[Judgement]] = {}
    for one in sorted(chosen, key=_severity):
        groups.setdefault(one.unread or one.message, []).append(one)
    judged = _subjects(report.findings)
    entries = []
    for same in groups.values():
        ids = tuple(dict.fromkeys(one.id for one in same))
        subjects = tuple(dict.fromkeys(one.subject for one in same if one.subject))
        entries.append(Entry(same[0], subjects, len(set().union(*(judged[name] for name in ids)) - {""}), ids))
    return tuple(sorted(entries, key=_worst_first(report)))


def _subjects(everything: Iterable[Judgement]) -> dict[str, set[str]]:
    """By check, what it judged."""
    subjects: dict[str, set[str]] = {}
    for one in everything:
        subjects.setdefault(one.id, set()).add(one.subject)
    return subjects


def _blocks(one: Judgement) -> bool:
    return (one.severity, one.outcome) == ("critical", "fail")


def _severity(one: Judgement) -> int:
    return SEVERITIES.index(one.severity)


def _worst_first(report: Report) -> Callable[[Entry], tuple[Any, ...]]:
    rank = _ranked(report)
    return lambda entry: (_severity(entry.finding), rank(entry.finding.id), tuple(map(subject_order, entry.subjects)))


def subjects_phrase(entry: Entry) -> str:
    """``0000:1b:00.0``, ``3 of 8: …``, ``all 8: …``; "" for the whole host."""
    names = tuple(visible(name) for name in entry.subjects)
    if len(names) <= 1:
        return names[0] if names else ""
    return f"{'all' if len(names) == entry.of else f'{len(names)} of'} {entry.of}: {', '.join(names)}"


def checks_phrase(entry: Entry) -> str:
    """The check, or how many there are."""
    return entry.ids[0] if len(entry.ids) == 1 else f"{len(entry.ids)} checks"


def details(entry: Entry) -> tuple[tuple[str, str], ...]:
    """(label, text) of what an entry has to say beside its message."""
    checks = ", ".join(entry.ids) if len(entry.ids) > 1 else ""
    rows = (("checks", checks), ("where", subjects_phrase(entry)), ("found", entry.finding.found), ("wanted", entry.finding.wanted))
    return tuple((label, text) for label, text in rows if text)


def brief(entry: Entry) -> str:
    """An entry on one line: a pass by its check, anything else by its reason; with the subjects where a profile names them."""
    where = subjects_phrase(entry)
    checks = ", ".join(entry.ids) + (f" ({where})" if where and entry.finding.outcome in ("pass", "off") else "")
    return checks if entry.finding.outcome == "pass" else f"{visible(entry.finding.message)}: {checks}"


def summary(report: Report) -> str:
    """``checks: 61 judged, 4 could not judge, 30 did not apply, 0 off; 0.12 s``."""
    told = report.coverage
    counts = f"checks: {told.judged} judged, {told.unknown} could not judge, {told.skipped} did not apply, {told.off} off"
    took = report.timings_ms.get("total")
    return counts if took is None else f"{counts}; {took / 1000:.2f} s"


def moment(seconds: float) -> str:
    """A time as everybody reads it; a tape can hold any number."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s since 1970"
