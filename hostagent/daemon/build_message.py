"""What one pass gives the teller to say."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hostagent.core.unread import Unread
from hostagent.daemon.debounce import State
from hostagent.daemon.labels import annotations, labels, unknown_labels
from hostagent.daemon.message import Saying, Trigger, packed
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


def beside(earlier: Mapping[str, Any], told: State) -> dict[str, Any]:
    """The summary of an earlier pass, with what is told in place of what it found."""
    return summary_beside(earlier, told.verdicts, told.headline_beside(Verdicts(**earlier["verdict"])))


def words(told: State, summary: Mapping[str, Any], *, until: bool) -> NodeWords:
    """What the node is said to be. `until`: with the label that says until when."""
    return NodeWords(told.conditions, told.removed, labels(summary, told, valid_until=until), annotations(summary))


class Run(NamedTuple):
    """How the pass went, and what the loop has counted since it began: see `Saying`."""

    metrics: str
    judged_by: float
    took_s: float
    trigger: Trigger
    passes: Mapping[str, int]
    transitions: Mapping[str, int]
    profile_problem: str = ""
    news: tuple[Transition, ...] = ()


def said(of_node: NodeWords, report: Report, summary: Mapping[str, Any], text: str, run: Run) -> Saying:
    """After a pass. `text` is the report as JSON."""
    return Saying(report.host.node_name, of_node, summary, packed(text), observed_at=report.observed_at, **run._asdict())


def first_words(told: State) -> NodeWords:
    """Before a verdict of this boot: what stands there of the boot before is taken back."""
    return NodeWords(told.conditions, told.removed, unknown_labels(), {"summary": None})


def first_said(node: str, told: State, news: tuple[Transition, ...] = ()) -> Saying:
    """Before the first pass of a boot of which nothing has been told yet."""
    return _without_pass(node, first_words(told), 0.0, news=news)


def kept_said(node: str, told: State, observed_at: float) -> Saying:
    """What an earlier process of this boot told, by a pass of `observed_at`."""
    return _without_pass(node, NodeWords(told.conditions, told.removed, {}, {}), observed_at, is_kept=True)


def _without_pass(node: str, of_node: NodeWords, observed_at: float, **more: Any) -> Saying:
    return Saying(node, of_node, {}, b"", "", observed_at, 0.0, 0.0, "start", {}, {}, **more)
