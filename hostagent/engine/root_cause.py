"""Assigns each finding its root cause, for grouping in reports.

Only for display: no outcome, severity or verdict depends on it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from hostagent.core.vocabulary import SEVERITIES
from hostagent.engine.check import Check, id_of
from hostagent.engine.report import Cause, Judgement

_FOUND = ("fail", "warn")
_NO_PARENTS: Mapping[str, str] = MappingProxyType({})


def with_causes(
    checks: Iterable[Check], judgements: tuple[Judgement, ...], parents: Mapping[str, str] = _NO_PARENTS
) -> tuple[Judgement, ...]:
    """`judgements` with the cause of each that failed, warned or is unknown. One that has it already keeps it.

    The cause is a finding of a check in its own ``because``: about the same device, else about the one that it is a part of (`parents`:
    a port's card), else about the whole host; so a finding about the whole host never has the cause at one device, nor a port's at
    another port. The cause of an unknown is the finding about the question without an answer, else the first unknown for want of it.
    """
    findings, unknowns = [one for one in judgements if one.outcome in _FOUND], [one for one in judgements if one.outcome == "unknown"]
    all_findings = _Findings(checks, findings, unknowns, parents)
    wrong = (*_FOUND, "unknown")
    return tuple(one if one.cause.id or one.outcome not in wrong else replace(one, cause=all_findings.cause(one)) for one in judgements)


class _Findings:
    """The findings of one host."""

    def __init__(self, checks: Iterable[Check], findings: list[Judgement], unknowns: list[Judgement], parents: Mapping[str, str]) -> None:
        self._parents = parents
        self._because = {one.id: one.because for one in checks if one.because}
        self._keys = {(name, one.subject) for one in findings for name in (one.id, f"{one.id}:{one.code}")}
        self._explaining = [one for one in findings if one.unread]
        self._unanswered: dict[str, Judgement] = {}
        for one in sorted(unknowns, key=lambda one: (SEVERITIES.index(one.severity), one.subject != "", one.id, one.subject, one.code)):
            self._unanswered.setdefault(one.unread, one)

    def cause(self, one: Judgement) -> Cause:
        if one.outcome != "unknown" or not one.unread:
            return self._first(one.id, one.subject)
        gap = [other for other in self._explaining if other.unread == one.unread]
        if gap:
            places = self._places(one.subject)
            away = {other.subject: places.index(other.subject) if other.subject in places else len(places) for other in gap}
            nearest = min(gap, key=lambda other: (away[other.subject], other.id, other.subject, other.code))
            return nearest.cause if nearest.cause.id else self._first(nearest.id, nearest.subject)
        first, same = self._first(one.id, one.subject), self._unanswered[one.unread]
        return first if first != Cause(one.id, one.subject) else self._first(same.id, same.subject)

    def _first(self, check: str, subject: str) -> Cause:
        for above in self._because.get(check, ()):
            for place in self._places(subject):
                if (above, place) in self._keys:
                    return self._first(id_of(above), place)
        return Cause(check, subject)

    def _places(self, subject: str) -> tuple[str, ...]:
        """Subjects of possible causes of a finding about `subject`, the nearest first."""
        parent = self._parents.get(subject, "")
        return (subject, parent, "") if parent else (subject, "")
