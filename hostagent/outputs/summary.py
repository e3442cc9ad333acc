"""The summary as one line of JSON."""

from hostagent.engine.report import Report
from hostagent.engine.report.node_status import compact
from hostagent.engine.report.node_summary import summary


def render_summary(report: Report) -> str:
    """At most 4 KiB and a line feed."""
    return f"{compact(summary(report))}\n"
