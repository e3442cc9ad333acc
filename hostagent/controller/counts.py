"""Counters of the controller, and its metrics. Text exposition format of Prometheus."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping

from hostagent.controller.fleet import STATES, State
from hostagent.outputs.prometheus import family

LIMITS = ("silent", "tainted", "no-agent")


class Counts:
    """Written by the loop, read by HTTP: each value is replaced whole."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.is_leader = False
        self.alive_at = 0.0  # monotonic seconds: the loop lives
        self.reset()
        self.taints: Counter[str] = Counter()
        self.closings: Counter[str] = Counter()

    def reset(self) -> None:
        """A controller that does not lead knows nothing of nodes."""
        self.is_settled = False  # the nodes were listed, and all of them read once
        self.nodes: Mapping[State, int] = dict.fromkeys(STATES, 0)
        self.stopped: Mapping[str, str] = dict.fromkeys(LIMITS, "")  # the node that is left open, "" for none
        self.problems: Mapping[str, str] = {}

    def problem(self, what: str, text: str) -> bool:
        """Keeps what cannot be read or written, "" when it can again. Whether it is new. By any thread."""
        with self._guard:
            before = self.problems.get(what, "")
            self.problems = {**self.problems, what: text}
        return bool(text) and not before

    def metrics(self) -> str:
        """All of them."""
        return "".join(self._families())

    def _families(self) -> Iterable[str]:
        name = "controller_"
        yield family(f"{name}is_leader", "Whether this controller writes.", [({}, self.is_leader)])
        yield family(
            f"{name}nodes", "Selected nodes, each in one state.", [({"state": state}, count) for state, count in self.nodes.items()]
        )
        yield family(f"{name}settled", "Whether all selected nodes were read in full once since it leads.", [({}, self.is_settled)])
        stops = [({"limit": limit}, bool(node)) for limit, node in self.stopped.items()]
        yield family(f"{name}stopped", "Whether a limit keeps nodes open that would be closed.", stops)
        taints = [({"action": action}, count) for action, count in sorted(self.taints.items())]
        yield family(f"{name}taints_total", "Taints by what was done; would_: in a dry run.", taints, "counter")
        closings = [({"action": action}, count) for action, count in sorted(self.closings.items())]
        yield family(f"{name}closings_total", "Nodes whose agent was silent; would_: in a dry run.", closings, "counter")
