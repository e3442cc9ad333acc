"""Findings beyond those of the script: the causes of the report as lines. They do not affect the result."""

from collections.abc import Iterable, Sequence

from hostagent.core.escape import cut
from hostagent.core.text import counted
from hostagent.engine.report import Report
from hostagent.engine.report.grouping import NOTHING, Group, groups, headline
from hostagent.setup.line import Line

#: Causes that are listed one by one.
_MOST = 24
_LONGEST = 200


def beyond(report: Report) -> tuple[Line, ...]:
    """Causes that count as WARN, others as INFO; all advisories, and all unknowns, as one INFO each."""
    causes = groups(report)
    found = [group for group in causes if group.cause.finding.outcome != "unknown"]
    fitness = [group for group in found if group.cause.finding.axis != "security"]
    lines = [Line("INFO" if group.rank == NOTHING else "WARN", cut(headline(group), _LONGEST)) for group in fitness[:_MOST]]
    if len(fitness) > _MOST:
        lines.append(Line("INFO", f"and {counted(len(fitness) - _MOST, 'cause')} more, 'hostagent check' tells all"))
    advisories = [group for group in found if group.cause.finding.axis == "security"]
    return (*lines, *_advisories(advisories), *_unjudged(report))


def _advisories(several: Sequence[Group]) -> Iterable[Line]:
    if several:
        number = f"{len(several)} security advisor{'y' if len(several) == 1 else 'ies'}"
        yield Line("INFO", f"{number}: {cut('; '.join(map(headline, several)), _LONGEST)}")


def _unjudged(report: Report) -> Iterable[Line]:
    """Unknowns by missing answer, because many checks may lack the same one."""
    unknown = [one for one in report.findings if one.outcome == "unknown"]
    if unknown:
        checks, gaps = len({one.id for one in unknown}), len({one.unread or one.message for one in unknown})
        what = f"{counted(checks, 'check')} could not be judged, {counted(gaps, 'answer')} missing"
        yield Line("INFO", f"{what}: 'hostagent check' tells which")
