"""The summary as one line of JSON."""

from hostagent.report import Report
from hostagent.report.nodewords import compact
from hostagent.report.summarized import summary


def render_summary(report: Report) -> str:
    """At most 4 KiB and a line feed."""
    return f"{compact(summary(report))}\n"
