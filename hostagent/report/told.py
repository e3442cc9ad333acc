"""What a report tells, and in which order: causes with what is told under them, what is not checked, what to do."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hostagent.report import Cause, Judgement, Report, subject_order
from hostagent.steps import Step, to_do

_FOUND = ("fail", "warn")
#: How much a finding counts, the most first: not ready, unknown, degraded, nothing.
_RANKS = {("critical", "fail"): 0, ("critical", "unknown"): 1, ("info", "fail"): 3, ("info", "warn"): 3, ("info", "unknown"): 3}
_DEGRADES, NOTHING = 2, 3


class Told(NamedTuple):
    """One finding, and all subjects that it holds for alike."""

    finding: Judgement
    subjects: tuple[str, ...]
    devices: tuple[str, ...]


class Group(NamedTuple):
    """A cause and what is told under it, the cause first; of several devices where it is alike on each."""

    cause: Told
    under: tuple[Told, ...]
    unknown: tuple[Judgement, ...]
    rank: int

    @property
    def members(self) -> tuple[Told, ...]:
        return (self.cause, *self.under)


def rank_of(one: Judgement) -> int:
    """How much it counts: 0 makes a host not ready, 1 unknown, 2 degraded, 3 nothing."""
    return _RANKS.get((one.severity, one.outcome), _DEGRADES)


def groups(report: Report) -> tuple[Group, ...]:
    """All causes, worst first, then as the families are told, then by device."""
    by_cause: dict[Cause, list[Judgement]] = {}
    for one in report.findings:
        if one.cause:
            by_cause.setdefault(one.cause, []).append(one)
    alike: dict[Any, list[list[Judgement]]] = {}
    for cause, members in by_cause.items():
        own = _own(cause, members)
        shape = (cause.id, own.headline.replace(own.device, "") if own.device else own.headline, _shape(members))
        alike.setdefault(shape, []).append(members)
    order = _ranked(report)
    made = [_group([one for members in bunch for one in members], order) for bunch in alike.values()]
    return tuple(sorted(made, key=lambda group: (group.rank, order(group.cause.finding))))


def _own(cause: Cause, members: list[Judgement]) -> Judgement:
    """The finding that is the cause; the worst of several."""
    own = [one for one in members if (one.id, one.subject) == (cause.id, cause.subject)] or members
    return min(own, key=lambda one: (rank_of(one), one.code, one.message))


def _shape(members: list[Judgement]) -> frozenset[tuple[str, str, str]]:
    return frozenset((one.id, one.code, one.outcome) for one in members)


def _group(members: list[Judgement], order: Callable[[Judgement], Any]) -> Group:
    found = _alike([one for one in members if one.outcome in _FOUND or _is_cause(one)])
    causes = [one for one in found if _is_cause(one.finding)] or found
    cause = min(causes, key=lambda one: (rank_of(one.finding), order(one.finding), one.finding.code, one.finding.message))
    under = sorted((one for one in found if one is not cause), key=lambda one: (order(one.finding), one.finding.code, one.finding.message))
    unknown = tuple(one for one in members if one.outcome == "unknown" and not _is_cause(one))
    return Group(cause, tuple(under), unknown, min(rank_of(one) for one in members))


def _is_cause(one: Judgement) -> bool:
    return one.cause is not None and (one.id, one.subject) == (one.cause.id, one.cause.subject)


def _alike(findings: Iterable[Judgement]) -> list[Told]:
    """Findings that differ in their subject alone are one."""
    same: dict[Any, list[Judgement]] = {}
    for one in findings:
        headline = one.headline.replace(one.device, "") if one.device else one.headline
        same.setdefault((one.id, one.outcome, one.code, one.message, one.found, one.wanted, headline, one.remedy, one.evidence), []).append(
            one
        )
    return [_told(sorted(ones, key=lambda one: subject_order(one.subject))) for ones in same.values()]


def _told(ones: list[Judgement]) -> Told:
    named = [one for one in ones if one.subject]
    return Told(ones[0], tuple(one.subject for one in named), tuple(one.device for one in named))


def _ranked(report: Report) -> Callable[[Judgement], tuple[Any, ...]]:
    """The key that sorts findings as the families are told, then by device; what no order names comes last."""
    places: Mapping[str, int] = {name: place for place, name in enumerate(report.reading_order)}
    return lambda one: (places.get(one.id, len(places)), one.id, subject_order(one.subject))


def steps(report: Report) -> tuple[Step, ...]:
    """What to do about all that counts, in order."""
    return to_do(_remedy(group.cause) for group in groups(report) if group.rank < NOTHING)


def _remedy(cause: Told) -> tuple[Step, ...]:
    """nvidia-smi takes several addresses with commas."""
    one, every = cause.finding.subject, ",".join(cause.subjects)
    return tuple(replace(step, command=step.command.replace(one, every)) if one and step.command else step for step in cause.finding.remedy)
