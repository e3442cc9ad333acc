"""A report as a tired reader wants it: what happened, what to do, then the findings, equal ones as one."""

import time
from collections.abc import Iterable
from typing import NamedTuple

from hostagent.report import PLACEABLE, Judgement, Report
from hostagent.report.inventory import inventory
from hostagent.report.told import NOTHING, Group, Told, groups, headline, steps
from hostagent.sinks.words import WORDS
from hostagent.steps import Step
from hostagent.visible import visible
from hostagent.vocabulary import Verdict

_READ_FROM = {"host-root": "a live host below another root", "image": "an image, which is not running"}


class Section(NamedTuple):
    """Causes under one heading, worst first."""

    title: str
    groups: tuple[Group, ...]

    @property
    def heading(self) -> str:
        checks = {told.finding.id for group in self.groups for told in group.members}
        return f"{self.title} ({_count(len(self.groups), 'cause')}, {_count(len(checks), 'check')})"


class Gap(NamedTuple):
    """One answer that is missing, and what could not be checked without it."""

    reason: str
    ids: tuple[str, ...]
    devices: tuple[str, ...]


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def verdict_lines(report: Report) -> tuple[tuple[Verdict, str], ...]:
    """(verdict, sentence): one where both scopes agree, else one per scope."""
    single, multi = report.verdict.single_node, report.verdict.multi_node
    told = groups(report)
    if report.partial or single == multi:
        return ((single, _verdict(report, told, single, " by the selected checks" if report.partial else "")),)
    node = tuple(group for group in told if _scopes(group) == {"node"})
    return (
        (single, _verdict(report, node, single, " for single-node jobs")),
        (multi, _verdict(report, told, multi, " for multi-node jobs")),
    )


def _scopes(group: Group) -> set[str]:
    return {one.scope for one in (*(told.finding for told in group.members), *group.unknown)}


def _verdict(report: Report, told: Iterable[Group], verdict: Verdict, whose: str) -> str:
    first = next((group for group in told if group.rank < NOTHING), None)
    if verdict == "ready":
        return f"{WORDS[verdict]}{whose}  {inventory(report)}; {_count(report.coverage.judged, 'check')} passed"
    if first is None:
        return (
            f"{WORDS[verdict]}{whose}  None of the selected checks applies here"
            if report.partial
            else f"{WORDS[verdict]}  Nothing was checked"
        )
    todo = " ".join(step.text for step in steps(report)[:2] if not step.if_back)
    return f"{WORDS[verdict]}{whose}  {headline(first)}. {visible(todo)}".rstrip()


def host_line(report: Report) -> str:
    host = report.host
    kernel = f"kernel {host.kernel}" if host.kernel else ""
    parts = (inventory(report), host.platform, host.os, kernel, host.arch, f"profile {report.profile.name}")
    return f"{visible(host.hostname)}: {', '.join(visible(part) for part in parts if part)}"


def remarks(report: Report) -> tuple[str, ...]:
    """What a reader must know before believing the verdict."""
    kind = "a simulated host" if report.simulated else _READ_FROM.get(report.evidence, "")
    when = moment(report.observed_at)
    lines = [
        f"from a recording{f' of {kind}' if kind else ''}, {when}"
        if report.replayed
        else f"read{f' from {kind}' if kind else ''} at {when}"
    ]
    if (
        report.verdict.multi_node in PLACEABLE
        and not report.partial
        and not any((one.scope, one.severity) == ("fabric", "critical") and one.outcome != "skip" for one in report.findings)
    ):
        lines.append("multi-node: nothing beyond this node was checked")
    if any(one.code == "unread-denied" for one in report.findings):
        lines.append("some files could not be read: run it as root")
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


def todo(report: Report) -> tuple[Step, ...]:
    return steps(report)


def sections(report: Report) -> tuple[Section, ...]:
    """What was found, in reading order; sections without a cause are left out."""
    found = [group for group in groups(report) if group.cause.finding.outcome != "unknown"]
    noted = [group for group in found if group.rank == NOTHING]
    made = (
        Section("BLOCKS JOBS", tuple(group for group in found if group.rank == 0)),
        Section("TO LOOK AT", tuple(group for group in found if 0 < group.rank < NOTHING)),
        Section("SECURITY", tuple(group for group in noted if group.cause.finding.axis == "security")),
        Section("WORTH KNOWING", tuple(group for group in noted if group.cause.finding.axis != "security")),
    )
    return tuple(section for section in made if section.groups)


def gaps(report: Report) -> tuple[Gap, ...]:
    """What could not be checked, one entry per missing answer, those that stop jobs first."""
    by_reason: dict[str, list[Judgement]] = {}
    for one in sorted((one for one in report.findings if one.outcome == "unknown"), key=lambda one: one.severity != "critical"):
        by_reason.setdefault(one.unread or one.message, []).append(one)
    return tuple(_gap(ones) for ones in by_reason.values())


def _gap(ones: list[Judgement]) -> Gap:
    ids, named = dict.fromkeys(one.id for one in ones), dict.fromkeys(one.device for one in ones if one.device)
    return Gap(visible(ones[0].message), tuple(ids), tuple(named))


def turned_off(report: Report) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(who and why, checks)."""
    return _by_message(report, "off")


def skipped(report: Report) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(why it does not apply, checks)."""
    return _by_message(report, "skip")


def _by_message(report: Report, outcome: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    by_message: dict[str, dict[str, None]] = {}
    for one in report.findings:
        if one.outcome == outcome:
            where = f"{one.id} ({one.subject})" if one.subject else one.id
            by_message.setdefault(visible(one.message), {})[visible(where)] = None
    return tuple((message, tuple(ids)) for message, ids in by_message.items())


def passed(report: Report) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.id for one in report.findings if one.outcome == "pass"))


#: Found nothing: the message says of what.
_NOTHING = (
    "none",
    "0",
    "not loaded",
    "not running",
    "not installed",
    "missing",
    "stopped",
    "off",
    "not said",
    "none held",
    "disabled",
    "excluded",
    "unreadable",
)


def told_line(told: Told) -> str:
    """``message (found X, wanted Y)``, without what the message says already."""
    one = told.finding
    pairs = ((label, text) for label, text in (("found", one.found), ("wanted", one.wanted)) if text and text not in one.message)
    more = (
        ", ".join(f"{label} {text}" for label, text in pairs) if one.found not in ("", *_NOTHING) and one.found not in one.message else ""
    )
    return visible(f"{one.message} ({more})" if more else one.message)


def summary(report: Report) -> str:
    """``121 passed, 3 failed, 25 unknown, 21 not applicable, 0 off (0.04 s)``: each check once, by its worst outcome."""
    worst: dict[str, int] = {}
    names = ("failed", "unknown", "to look at", "worth knowing", "passed", "off", "not applicable")
    for one in report.findings:
        worst[one.id] = min(worst.get(one.id, len(names)), names.index(_counted(one)))
    counts = [(names[place], list(worst.values()).count(place)) for place in (4, 0, 1, 2, 3, 6, 5)]
    took = report.timings_ms.get("total")
    return ", ".join(f"{count} {name}" for name, count in counts if count) + (f" ({took / 1000:.2f} s)" if took is not None else "")


def _counted(one: Judgement) -> str:
    if one.outcome in ("fail", "warn"):
        return (
            "worth knowing" if one.severity == "info" else "failed" if (one.outcome, one.severity) == ("fail", "critical") else "to look at"
        )
    return {"pass": "passed", "unknown": "unknown", "skip": "not applicable"}.get(one.outcome, "off")


def moment(seconds: float) -> str:
    """A time as everybody reads it; a tape can hold any number."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s since 1970"
