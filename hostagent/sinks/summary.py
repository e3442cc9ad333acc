"""The summary as one line of JSON."""

from hostagent.report import Report
from hostagent.report.summarized import compact, summary


def render_summary(report: Report) -> str:
    """At most 4 KiB and a line feed."""
    return f"{compact(summary(report))}\n"
