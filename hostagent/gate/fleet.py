"""Many summaries as one document: how many nodes may take jobs, what stops the others, and which nodes are alike. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from hostagent.core.escape import visible
from hostagent.core.frozen import frozen
from hostagent.core.typed import finite
from hostagent.domains.nccl.class_inputs import CLASS_INPUTS, HOST_INPUTS, release
from hostagent.gate.candidate import badness, rank
from hostagent.gate.classes import CUT_INPUT, RELEASE
from hostagent.gate.eligibility import AHEAD_S
from hostagent.gate.wording import not_read

SCHEMA_VERSION = 1
State = Literal["ready", "degraded", "not_ready", "unknown", "stale"]
#: Letters that are kept of a name, a headline and a value.
_NAME, _TEXT, _VALUE = 100, 200, 1000
#: Greater numbers are none that a summary has.
_GREATEST = 1 << 60
#: Of severities; a summary that does not count weighs 1.
_WEIGHTS = {"critical": 0, "warning": 2, "info": 3}
_NOT_RECORDED = not_read("not-recorded")
#: Causes that no check names, by code; their id is empty.
_OWN_CAUSES = {
    "expired": "The summary has expired",
    "future": "The summary is of the future: the clock of the node or of this machine is wrong",
    "no-time": "The summary has no usable time",
    "no-reason": "The summary names no reason",
}


@frozen
class Counts:
    """Nodes by state, and those that may take jobs of one node and of several."""

    nodes: int
    """All nodes, each by its newest summary; of two of one time the worse counts."""
    ready: int
    """Nodes whose summary counts and says so, for jobs of one node."""
    degraded: int
    """The same: jobs may run, something is wrong."""
    not_ready: int
    """The same: no job may run."""
    unknown: int
    """The same: it could not be judged."""
    stale: int
    """Nodes whose summary no longer counts, whatever it says."""
    single_node: int
    """Nodes that may take jobs of one node: ready and degraded."""
    multi_node: int
    """Those of them that may take part in jobs on several nodes."""


@frozen
class Cause:
    """One reason with all nodes that name it; ``headline`` is that of ``headline_of``, the first node that has it first."""

    id: str
    """The check; empty where the summary itself is the cause."""
    code: str
    """Which of its findings; without a check: expired, future, no-time or no-reason."""
    severity: str
    """How much it weighs, as the first node says; empty where the summary itself is the cause."""
    headline: str
    """What happened, of the first node that has it as its first cause; empty where there is none."""
    headline_of: str
    """That node."""
    headlines: int
    """How many different headlines the nodes have that have it as their first cause."""
    nodes: tuple[str, ...]
    """The nodes that name it among their causes; of a stale node no other cause counts."""


@frozen
class Difference:
    """An input in which a class differs from the largest one; ``found`` and ``wanted`` as shown, also where one was not read."""

    name: str
    """The input."""
    found: str
    """Its value here, or why there is none."""
    wanted: str
    """Its value in the largest class."""


@frozen
class Odd:
    """A fact in which some nodes of a class differ from ``others`` of it."""

    fact: str
    """driver, cuda, toolkit, firmware (of the rails), nccl, coverage, or an input of the host's class."""
    found: str
    """Its value there, or why there is none."""
    wanted: str
    """The value that most nodes have."""
    nodes: tuple[str, ...]
    """The nodes that differ."""
    others: int
    """How many nodes have the wanted value."""


@frozen
class Domain:
    """Nodes of one class that NVLink connects; ``domain`` is empty for nodes without one."""

    domain: str
    """The domain; empty for nodes without one."""
    nodes: tuple[str, ...]
    """Its nodes."""


@frozen
class Class:
    """Nodes that one job may use together."""

    fabric_class: str
    """The class, as the summaries say it."""
    gpus: str
    """How many GPUs each node has, and which; empty where that is not known."""
    nodes: tuple[str, ...]
    """Its nodes."""
    domains: tuple[Domain, ...]
    """The same nodes by the domain of NVLink."""
    differs: tuple[Difference, ...]
    """The inputs in which the class differs from the largest one; of the largest none."""
    differs_hidden: str
    """Why no input differs that the summaries show; empty where one does, and of the largest class."""
    odd: tuple[Odd, ...]
    """Facts in which some nodes of the class differ from most of it."""


@frozen
class WithoutClass:
    """Nodes that have no class for one and the same reason."""

    why: str
    """The inputs that were not read."""
    nodes: tuple[str, ...]
    """Those nodes."""


@frozen
class Node:
    """One node by its newest summary; ``cause`` is the position of its first cause."""

    node: str
    """Its name."""
    state: State
    """stale where its summary no longer counts, else its verdict for jobs of one node."""
    single_node: str
    """What its summary says of jobs of one node."""
    multi_node: str
    """What its summary says of jobs on several nodes."""
    takes_multi_node: bool
    """Whether it may take part in jobs on several nodes."""
    fabric_class: str
    """The class of its fabric; empty where it has none."""
    domain: str
    """Its domain of NVLink; empty where it has none."""
    headline: str
    """What happened, of its first cause."""
    cause: int | None
    """The position of its first cause in causes; null for none."""
    observed_at: float | None
    """When it was read, in seconds since 1970; null where that is no finite number."""
    valid_until: float | None
    """Until when the summary counts, in seconds since 1970; null where that is no finite number."""


@frozen
class Fleet:
    """Times are seconds since 1970."""

    schema_version: int
    """The version of this schema."""
    made_at: float
    """When the summaries were read, in seconds since 1970."""
    counts: Counts
    """How many nodes there are, each counted in one state."""
    causes: tuple[Cause, ...]
    """What is wrong, the most frequent first."""
    classes: tuple[Class, ...]
    """The nodes by the class of their fabric, the largest class first."""
    without_class: tuple[WithoutClass, ...]
    """Nodes that have no class."""
    nodes: tuple[Node, ...]
    """Each node, by name."""
    warnings: tuple[str, ...]
    """Files that do not count, each with the reason."""


class _NodeSummary:
    """The parts of one summary that count."""

    __slots__ = (
        "class_",
        "domain",
        "facts",
        "gpus",
        "headline",
        "inputs",
        "multi_node",
        "name",
        "observed",
        "reasons",
        "single_node",
        "state",
        "until",
    )

    def __init__(self, summary: Mapping[str, Any], now: float) -> None:
        fabric, verdict = _mapping(summary.get("fabric")), _mapping(summary.get("verdict"))
        self.name = _text(summary.get("node"), _VALUE)
        self.observed, self.until = finite(summary.get("observed_at")), finite(summary.get("valid_until"))
        self.single_node, self.multi_node = _verdict(verdict.get("single_node")), _verdict(verdict.get("multi_node"))
        self.headline = _text(summary.get("headline"), _TEXT)
        stale = _stale(self.observed, self.until, now)
        self.state: State = "stale" if stale else self.single_node
        named = [("", stale, "")] if stale else _reasons(summary.get("reasons"))
        is_fine = self.single_node == self.multi_node == "ready"
        self.reasons = named or ([] if is_fine else [("", "no-reason", "")])
        self.class_ = fabric["class"] if isinstance(fabric.get("class"), str) else ""
        self.domain = fabric["domain"] if isinstance(fabric.get("domain"), str) else ""
        self.inputs = fabric.get("inputs")
        self.gpus = summary.get("gpus")
        self.facts = _facts(summary, fabric)

    @property
    def rank(self) -> "tuple[float, int, int]":
        """Greater for what counts more."""
        return rank(self.observed, self.single_node, self.multi_node)

    @property
    def takes_multi_node(self) -> bool:
        return self.state in ("ready", "degraded") and self.multi_node in ("ready", "degraded")


def fleet(summaries: Iterable[Mapping[str, Any]], now: float, warnings: Sequence[str] = ()) -> Fleet:
    """Of several summaries of a node the newest counts; of several of one time, as at the gate, the worse of each verdict.

    `warnings` may be a list that grows while `summaries` are read.
    """
    newest: dict[str, _NodeSummary] = {}
    for summary in summaries:
        one = _NodeSummary(summary, now)
        other = newest.get(one.name)
        if other is None or one.rank > other.rank:
            newest[one.name] = one
        if other is not None and one.observed == other.observed:
            newest[one.name].multi_node = max(one.multi_node, other.multi_node, key=badness)
    nodes = [newest[name] for name in sorted(newest)]
    causes = _causes(nodes)
    place = {(cause.id, cause.code): number for number, cause in enumerate(causes)}
    states = Counter(one.state for one in nodes)
    counts = Counts(
        nodes=len(nodes),
        ready=states["ready"],
        degraded=states["degraded"],
        not_ready=states["not_ready"],
        unknown=states["unknown"],
        stale=states["stale"],
        single_node=states["ready"] + states["degraded"],
        multi_node=sum(one.takes_multi_node for one in nodes),
    )
    return Fleet(
        SCHEMA_VERSION,
        now,
        counts,
        causes,
        _classes([one for one in nodes if one.class_]),
        _without_class([one for one in nodes if not one.class_]),
        tuple(_node(one, place) for one in nodes),
        tuple(visible(one) for one in warnings),
    )


def _node(one: _NodeSummary, place: Mapping["tuple[str, str]", int]) -> Node:
    return Node(
        one.name,
        one.state,
        one.single_node,
        one.multi_node,
        one.takes_multi_node,
        _text(one.class_, len(one.class_)),
        _text(one.domain, len(one.domain)),
        one.headline,
        place[one.reasons[0][:2]] if one.reasons else None,
        one.observed,
        one.until,
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any, most: int) -> str:
    return visible(value[:most]) if isinstance(value, str) else ""


def _verdict(value: Any) -> "Literal['ready', 'degraded', 'not_ready', 'unknown']":
    return value if isinstance(value, str) and value in ("ready", "degraded", "not_ready") else "unknown"  # type: ignore[return-value]


def _stale(observed: "float | None", until: "float | None", now: float) -> str:
    """The code of its cause; "" where the summary still counts."""
    if observed is None or until is None:
        return "no-time"
    if observed > now + AHEAD_S:
        return "future"
    return "expired" if until < now else ""


def _reasons(value: Any) -> "list[tuple[str, str, str]]":
    """Id, code and severity, each pair of id and code once."""
    found: dict[tuple[str, str], str] = {}
    for one in value if isinstance(value, list) else ():
        row = _mapping(one)
        found.setdefault((_text(row.get("id"), _NAME), _text(row.get("code"), _NAME)), _text(row.get("severity"), _NAME))
    return [(check, code, severity) for (check, code), severity in found.items() if check]


def _shown(value: Any) -> str:
    """A value of a summary, or why there is none."""
    if isinstance(value, str):
        return _text(value, _VALUE)
    if isinstance(value, bool) or value is None or not isinstance(value, int | dict):
        return not_read("error") if value is not None else _NOT_RECORDED
    return str(value) if isinstance(value, int) and abs(value) < _GREATEST else _unread(value)


def _unread(value: Any) -> str:
    return not_read(_text(_mapping(value).get("unread"), _NAME) or "error")


def _facts(summary: Mapping[str, Any], fabric: Mapping[str, Any]) -> "dict[str, str]":
    """What nodes of one class may differ in. Summaries of earlier releases have no firmware."""
    nccl, inputs = _mapping(summary.get("nccl")), _mapping(fabric.get("inputs"))
    found = {"driver": summary.get("driver"), "cuda": summary.get("cuda"), "toolkit": summary.get("toolkit")}
    if "firmware" in fabric:
        found["firmware"] = fabric["firmware"]
    found["nccl"] = nccl.get("version", nccl or None)
    found |= {name: inputs[name] for name in HOST_INPUTS if name not in found and name in inputs}
    return {name: _shown(value) for name, value in {**found, "coverage": summary.get("coverage")}.items()}


def _causes(nodes: Sequence[_NodeSummary]) -> "tuple[Cause, ...]":
    """Most nodes first, then the heaviest."""
    having: dict[tuple[str, str], list[_NodeSummary]] = {}
    severities: dict[tuple[str, str], str] = {}
    for one in nodes:
        for check, code, severity in one.reasons:
            having.setdefault((check, code), []).append(one)
            severities.setdefault((check, code), severity)
    found = []
    for (check, code), those in having.items():
        first = [one for one in those if one.reasons[0][:2] == (check, code) and one.headline and check]
        headline = first[0].headline if first else "" if check else _OWN_CAUSES.get(code, "")
        names = tuple(one.name for one in those)
        kinds = len({one.headline for one in first})
        found.append(Cause(check, code, severities[check, code], headline, first[0].name if first else "", kinds, names))
    return tuple(sorted(found, key=lambda one: (-len(one.nodes), _WEIGHTS.get(one.severity, 1), one.id, one.code)))


def _classes(nodes: Sequence[_NodeSummary]) -> "tuple[Class, ...]":
    """Largest first."""
    groups: dict[str, list[_NodeSummary]] = {}
    for one in nodes:
        groups.setdefault(one.class_, []).append(one)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(_class(name, those, *ordered[0]) for name, those in ordered)


def _class(name: str, nodes: Sequence[_NodeSummary], largest: str, wanted: Sequence[_NodeSummary]) -> Class:
    differs = () if name == largest else _differences(_mapping(nodes[0].inputs), _mapping(wanted[0].inputs))
    hidden = ""
    if name != largest and not differs:
        hidden = CUT_INPUT if release(name) == release(largest) else RELEASE
    return Class(
        _text(name, len(name)), _gpus(nodes[0]), tuple(one.name for one in nodes), _domains(nodes), differs, hidden, tuple(_odd(nodes))
    )


def _gpus(one: _NodeSummary) -> str:
    """Such as 8 x NVIDIA H100 80GB HBM3."""
    inputs, gpus = _mapping(one.inputs), _mapping(one.gpus)
    counts, products = (inputs.get("gpu_count"), gpus.get("count")), (inputs.get("gpu_product"), gpus.get("product"))
    count = next((_shown(value) for value in counts if isinstance(value, str | int) and not isinstance(value, bool)), "?")
    product = next((_text(value, _NAME) for value in products if isinstance(value, str)), "")
    return f"{count[:_NAME]} x {product}" if product else ""


def _domains(nodes: Sequence[_NodeSummary]) -> "tuple[Domain, ...]":
    groups: dict[str, list[str]] = {}
    for one in nodes:
        groups.setdefault(one.domain, []).append(one.name)
    ordered = sorted(groups.items(), key=lambda item: (not item[0], -len(item[1]), item[0]))
    return tuple(Domain(_text(name, len(name)), tuple(those)) for name, those in ordered)


def _differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> "tuple[Difference, ...]":
    pairs = ((name, found.get(name), wanted.get(name)) for name in CLASS_INPUTS)
    return tuple(Difference(name, _shown(one), _shown(other)) for name, one, other in pairs if _differ(one, other))


def _differ(one: Any, other: Any) -> bool:
    """Texts whole, also where they are shown shortened."""
    return one != other if isinstance(one, str) and isinstance(other, str) else _shown(one) != _shown(other)


def _odd(nodes: Sequence[_NodeSummary]) -> "Iterable[Odd]":
    """Facts in which a minority differs, the greatest minority first."""
    for fact in dict.fromkeys(name for one in nodes for name in one.facts):
        having: dict[str, list[str]] = {}
        for one in nodes:
            having.setdefault(one.facts.get(fact, _NOT_RECORDED), []).append(one.name)
        if len(having) > 1:
            (most, others), *rest = sorted(sorted(having.items(), reverse=True), key=lambda item: -len(item[1]))
            yield from (Odd(fact, value, most, tuple(names), len(others)) for value, names in rest)


def _without_class(nodes: Sequence[_NodeSummary]) -> "tuple[WithoutClass, ...]":
    groups: dict[str, list[str]] = {}
    for one in nodes:
        groups.setdefault(_why_without(one), []).append(one.name)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(WithoutClass(why, tuple(those)) for why, those in ordered)


def _why_without(one: _NodeSummary) -> str:
    """The inputs of the class that were not read."""
    inputs = _mapping(one.inputs)
    if not inputs or "unread" in inputs:
        return f"inputs of the class: {_unread(inputs) if inputs else _NOT_RECORDED}"
    missing = [f"{name}: {_shown(inputs.get(name))}" for name in CLASS_INPUTS if not isinstance(inputs.get(name), str)]
    return "; ".join(missing) or "the summary names no class"
