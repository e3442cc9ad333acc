"""What a reader of a report is told first, and what its remedies say."""

import re

from hostagent.report import Report
from hostagent.sinks.digest import sections

#: By the worse of the two verdicts, where the report tells why.
_TOLD = {"not_ready": ("BLOCKS JOBS",), "unknown": ("COULD NOT READ",), "degraded": ("TO LOOK AT", "COULD NOT READ")}
_WORST_FIRST = ("not_ready", "unknown", "degraded", "ready")


def first_cause(report: Report) -> tuple[str, ...]:
    """The checks that the report tells first, in one entry, of what decides its verdict; none where nothing does."""
    worst = min((report.verdict.single_node, report.verdict.multi_node), key=_WORST_FIRST.index)
    told = {section.title: section.entries for section in sections(report)}
    return next((entry.ids for title in _TOLD.get(worst, ()) for entry in told.get(title, ())), ())


def holds(text: str, word: str) -> bool:
    """Whether a text has these words, and not as a part of longer ones.

    >>> holds("Run 'apt-get install x'.", "apt"), holds("It adapts.", "apt")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
