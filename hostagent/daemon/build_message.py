"""Builds the publish message of one pass."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hostagent.core.unread import Unread
from hostagent.daemon.debounce import State
from hostagent.daemon.labels import annotations, labels, unknown_labels
from hostagent.daemon.message import Message, Trigger, packed
from hostagent.engine.report import Report, Verdicts
from hostagent.engine.report.devices import uuids
from hostagent.engine.report.node_status import NodeWords, Transition
from hostagent.engine.report.node_summary import beside as summary_beside
from hostagent.facts.history import History
from hostagent.outputs.prometheus import NOT_WELL, family, render_prometheus


def metrics(report: Report, history: History) -> str:
    """As Prometheus reads it, of single judgements those alone that fail, warn or are unknown; and Xids and SXids of this boot."""
    text = render_prometheus(replace(report, findings=tuple(one for one in report.findings if one.outcome in NOT_WELL)), named=True)
    known = uuids(report.facts)
    counts: Counter[tuple[str, str, str]] = Counter()
    for fault in () if isinstance(history.faults, Unread) else history.faults:
        counts[fault.kind, str(fault.xid.code), fault.xid.pci] += fault.xid.count
    samples = [
        ({"kind": kind, "code": code, "pci": pci, "uuid": known.get(pci, "")}, count) for (kind, code, pci), count in sorted(counts.items())
    ]
    return text + family("xids_total", "Xids of GPUs and SXids of NVSwitches in the kernel log of this boot.", samples, "counter")


def beside(earlier: Mapping[str, Any], published: State) -> dict[str, Any]:
    """The summary of an earlier pass, with the published verdict in place of the measured one."""
    return summary_beside(earlier, published.verdicts, published.headline_beside(Verdicts(**earlier["verdict"])))


def words(published: State, summary: Mapping[str, Any], *, until: bool) -> NodeWords:
    """Conditions, labels and annotations of the node. `until`: with the label of the time at which the verdict expires."""
    return NodeWords(published.conditions, published.removed, labels(summary, published, valid_until=until), annotations(summary))


class Run(NamedTuple):
    """How the pass went, and what the loop has counted since it began: see `Message`."""

    metrics: str
    judged_by: float
    took_s: float
    trigger: Trigger
    passes: Mapping[str, int]
    transitions: Mapping[str, int]
    profile_problem: str = ""
    news: tuple[Transition, ...] = ()


def pass_message(of_node: NodeWords, report: Report, summary: Mapping[str, Any], text: str, run: Run) -> Message:
    """After a pass. `text` is the report as JSON."""
    return Message(report.host.node_name, of_node, summary, packed(text), observed_at=report.observed_at, **run._asdict())


def first_words(published: State) -> NodeWords:
    """Before the first verdict of this boot: verdict, labels and summary of the boot before are withdrawn."""
    return NodeWords(published.conditions, published.removed, unknown_labels(), {"summary": None})


def first_message(node: str, published: State, news: tuple[Transition, ...] = ()) -> Message:
    """Before the first pass of a boot for which nothing has been published yet."""
    return _without_pass(node, first_words(published), 0.0, news=news)


def kept_message(node: str, published: State, observed_at: float) -> Message:
    """What an earlier process published in this boot, after its pass of `observed_at`."""
    return _without_pass(node, NodeWords(published.conditions, published.removed, {}, {}), observed_at, is_kept=True)


def _without_pass(node: str, of_node: NodeWords, observed_at: float, **more: Any) -> Message:
    return Message(node, of_node, {}, b"", "", observed_at, 0.0, 0.0, "start", {}, {}, **more)
