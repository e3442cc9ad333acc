"""The report on one line: for a drain reason, the message of the day, Nagios."""

from hostagent.report import Report
from hostagent.report.told import first_steps, first_that_counts
from hostagent.sinks.words import WORDS
from hostagent.visible import visible

_CHARS = 200


def render_line(report: Report) -> str:
    """``NOT READY: GPU 4 (0000:9d:00.0) has fallen off the PCIe bus. Drain the node. Reboot the node.``

    At most 200 characters, the same from run to run: no times, no counters, no serial numbers.
    """
    single, multi = report.verdict.single_node, report.verdict.multi_node
    told = f"{report.headline}. " if report.headline else ""
    first = first_that_counts(report)
    todo = " ".join(step.text for step in first_steps(first)) if first else ""
    others = "" if single == multi else f" (multi-node: {WORDS[multi]})"
    line = visible(" ".join(f"{WORDS[single]}{others}{': ' if told or todo else ''}{told}{todo}".split()))
    return f"{line if len(line) <= _CHARS else line[: _CHARS - 1] + '…'}\n"
