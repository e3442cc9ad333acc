"""What speaks against a report or a node before anything is derived: age, findings, other settings that stand there."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from hostagent.facts.unread import Unread, UnreadError, need
from hostagent.knowledge.ncclchanges import Version, parse_nccl_version
from hostagent.nccl.agreement import Refusal, differing, in_words, names
from hostagent.nccl.bootstrap import NAME as IFNAME
from hostagent.nccl.bootstrap import taken
from hostagent.nccl.node import Finding, Node, Setting, shown
from hostagent.nccl.transport import Told

_VARIABLE = re.compile(r"\bNCCL_[A-Z0-9_]+")
_FAMILY = "nccl."
_TOPOLOGY_FILE, _SYSTEM_FILE = "NCCL_TOPO_FILE", "/etc/nccl.conf"
#: May differ by node: they name what a node has.
_OWN = (IFNAME, "NCCL_IB_HCA", _TOPOLOGY_FILE)
#: With these no variable that is emitted has its effect.
_DEFEATING = {
    "NCCL_IB_DISABLE": ("NCCL_NET", "it takes InfiniBand and RoCE from NCCL"),
    "NCCL_COMM_ID": (IFNAME, "it overrules the interface"),
}
_AGAIN = "Run 'hostagent check' there again"
_MOST = 3


def labelled(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """No two have one label: two machines may share a name, which then has its file beside it, and files a name as far as it is shown."""
    by_file = _told_apart(nodes, lambda node, _: shown(node.file))
    return _told_apart(by_file, lambda _, number: str(number))


def _told_apart(nodes: Sequence[Node], mark: Callable[[Node, int], str]) -> tuple[Node, ...]:
    """What several are called has a mark behind it."""
    seen = Counter(node.name for node in nodes)
    return tuple(
        replace(node, label=f"{node.name} ({mark(node, number)})") if seen[node.name] > 1 else node for number, node in enumerate(nodes, 1)
    )


def refusals(nodes: Sequence[Node], now: "float | None") -> list[Refusal]:
    """Of reports that say nothing of today or of the whole host. One that was replayed from a snapshot is as old as that, and is noted."""
    found: list[Refusal] = []
    if now is not None and (old := [node.name for node in nodes if not node.replayed and not now <= node.valid_until]):
        found.append(Refusal("stale", f"reports: that of {names(old)} has expired. {_AGAIN}", tuple(old)))
    if part := [node.name for node in nodes if node.partial]:
        found.append(
            Refusal("partial", f"reports: that of {names(part)} is of some checks alone. {_AGAIN}, without --only and --skip", tuple(part))
        )
    seen: dict[tuple[str, str], str] = {}
    for node in nodes:
        first = seen.setdefault((node.host.hostname, node.boot_id), node.name)
        if node.boot_id and first != node.name:
            found.append(Refusal("twice", f"reports: {first} and {node.name} are of one host and one boot", (first, node.name)))
    return found


def version_of(nodes: Sequence[Node]) -> "tuple[Version | None, list[Refusal]]":
    """Of the NCCL that jobs find on the nodes; None where they bring theirs."""
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
    """A network of another kind may be loaded; what could not be read may be one."""
    return any(
        isinstance(node.facts.nccl, Unread)
        or isinstance(node.facts.nccl.plugins, Unread)
        or any(one.is_network for one in node.facts.nccl.plugins)
        for node in nodes
    )


def kept(nodes: Sequence[Node]) -> list[Told]:
    """What the provider's image says in /etc/nccl.conf of the machine, and a container would not see."""
    found = {node.name: one.text for node in nodes for one in _winning(node) if one.name == _TOPOLOGY_FILE and one.origin == _SYSTEM_FILE}
    if len(found) < len(nodes) or not all(found.values()) or any(_is_doubted(node, _TOPOLOGY_FILE) for node in nodes):
        return []
    values = set(found.values())
    why = f"what {_SYSTEM_FILE} says of these machines; a container needs the file at this place"
    return [Told(_TOPOLOGY_FILE, values.pop(), {}, why) if len(values) == 1 else Told(_TOPOLOGY_FILE, "", found, why)]


def settings_refusals(nodes: Sequence[Node], told: Sequence[Told], version: Version) -> list[Refusal]:
    """Of findings that end jobs, and of settings on the nodes that work against what is emitted or differ by node."""
    emitted = frozenset(one.name for one in told)
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
    return found + _unequal(nodes, emitted) + _not_taken(nodes, told, version)


def _unequal(nodes: Sequence[Node], emitted: frozenset[str]) -> list[Refusal]:
    """The same variable with other values: ranks would do different things."""
    values = {node.name: {one.name: one.text for one in _winning(node)} for node in nodes}
    every = sorted({name for settings in values.values() for name in settings} - emitted - set(_OWN))
    found = [
        differing(shown(name), "setting_differs", {node: _set(settings.get(name)) for node, settings in values.items()}) for name in every
    ]
    return [one for one in found if one]


def _set(value: "str | None") -> str:
    return "no such setting" if value is None else shown(value) or "an empty or unknown value"


def _not_taken(nodes: Sequence[Node], told: Sequence[Told], version: Version) -> list[Refusal]:
    """Where NCCL, with all that it sees there, would take another interface than the one that is meant."""
    one = next((each for each in told if each.name == IFNAME), None)
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


def notes(nodes: Sequence[Node], told: Sequence[Told]) -> list[str]:
    """What is no reason to refuse, and worth a look."""
    emitted = frozenset(one.name for one in told)
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
    """What NCCL's own checks could not tell is told by what could not be read: see `settings_refusals`, `version_of`, the interface."""
    if one.outcome == "unknown" and one.id.startswith(_FAMILY):
        return False
    return one.severity == "critical" and one.axis == "fitness" and one.outcome in {"fail", "unknown"}


def named(one: Finding) -> frozenset[str]:
    """The variables that a finding is about: what it says, or what it asks for."""
    words = (one.message, one.headline, one.found, *one.evidence, *(step.text for step in one.remedy))
    return frozenset(_VARIABLE.findall(" ".join(words)))


def _is_overruled(one: Finding, emitted: frozenset[str]) -> bool:
    """About settings of NCCL alone, all of which get another value."""
    found = named(one)
    return one.id.startswith(_FAMILY) and bool(found) and found <= emitted


def _is_doubted(node: Node, name: str) -> bool:
    return any(one.id.startswith(_FAMILY) and one.outcome in {"fail", "warn", "unknown"} and name in named(one) for one in node.findings)
