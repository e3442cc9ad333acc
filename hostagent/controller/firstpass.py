"""Agents in their first pass: their node gets no new taint for 2 minutes."""

# The agent's first pass of a boot removes its summary, so such a node has no verdict and is tainted at once; the two minutes are
# for agents that keep it.

from collections.abc import Iterable

from hostagent.controller.node import KEYS, Whole

_FIRST_PASS_S = 120.0


class FirstPass:
    """Times are monotonic seconds."""

    def __init__(self) -> None:
        self._began: dict[tuple[str, str], float] = {}  # by uid and key

    def deferred(self, whole: Whole, wanted: frozenset[str], now: float) -> frozenset[str]:
        """Of the taints `wanted`, those that are not set yet."""
        node = whole.node
        for key in KEYS:
            if not whole.is_first_pass(key):
                self._began.pop((node.uid, key), None)
        return frozenset(key for key in wanted if node.has_verdict and whole.is_first_pass(key) and self._is_new(node.uid, key, now))

    def ends_at(self, uid: str, deferred: Iterable[str]) -> float:
        """When the first of the taints `deferred` may be set."""
        return min(self._began[uid, key] for key in deferred) + _FIRST_PASS_S

    def end(self, uid: str) -> None:
        """The agent has written a verdict, or the node is gone."""
        for key in KEYS:
            self._began.pop((uid, key), None)

    def _is_new(self, uid: str, key: str, now: float) -> bool:
        return now - self._began.setdefault((uid, key), now) < _FIRST_PASS_S
