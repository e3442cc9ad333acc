"""What is told under what: a reader wants to hear the cause first, and what follows from it under it.

Presentation alone: no outcome, severity or verdict depends on it.
"""

from collections.abc import Iterable
from dataclasses import replace

from hostagent.check import Check
from hostagent.report import Cause, Judgement

_FOUND = ("fail", "warn")


def with_causes(checks: Iterable[Check], judgements: tuple[Judgement, ...]) -> tuple[Judgement, ...]:
    """`judgements` with the cause of each that failed, warned or is unknown. One that has it already keeps it.

    A finding is told under one of the checks that its own names in ``because``: about the same device, else about the whole host;
    so what concerns the whole host is never told under one device. What is unknown is told under the finding that is about the
    question that had no answer.
    """
    found = _Found(checks, [one for one in judgements if one.outcome in _FOUND])
    wrong = (*_FOUND, "unknown")
    return tuple(one if one.cause.id or one.outcome not in wrong else replace(one, cause=found.cause(one)) for one in judgements)


class _Found:
    """The findings of one host."""

    def __init__(self, checks: Iterable[Check], findings: list[Judgement]) -> None:
        self._because = {one.id: one.because for one in checks if one.because}
        self._keys = {(one.id, one.subject) for one in findings}
        self._explaining = [one for one in findings if one.unread]

    def cause(self, one: Judgement) -> Cause:
        gap = [other for other in self._explaining if other.unread == one.unread] if one.outcome == "unknown" and one.unread else []
        if gap:
            nearest = min(gap, key=lambda other: (other.subject != one.subject, other.subject != "", other.id, other.subject, other.code))
            return nearest.cause if nearest.cause.id else self._first(nearest.id, nearest.subject)
        return self._first(one.id, one.subject)

    def _first(self, check: str, subject: str) -> Cause:
        for above in self._because.get(check, ()):
            for place in (subject, ""):
                if (above, place) in self._keys:
                    return self._first(above, place)
        return Cause(check, subject)
