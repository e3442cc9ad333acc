"""What one pass gives the teller to say."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hostagent.daemon.labels import annotations, first_labels, labels
from hostagent.daemon.saying import Saying, Trigger, packed
from hostagent.daemon.told import State
from hostagent.report import Report, Verdicts
from hostagent.report.nodewords import NodeWords
from hostagent.report.summarized import beside as summary_beside
from hostagent.sinks import render

_WRONG = ("fail", "warn", "unknown")


def metrics(report: Report) -> str:
    """As Prometheus reads it, of single judgements those alone that fail, warn or are unknown."""
    return render(replace(report, findings=tuple(one for one in report.findings if one.outcome in _WRONG)), "prometheus")


def beside(earlier: Mapping[str, Any], told: State) -> dict[str, Any]:
    """The summary of an earlier pass, with what is told in place of what it found."""
    return summary_beside(earlier, told.verdicts, told.headline_beside(Verdicts(**earlier["verdict"])))


def words(told: State, summary: Mapping[str, Any], *, until: bool) -> NodeWords:
    """What the node is said to be. `until`: with the label that says until when."""
    return NodeWords(told.conditions, told.removed, labels(summary, told, valid_until=until), annotations(summary))


class Run(NamedTuple):
    """How the pass went, and what the loop has counted since it began: see `Saying`."""

    took_s: float
    trigger: Trigger
    passes: Mapping[str, int]
    transitions: Mapping[str, int]
    profile_problem: str = ""


def said(of_node: NodeWords, report: Report, summary: Mapping[str, Any], text: str, run: Run) -> Saying:
    """After a pass. `text` is the report as JSON."""
    return Saying(report.host.node_name, of_node, summary, packed(text), metrics(report), report.observed_at, **run._asdict())


def first_words(told: State) -> NodeWords:
    """Before a pass of this boot has said anything."""
    return NodeWords(told.conditions, told.removed, first_labels(), {})


def first_said(node: str, told: State, now: float) -> Saying:
    """Before the first pass of a boot of which nothing has been told yet."""
    return Saying(node, first_words(told), {}, b"", "", now, 0.0, "start", {}, {}, is_first=True)


def transitions(before: State, after: State) -> tuple[str, ...]:
    """The conditions whose status is another one now."""
    was = {one.type: one.status for one in before.conditions}
    return tuple(one.type for one in after.conditions if was.get(one.type, one.status) != one.status)
