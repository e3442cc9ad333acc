"""What a reader of a report is told first, and what its remedies say."""

import re

from hostagent.engine.report import Report
from hostagent.engine.report.grouping import NOTHING, groups


def first_cause(report: Report) -> tuple[str, ...]:
    """The checks that the report tells first, in one cause, of what decides its verdict; none where nothing does."""
    first = next((group for group in groups(report) if group.rank < NOTHING), None)
    if first is None:
        return ()
    return tuple(dict.fromkeys((first.cause.finding.id, *(one.id for one in first.unknown))))


def told(steps) -> str:
    """All steps, each command in quotes."""
    return " ".join(f"{step.text} '{step.command}'" if step.command else step.text for step in steps)


def holds(text: str, word: str) -> bool:
    """Whether a text has these words, and not as a part of longer ones.

    >>> holds("Run 'apt-get install x'.", "apt"), holds("It adapts.", "apt")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
