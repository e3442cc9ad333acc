"""The selected nodes by their last metadata: which have a verdict, are silent, or wait for a change of taints. No I/O."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from hostagent.controller.node import KEYS, MULTI_NODE, NOT_READY, Node
from hostagent.controller.rules import Rules

State = Literal["ready", "not_ready", "unknown", "silent", "no_agent"]
STATES: tuple[State, ...] = ("ready", "not_ready", "unknown", "silent", "no_agent")
_STATES: Mapping[str, State] = {"true": "ready", "false": "not_ready", "unknown": "unknown"}


class Difference(NamedTuple):
    """Keys of taints of the controller: those that a node is to have and has not, and the other way round."""

    missing: frozenset[str]
    surplus: frozenset[str]


class _Turn(NamedTuple):
    """Of nodes that ask for a taint: those that are not ready before those that are unknown, and for all jobs before jobs on several nodes;
    in the order in which they were seen to.
    """

    is_unknown: bool
    is_multi: bool
    turn: int
    name: str


class Fleet:
    """Each change costs the same, however many nodes there are. Times are monotonic seconds."""

    def __init__(self, keys: tuple[str, ...] = KEYS) -> None:
        """`keys`: the taints that the controller sets."""
        self.nodes: dict[str, Node] = {}
        self.rules: Rules | None = None  # None: owners of taints are unknown, and none is set or removed
        self._keys = keys
        self._changed_at: dict[str, float] = {}  # when the heartbeat was seen to change last, the longest ago first
        self._returned: set[str] = set()  # closed for silence, and their heartbeat has changed since
        self._free: dict[str, bool] = {}  # nodes that no limit keeps from being written to, and whether a taint is added
        self._asking: dict[str, _Turn] = {}  # nodes that would get their first taint
        self._turn = 0
        self._states: Counter[State] = Counter()
        self._verdicts = self._closed = self._counted = 0

    def see(self, node: Node, now: float) -> None:
        """Ignores older versions (resource versions are numbers that grow, Kubernetes 1.35)."""
        before = self.nodes.get(node.name)
        is_same = before is not None and before.uid == node.uid
        if is_older(node, before):
            return
        if before is not None:
            self._count(before, -1)
        self.nodes[node.name] = node
        self._count(node, 1)
        if before is None or not is_same or before.heartbeat != node.heartbeat:
            self._changed_at.pop(node.name, None)
            self._changed_at[node.name] = now
            self._returned.discard(node.name)
            if before is not None and is_same and before.is_marked and node.is_marked:
                self._returned.add(node.name)
        if not node.is_marked:
            self._returned.discard(node.name)
        self._update_waiting(node)

    def forget(self, name: str, uid: str = "") -> None:
        """`uid`: only where it is that node."""
        node = self.nodes.get(name)
        if node is None or uid not in ("", node.uid):
            return
        self._count(node, -1)
        for known in (self.nodes, self._changed_at, self._free, self._asking):
            known.pop(name, None)
        self._returned.discard(name)

    def own(self, rules: "Rules | None") -> None:
        """Rules have changed, or cannot be read: None."""
        self.rules = rules
        for node in list(self.nodes.values()):
            self._update_waiting(node)

    def next_turn(self) -> None:
        """Nodes that wait from now on come after those that wait already."""
        self._turn += 1

    def silent(self, now: float, stale_after_s: float) -> Iterator[Node]:
        """Nodes with a verdict and a heartbeat that has not changed for so long, by name; also those that are closed already."""
        found = []
        for name, changed_at in self._changed_at.items():
            if now - changed_at < stale_after_s:
                break
            found.append(name)
        yield from (self.nodes[name] for name in sorted(found) if self.nodes[name].has_verdict)

    def free(self) -> list[Node]:
        """Nodes to write to whatever the limits: they lose a taint or a mark, or have one taint already. Those that gain none first."""
        return [self.nodes[name] for name in sorted(self._free, key=lambda name: (self._free[name], name))]

    def asking(self, count: int, is_admitted: Callable[[Node], bool]) -> list[Node]:
        """The first `count` nodes in the order of admission that would get their first taint."""
        return [
            self.nodes[one.name]
            for one in heapq.nsmallest(count, (one for one in self._asking.values() if is_admitted(self.nodes[one.name])))
        ]

    def is_waiting(self, name: str) -> bool:
        """Whether there is something to write to the node."""
        return name in self._free or name in self._asking

    def forget_versions(self, names: Iterable[str]) -> None:
        """What is seen next is newer: the server may have been restored."""
        for name in names:
            if node := self.nodes.get(name):
                self.nodes[name] = node._replace(resource_version="")

    def wanted_taints(self, node: Node) -> frozenset[str]:
        """The taints that the node is to have."""
        return frozenset(key for key in self._keys if node.readiness(key) != "true")

    def owned(self, node: Node) -> "frozenset[str] | None":
        """The taints that are the controller's on the node; None where that is unknown. Of a key that the controller does not set it owns
        what it has set before.
        """
        if self.rules is None:
            return None
        return frozenset(key for key in KEYS if (key in self._keys or key in node.tainted) and not self.rules.owner(key, node.labels))

    def difference(self, node: Node) -> "Difference | None":
        """Between the taints that the node is to have and those that the controller has set; None where the owner of taints is unknown."""
        owned = self.owned(node)
        if owned is None:
            return None
        right, tainted = self.wanted_taints(node) & owned, frozenset(node.tainted)
        return Difference(right - tainted, tainted - right)

    def has_returned(self, node: Node) -> bool:
        """Whether its agent sent a heartbeat after the node was closed for silence."""
        return node.is_marked and (node.name in self._returned or not node.is_closed)

    @property
    def verdicts(self) -> int:
        """Nodes with a verdict: the limits are of these."""
        return self._verdicts

    @property
    def closed(self) -> int:
        """Nodes with a verdict that are closed for silence."""
        return self._closed

    @property
    def counted(self) -> int:
        """Nodes with a verdict that have a taint of the controller or are closed for silence."""
        return self._counted

    @property
    def has_agents(self) -> bool:
        """Whether at least half of the nodes have a verdict: before that a node without one is not tainted."""
        return bool(self.nodes) and 2 * self._verdicts >= len(self.nodes)

    def states(self, silent: "frozenset[str]") -> Mapping[State, int]:
        """Each node in one. `silent`: names of those that are open."""
        found = Counter(self._states)
        for node in (self.nodes[name] for name in silent if name in self.nodes):
            found[_state(node)] -= 1
            found["silent"] += 1
        return {state: found[state] for state in STATES}

    def _update_waiting(self, node: Node) -> None:
        missing, surplus = self.difference(node) or Difference(frozenset(), frozenset())
        before = self._asking.pop(node.name, None)
        self._free.pop(node.name, None)
        if surplus or self.has_returned(node) or (missing and node.tainted):
            self._free[node.name] = bool(missing)
        elif missing:
            key = NOT_READY if NOT_READY in missing else MULTI_NODE
            turn = before.turn if before else self._turn
            self._asking[node.name] = _Turn(node.readiness(key) != "false", key != NOT_READY, turn, node.name)

    def _count(self, node: Node, by: int) -> None:
        self._states[_state(node)] += by
        self._verdicts += by * node.has_verdict
        self._closed += by * (node.has_verdict and node.is_closed)
        self._counted += by * counts(node)


def _state(node: Node) -> State:
    if not node.has_verdict:
        return "no_agent"
    return "silent" if node.is_closed else _STATES[node.ready]


def counts(node: Node) -> bool:
    """For the limit of tainted nodes."""
    return node.has_verdict and (node.is_closed or bool(node.tainted))


def is_older(node: Node, than: "Node | None") -> bool:
    """By resource version, also where a node was made anew: all versions are of one store. False where they are no numbers."""
    if than is None:
        return False
    versions = (node.resource_version, than.resource_version)
    return all(one.isascii() and one.isdigit() for one in versions) and int(versions[0]) < int(versions[1])
