"""A report as a tired reader wants it: what happened, what to do, then the findings, equal ones as one."""

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hostagent.report import PLACEABLE, Judgement, Report
from hostagent.report.inventory import gpus, inventory
from hostagent.report.times import ago, moment
from hostagent.report.told import NOTHING, Group, Told, first_steps, groups, headline, steps
from hostagent.sinks.words import WORDS
from hostagent.steps import Step
from hostagent.visible import visible
from hostagent.vocabulary import Verdict

#: What a check counts as, the worst first; and the order in which people read it.
_KINDS = ("failed", "unknown", "to look at", "worth knowing", "passed", "off", "not applicable")
_SHOWN = ("passed", "failed", "unknown", "to look at", "worth knowing", "not applicable", "off")
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
    others: int  # how many devices have nothing missing of them


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
        parts = (inventory(report), f"{_count(counts(report)['passed'], 'check')} passed")
        return f"{WORDS[verdict]}{whose}  {'; '.join(part for part in parts if part)}"
    if first is None:
        return f"{WORDS[verdict]}{whose}  {_nothing(report)}"
    todo = " ".join(step.text for step in first_steps(first))
    return f"{WORDS[verdict]}{whose}  {headline(first)}. {visible(todo)}".rstrip()


def _nothing(report: Report) -> str:
    """Why there is no verdict though nothing was found."""
    if not report.partial:
        return "Nothing was checked"
    applies = {one.severity for one in report.findings if one.outcome not in ("skip", "off")}
    return "Only informational checks were selected: no verdict" if applies == {"info"} else "None of the selected checks applies here"


def host_line(report: Report) -> str:
    host = report.host
    kernel = f"kernel {host.kernel}" if host.kernel else ""
    parts = (inventory(report), host.platform, host.os, kernel, host.arch, f"profile {report.profile.name}")
    return f"{visible(host.hostname)}: {', '.join(visible(part) for part in parts if part)}"


def is_quiet(report: Report) -> bool:
    """Ready for every job: a reader wants no more than that."""
    return report.verdict.single_node == report.verdict.multi_node == "ready"


def gpu_lines(report: Report) -> tuple[str, ...]:
    """``GPU 0  0000:1b:00.0  NVIDIA H100 80GB HBM3  GPU-5d43…  serial 1652…``, one line per GPU."""
    lines = []
    for row in gpus(report):
        serial = f"serial {row['serial']}" if row["serial"] else ""
        lines.append(
            visible("  ".join(part for part in (f"GPU {row['index']}".rstrip(), row["pci"], row["name"], row["uuid"], serial) if part))
        )
    return tuple(lines)


def remarks(report: Report) -> tuple[str, ...]:
    """What a reader must know before believing the verdict."""
    kind = "a made-up host" if report.simulated else _READ_FROM.get(report.read_from, "")
    when = moment(report.observed_at)
    if report.replayed and not report.simulated:
        when = f"{when} ({ago(max(0.0, time.time() - report.observed_at))} ago)"
    lines = [
        f"from a snapshot{f' of {kind}' if kind else ''}, {when}" if report.replayed else f"read{f' from {kind}' if kind else ''} at {when}"
    ]
    if report.read_from == "image" and not report.host.kernel and not report.partial:
        lines.append("this image has no kernel below /lib/modules: the driver's module, and what must match it, were not checked")
    if (
        report.verdict.multi_node in PLACEABLE
        and not report.partial
        and not any((one.scope, one.severity) == ("fabric", "critical") and one.outcome != "skip" for one in report.findings)
    ):
        lines.append("multi-node: only this node was checked")
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
    passed_by: dict[str, set[str]] = {}
    for one in report.findings:
        if one.outcome in ("pass", "skip") and one.device:
            passed_by.setdefault(one.id, set()).add(one.device)
    return tuple(_gap(ones, passed_by) for ones in by_reason.values())


def _gap(ones: list[Judgement], passed_by: Mapping[str, set[str]]) -> Gap:
    ids, named = dict.fromkeys(one.id for one in ones), dict.fromkeys(one.device for one in ones if one.device)
    of_devices = [passed_by.get(one.id, set()) for one in ones if one.device]
    others = set.intersection(*of_devices) if of_devices else set[str]()
    return Gap(visible(ones[0].message), tuple(ids), tuple(named), len(others))


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


def told_line(told: Told) -> str:
    """``message (found X, wanted Y)``, without what the message says already."""
    one = told.finding
    pairs = ((label, text) for label, text in (("found", one.found), ("wanted", one.wanted)) if text and text not in one.message)
    more = ", ".join(f"{label} {text}" for label, text in pairs) if one.found and one.found not in one.message else ""
    return visible(f"{one.message} ({more})" if more else one.message)


def counts(report: Report) -> Mapping[str, int]:
    """How many checks there are of each kind, each counted once by its worst outcome."""
    worst: dict[str, int] = {}
    for one in report.findings:
        worst[one.id] = min(worst.get(one.id, len(_KINDS)), _KINDS.index(_counted(one)))
    places = list(worst.values())
    return {kind: places.count(place) for place, kind in enumerate(_KINDS)}


def summary(report: Report) -> str:
    """``121 passed, 3 failed, 25 unknown, 21 not applicable (0.04 s)``."""
    number, took = counts(report), report.timings_ms.get("total")
    shown = ", ".join(f"{number[kind]} {kind}" for kind in _SHOWN if number[kind])
    return shown + (f" ({took / 1000:.2f} s)" if took is not None else "")


def _counted(one: Judgement) -> str:
    if one.outcome in ("fail", "warn"):
        return (
            "worth knowing" if one.severity == "info" else "failed" if (one.outcome, one.severity) == ("fail", "critical") else "to look at"
        )
    return {"pass": "passed", "unknown": "unknown", "skip": "not applicable"}.get(one.outcome, "off")
