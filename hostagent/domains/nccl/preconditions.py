"""Reasons to reject a report or node before anything is derived: age, findings, other settings on the node."""

# Two reports of one host and boot are refused, as is one that expired; one replayed from a snapshot is as old as the snapshot. Of
# the family nccl an unknown finding does not refuse a host, since what it lacks is refused where it is read.

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.nccl import bootstrap, job_variables
from hostagent.domains.nccl.agreement import Refusal, differing, in_words, names
from hostagent.domains.nccl.bootstrap import NAME as IFNAME
from hostagent.domains.nccl.bootstrap import taken
from hostagent.domains.nccl.job_variables import Assignment
from hostagent.domains.nccl.node import Finding, Node, Setting, shown
from hostagent.domains.nccl.tables.changes import Version, parse_nccl_version
from hostagent.domains.nccl.tables.plugins import is_known
from hostagent.domains.nccl.tables.variables import OLDEST, known_to, variables
from hostagent.domains.nccl.tables.vendors import Stack
from hostagent.domains.nccl.vendor import vendor

_VARIABLE = re.compile(r"\bNCCL_[A-Z0-9_]+")
_FAMILY = "nccl."
_TOPOLOGY_FILE, _SYSTEM_FILE = "NCCL_TOPO_FILE", "/etc/nccl.conf"
#: All that may be emitted, in this order.
PROPOSED = (IFNAME, "NCCL_IB_HCA", "NCCL_NET", "NCCL_IB_GID_INDEX", "NCCL_IB_TC", _TOPOLOGY_FILE)
#: May differ by node: they name what a node has.
OWN = (IFNAME, "NCCL_IB_HCA", _TOPOLOGY_FILE)
#: With these the emitted variables have no effect.
_DEFEATING = {
    "NCCL_IB_DISABLE": ("NCCL_NET", "it takes InfiniBand and RoCE from NCCL"),
    "NCCL_COMM_ID": (IFNAME, "it overrules the interface"),
}
#: Prefixes of variables that change NCCL's log alone.
_LOGGING = "NCCL_DEBUG"
#: The value of a setting that NCCL does not know: reports do not keep it.
_UNKNOWN_VALUE = "unknown value"
AGAIN = "Run 'hostagent check' there again"
_MOST = 3


def labelled(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Unique labels: a name that several nodes share gets its file, and equal shortened files a number."""
    labels = distinct([node.name for node in nodes], [node.file for node in nodes])
    return tuple(node if node.name == label else replace(node, label=label) for node, label in zip(nodes, labels, strict=True))


def distinct(labels: Sequence[str], files: Sequence[str]) -> list[str]:
    """Equal labels get the file appended, and a number where that is equal, too.

    >>> distinct(["a", "b", "b"], ["1", "2", "3"]), distinct(["a", "a"], ["x", "x"])
    (['a', 'b (2)', 'b (3)'], ['a (x) (1)', 'a (x) (2)'])
    """
    by_file = _marked(labels, [shown(file) for file in files])
    return _marked(by_file, [str(number) for number, _ in enumerate(labels, 1)])


def _marked(labels: Sequence[str], marks: Sequence[str]) -> list[str]:
    seen = Counter(labels)
    return [f"{label} ({mark})" if seen[label] > 1 else label for label, mark in zip(labels, marks, strict=True)]


def refusals(nodes: Sequence[Node], now: "float | None") -> list[Refusal]:
    """Refuses stale and partial reports. One replayed from a snapshot is as old as the snapshot, which is noted."""
    found: list[Refusal] = []
    if now is not None and (old := [node.name for node in nodes if not node.replayed and not now <= node.valid_until]):
        found.append(Refusal("stale", f"reports: that of {names(old)} has expired. {AGAIN}", tuple(old)))
    if part := [node.name for node in nodes if node.partial]:
        found.append(
            Refusal("partial", f"reports: that of {names(part)} is of some checks alone. {AGAIN}, without --only and --skip", tuple(part))
        )
    seen: dict[tuple[str, str], str] = {}
    for node in nodes:
        first = seen.setdefault((node.host.hostname, node.boot_id), node.name)
        if node.boot_id and first != node.name:
            found.append(Refusal("twice", f"reports: {first} and {node.name} are of one host and one boot", (first, node.name)))
    return found


def version_of(nodes: Sequence[Node]) -> "tuple[Version | None, list[Refusal]]":
    """The version of the NCCL on the nodes; None where jobs bring theirs."""
    found: dict[str, str] = {}
    for node in nodes:
        try:
            listed = need(need(node.facts.nccl).libraries)
            found[node.name] = need(listed[0].version) if listed else "none"
        except UnreadError as error:
            text = f"version of NCCL: not known of {node.name} ({shown(error.unread.detail) or error.unread.why}). Give --nccl VERSION"
            return None, [Refusal("unread", text, (node.name,))]
    if refusal := differing("version of NCCL", "nccl_version", {name: in_words(text) for name, text in found.items()}):
        return None, [refusal]
    return parse_nccl_version(next(iter(found.values()), "")), []


def has_plugin(nodes: Sequence[Node]) -> bool:
    """Whether a plug-in's network may be loaded; an unread one may be."""
    return any(
        isinstance(node.facts.nccl, Unread)
        or isinstance(node.facts.nccl.plugins, Unread)
        or any(one.is_network for one in node.facts.nccl.plugins)
        for node in nodes
    )


def kept(nodes: Sequence[Node]) -> list[Assignment]:
    """NCCL_TOPO_FILE of a provider's image, if /etc/nccl.conf of every node has it: a container does not see that file."""
    found = {node.name: one.text for node in nodes for one in _winning(node) if one.name == _TOPOLOGY_FILE and one.origin == _SYSTEM_FILE}
    if len(found) < len(nodes) or not all(found.values()) or any(_is_doubted(node, _TOPOLOGY_FILE) for node in nodes):
        return []
    values = set(found.values())
    why = f"what {_SYSTEM_FILE} says of these machines; a container needs the file at this place"
    return [Assignment(_TOPOLOGY_FILE, values.pop(), {}, why) if len(values) == 1 else Assignment(_TOPOLOGY_FILE, "", found, why)]


class Proposal(NamedTuple):
    """The variables for these nodes before the comparison, with the refusals of those that cannot be chosen."""

    variables: tuple[Assignment, ...]
    refusals: tuple[Refusal, ...]
    notes: tuple[str, ...]


def proposal(nodes: Sequence[Node], version: "Version | None", stack: "Stack | None", *, brings_its_own: bool) -> Proposal:
    """The variables that `version` knows; without one, those that every version knows. A provider's network chooses its own."""
    chosen, refused, remarks = list[Assignment](), list[Refusal](), tuple[str, ...]()
    if stack is None or not stack.own_bootstrap:
        interface = bootstrap.choose(nodes)
        refused += [interface.refusal] if interface.refusal else []
        chosen.append(Assignment(IFNAME, interface.common, interface.by_node, interface.why))
    if stack is None:
        network = job_variables.choose(nodes, version, has_plugin=not brings_its_own and has_plugin(nodes))
        refused += network.refusals
        chosen += [*network.variables, *kept(nodes)]
        remarks = network.notes
    known = known_to(version) if version else _known_to_all()
    return Proposal(tuple(one for one in chosen if one.name in known), tuple(refused), remarks)


def _known_to_all() -> frozenset[str]:
    """The variables that every version from 2.18 on knows."""
    return frozenset(name for name, one in variables().items() if one.known_to(OLDEST) and one.until is None)


def compared_settings(node: Node) -> tuple[tuple[str, str], ...]:
    """Settings that win on this node, by name: without those for the log alone, and without those that ``nccl env`` replaces.

    Findings of the node do not count. Raises ``UnreadError``.
    """
    need(need(node.facts.nccl).settings)
    here = (_with_links_up(replace(node, findings=())),)
    version, _ = version_of(here)
    stack, _ = vendor(here, brings_its_own=False)
    proposed = proposal(here, version, stack, brings_its_own=False).variables
    replaced = {one.name for one in proposed if one.common or one.by_node}
    winning = (one for one in _winning(node) if one.name not in replaced and not one.name.startswith(_LOGGING))
    return tuple(sorted((one.name, _compared(one)) for one in winning))


def _with_links_up(node: Node) -> Node:
    """Treats links as up, so that the variables do not change while a link flaps."""
    fabric = node.facts.fabric
    if isinstance(fabric, Unread) or isinstance(fabric.rdma, Unread):
        return node
    ports = tuple(replace(port, state="ACTIVE") for port in fabric.rdma)
    return replace(node, facts=replace(node.facts, fabric=replace(fabric, rdma=ports)))


def _compared(one: Setting) -> str:
    if not is_known(one.name):
        return one.text or _UNKNOWN_VALUE
    if isinstance(one.value, Unread):
        raise UnreadError(Unread("not-recorded", f"value of {shown(one.name)}: {one.value.detail or one.value.why}"))
    return one.value


def settings_refusals(nodes: Sequence[Node], assignments: Sequence[Assignment], version: Version) -> list[Refusal]:
    """Refusals for findings that end jobs, and for settings on the nodes that defeat the emitted ones or differ by node."""
    emitted = frozenset(one.name for one in assignments)
    found: list[Refusal] = []
    for node in nodes:
        try:
            need(need(node.facts.nccl).settings)
        except UnreadError as error:
            found.append(Refusal("unread", f"settings of NCCL: not known of {node.name} ({shown(error.unread.detail)})", (node.name,)))
        ending = [one for one in node.findings if _ends_jobs(one) and not _is_overruled(one, emitted)]
        if ending:
            heads = list(dict.fromkeys(shown(one.headline or one.message or one.id) for one in ending))
            more = f", and {len(heads) - _MOST} more" if len(heads) > _MOST else ""
            first = "; ".join(heads[:_MOST])
            found.append(Refusal("not_ready", f"{node.name} is not ready: {first}{more}", (node.name,)))
        found += [
            Refusal(
                "setting", f"{node.name} sets {one.name}={shown(one.text)} in {shown(one.origin)}: {_DEFEATING[one.name][1]}", (node.name,)
            )
            for one in _winning(node)
            if one.name in _DEFEATING and _DEFEATING[one.name][0] in emitted and one.text.strip() not in {"", "0"}
        ]
    return found + _unequal(nodes, emitted) + _not_taken(nodes, assignments, version)


def _unequal(nodes: Sequence[Node], emitted: frozenset[str]) -> list[Refusal]:
    """Variables with different values on the nodes, which would make ranks differ; those for the log alone may differ."""
    values = {node.name: {one.name: one.text for one in _winning(node)} for node in nodes}
    named = {name for settings in values.values() for name in settings if not name.startswith(_LOGGING)}
    every = sorted(named - emitted - set(OWN))
    found = [
        differing(shown(name), "setting_differs", {node: setting_in_words(settings.get(name)) for node, settings in values.items()})
        for name in every
    ]
    return [one for one in found if one]


def setting_in_words(value: "str | None") -> str:
    """None: the node does not have it."""
    return "no such setting" if value is None else shown(value) or "an empty or unknown value"


def _not_taken(nodes: Sequence[Node], assignments: Sequence[Assignment], version: Version) -> list[Refusal]:
    """Nodes where NCCL, with all settings there, would take another interface than the intended one."""
    one = next((each for each in assignments if each.name == IFNAME), None)
    found: list[Refusal] = []
    for node in nodes if one and (one.common or one.by_node) else ():
        value = one.by_node.get(node.name, one.common) if one else ""
        try:
            meant = taken(node, {IFNAME: value}, version)
            got = taken(node, {**{each.name: each.text for each in _winning(node)}, IFNAME: value}, version)
        except UnreadError:
            continue  # refused where the interface was chosen
        if not meant or meant != got:
            other = f"interface {shown(got)}" if got else "no interface"
            text = f"{node.name}: with its other settings NCCL would take {other}, not {shown(meant or value)}"
            found.append(Refusal("interface", text, (node.name,)))
    return found


def notes(nodes: Sequence[Node], assignments: Sequence[Assignment]) -> list[str]:
    """Remarks that do not refuse anything."""
    emitted = frozenset(one.name for one in assignments)
    replayed = [node.name for node in nodes if node.replayed]
    found = [f"of {names(replayed)} a snapshot was judged: the answer is as old as that"] if replayed else []
    for node in nodes:
        other = [
            one for one in node.findings if one.id.startswith(_FAMILY) and one.outcome in {"fail", "warn"} and one.severity == "warning"
        ]
        found += [
            f"{node.name}: {shown(one.headline or one.message)} ({shown(one.id)})" for one in other if not _is_overruled(one, emitted)
        ]
    return found


def _winning(node: Node) -> tuple[Setting, ...]:
    nccl = node.facts.nccl
    return () if isinstance(nccl, Unread) or isinstance(nccl.settings, Unread) else tuple(one for one in nccl.settings if one.wins)


def _ends_jobs(one: Finding) -> bool:
    """Unknown outcomes of NCCL's own checks do not count: their unread values are refused (`settings_refusals`, `version_of`)."""
    if one.outcome == "unknown" and one.id.startswith(_FAMILY):
        return False
    return one.severity == "critical" and one.axis == "fitness" and one.outcome in {"fail", "unknown"}


def named(one: Finding) -> frozenset[str]:
    """The variables that a finding or its remedy names."""
    words = (one.message, one.headline, one.found, *one.evidence, *(step.text for step in one.remedy))
    return frozenset(_VARIABLE.findall(" ".join(words)))


def _is_overruled(one: Finding, emitted: frozenset[str]) -> bool:
    """Whether it is about settings of NCCL alone and all of them get another value."""
    found = named(one)
    return one.id.startswith(_FAMILY) and bool(found) and found <= emitted


def _is_doubted(node: Node, name: str) -> bool:
    return any(one.id.startswith(_FAMILY) and one.outcome in {"fail", "warn", "unknown"} and name in named(one) for one in node.findings)
