"""The report on one line: for a drain reason, the message of the day, Nagios."""

# Inventory when READY, else headline and first steps; at most 200 characters, cut at a word with three ASCII dots. The line of a
# recorded host is the same an hour later (clock, repeated log lines, grown counters, other pids).

from collections.abc import Mapping

from hostagent.core.escape import visible
from hostagent.core.vocabulary import Verdict
from hostagent.engine.report import Report
from hostagent.engine.report.grouping import first_steps, first_that_counts
from hostagent.engine.report.host_coverage import gap_word
from hostagent.engine.report.inventory import inventory
from hostagent.outputs.digest import WORDS, sentence, why_nothing

#: By scope, as a line names it where the two verdicts differ.
_NAMES = {"single_node": "single-node", "multi_node": "multi-node"}
_CHARS = 200
_CUT = "..."


def render_line(report: Report, scope: str = "single_node") -> str:
    """``NOT READY: GPU 4 (0000:9d:00.0) has fallen off the PCIe bus. Drain the node. Reboot the node.``

    At most 200 characters, the same from run to run: no times, no counters, no serial numbers. `scope`: whose verdict it begins with.
    """
    verdicts = {name: getattr(report.verdict, name) for name in _NAMES}
    head = f"{WORDS[verdicts[scope]]} by the selected checks" if report.partial else both(verdicts, scope, gap_word(report))
    first = first_that_counts(report)
    told = " ".join((sentence(report.headline), *(step.text for step in first_steps(report, first)))) if first else _nothing(report)
    return one_line(f"{head}: {told}")


def both(verdicts: Mapping[str, Verdict], scope: str = "single_node", gap: str = "") -> str:
    """The verdict of the scope, the other one where that differs, and how little was looked at (`gap`) where that was not all.

    >>> both({"single_node": "ready", "multi_node": "not_ready"}), both({"single_node": "ready", "multi_node": "not_ready"}, "multi_node")
    ('READY (multi-node: NOT READY)', 'NOT READY (single-node: READY)')
    >>> both({"single_node": "ready", "multi_node": "unknown"}, gap="no-network")
    'READY (multi-node: UNKNOWN, coverage: no-network)'
    """
    others = [f"{name}: {WORDS[verdicts[key]]}" for key, name in _NAMES.items() if verdicts[key] != verdicts[scope]]
    more = ", ".join((*others, *([f"coverage: {gap}"] if gap else [])))
    return f"{WORDS[verdicts[scope]]}{f' ({more})' if more else ''}"


def one_line(text: str) -> str:
    """With its end; at most 200 characters, visible."""
    words = text.rstrip(": ").replace("…", _CUT).split()
    return f"{_cut(visible(' '.join(words)))}\n"


def for_nagios(line: str) -> str:
    """What stands behind a bar is performance data there.

    >>> for_nagios("DEGRADED: Look at 'dmesg | tail'.")
    "DEGRADED: Look at 'dmesg / tail'."
    """
    return line.replace("|", "/")


def _cut(line: str) -> str:
    """At most `_CHARS`, whole words where there are any: what is cut ends in three dots, which every terminal has."""
    if len(line) <= _CHARS:
        return line
    start = line[: _CHARS - len(_CUT)]
    words, _, _ = start.rpartition(" ")
    return f"{words if len(words) > _CHARS // 2 else start}{_CUT}"


def _nothing(report: Report) -> str:
    return inventory(report) if report.verdict.single_node == "ready" else why_nothing(report)
