"""The selected nodes, as their metadata was seen last: who has a verdict, who is silent, who waits for a taint or for its end. No I/O."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

from hostagent.controller.node import KEYS, MULTI_NODE, NOT_READY, Node
from hostagent.controller.rules import Rules

State = Literal["ready", "not_ready", "unknown", "silent", "no_agent"]
STATES: tuple[State, ...] = ("ready", "not_ready", "unknown", "silent", "no_agent")
_STATES: Mapping[str, State] = {"true": "ready", "false": "not_ready", "unknown": "unknown"}


class Fleet:
    """Each change costs the same, however many nodes there are. Times are monotonic seconds."""

    def __init__(self, keys: tuple[str, ...] = KEYS) -> None:
        """`keys`: the taints that the controller sets."""
        self.nodes: dict[str, Node] = {}
        self.rules: Rules | None = None  # None: who owns a taint is unknown, and none is set or removed
        self._keys = keys
        self._heard: dict[str, float] = {}  # when the heartbeat was seen to change last, the longest ago first
        self._returned: set[str] = set()  # closed for silence, and heard since
        self._waiting: dict[str, int] = {}  # what something is to be done about, and in which look that was seen first
        self._look = 0
        self._verdicts = self._closed = self._counted = 0

    def see(self, node: Node, now: float) -> None:
        """What is older than what is known changes nothing (resource versions are numbers that grow, Kubernetes 1.35)."""
        before = self.nodes.get(node.name)
        is_same = before is not None and before.uid == node.uid
        if before is not None and is_same and _is_older(node, before):
            return
        if before is not None:
            self._count(before, -1)
        self.nodes[node.name] = node
        self._count(node, 1)
        if before is None or not is_same or before.heartbeat != node.heartbeat:
            self._heard.pop(node.name, None)
            self._heard[node.name] = now
            self._returned.discard(node.name)
            if before is not None and is_same and before.is_marked and node.is_marked:
                self._returned.add(node.name)
        if not node.is_marked:
            self._returned.discard(node.name)
        self._wait(node)

    def forget(self, name: str, uid: str = "") -> None:
        """`uid`: only where it is that node."""
        node = self.nodes.get(name)
        if node is None or uid not in ("", node.uid):
            return
        self._count(node, -1)
        for known in (self.nodes, self._heard, self._waiting):
            known.pop(name, None)
        self._returned.discard(name)

    def own(self, rules: "Rules | None") -> None:
        """Rules have changed, or cannot be read: None."""
        self.rules = rules
        for node in list(self.nodes.values()):
            self._wait(node)

    def next_look(self) -> None:
        """What comes from now on came later than what waits."""
        self._look += 1

    def silent(self, now: float, stale_after_s: float) -> Iterator[Node]:
        """Nodes with a verdict whose heartbeat has not changed for so long, by their name; those that are closed already too."""
        found = []
        for name, heard_at in self._heard.items():
            if now - heard_at < stale_after_s:
                break
            found.append(name)
        yield from (self.nodes[name] for name in sorted(found) if self.nodes[name].has_verdict)

    def waiting(self) -> list[Node]:
        """Nodes about which something is to be done: whose taints go first, then in the order in which the limit lets them in."""
        return sorted((self.nodes[name] for name in self._waiting), key=self._turn)

    def wanted(self, node: Node) -> frozenset[str]:
        """The taints that the node is to have."""
        return frozenset(key for key in self._keys if node.readiness(key) != "true")

    def owned(self, labels: Mapping[str, str]) -> "frozenset[str] | None":
        """Of a node with `labels`, the taints that are the controller's; None where that is unknown."""
        rules = self.rules
        return None if rules is None else frozenset(key for key in KEYS if not rules.owner(key, labels))

    def has_returned(self, node: Node) -> bool:
        """Whether its agent was heard after the node was closed for silence."""
        return node.is_marked and (node.name in self._returned or not node.is_closed)

    @property
    def verdicts(self) -> int:
        """Nodes with a verdict: the limits are of these."""
        return self._verdicts

    @property
    def closed(self) -> int:
        """Nodes with a verdict that are closed for silence."""
        return self._closed

    def others_counted(self, node: Node) -> int:
        """Nodes with a verdict that have a taint of the controller or are closed for silence, without this one."""
        known = self.nodes.get(node.name)
        return self._counted - (known is not None and _counts(known))

    @property
    def has_agents(self) -> bool:
        """Whether at least half of the nodes have a verdict: before that a node without one is not tainted."""
        return bool(self.nodes) and 2 * self._verdicts >= len(self.nodes)

    def states(self, silent: "frozenset[str]") -> Mapping[State, int]:
        """Each node in one. `silent`: by name."""
        counts: Counter[State] = Counter(self._state(one, silent) for one in list(self.nodes.values()))
        return {state: counts[state] for state in STATES}

    @staticmethod
    def _state(node: Node, silent: "frozenset[str]") -> State:
        if not node.has_verdict:
            return "no_agent"
        return "silent" if node.is_closed or node.name in silent else _STATES[node.ready]

    def _wait(self, node: Node) -> None:
        if not self._needs(node):
            self._waiting.pop(node.name, None)
        elif node.name not in self._waiting:
            self._waiting[node.name] = self._look

    def _needs(self, node: Node) -> bool:
        if self.has_returned(node):
            return True
        owned = self.owned(node.labels)
        return owned is not None and set(node.tainted) != self.wanted(node) & owned

    def _turn(self, node: Node) -> tuple[bool, bool, bool, int, str]:
        owned = self.owned(node.labels) or frozenset()
        missing = (self.wanted(node) & owned) - set(node.tainted)
        key = NOT_READY if NOT_READY in missing else MULTI_NODE
        return (bool(missing), node.readiness(key) != "false", key != NOT_READY, self._waiting[node.name], node.name)

    def _count(self, node: Node, by: int) -> None:
        self._verdicts += by * node.has_verdict
        self._closed += by * (node.has_verdict and node.is_closed)
        self._counted += by * _counts(node)


def _counts(node: Node) -> bool:
    return node.has_verdict and (node.is_closed or bool(node.tainted))


def _is_older(node: Node, than: Node) -> bool:
    """False where the versions are no numbers."""
    versions = (node.resource_version, than.resource_version)
    return all(one.isascii() and one.isdigit() for one in versions) and int(versions[0]) < int(versions[1])
