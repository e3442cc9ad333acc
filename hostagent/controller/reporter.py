"""Reports what one term of leadership does: log lines, Events and metrics."""

import time
from collections import Counter
from collections.abc import Callable

from hostagent.controller.counts import LIMITS, Counts
from hostagent.controller.fleet import Fleet
from hostagent.controller.node import Whole
from hostagent.controller.writer import Notice, NotLeader, Writer
from hostagent.controller.writing import Change
from hostagent.kube.api import ApiError
from hostagent.outputs.log import Log

#: Seconds: between two Events of a limit that stays reached, and of one that is reached again; between two counts of all nodes.
_LIMIT_EVENT_S, _LIMIT_AGAIN_S, _STATES_S = 600.0, 60.0, 1.0
_REASONS = {"silent": "SilentLimit", "tainted": "TaintLimit", "no-agent": "NoAgent"}


class Reporter:
    """`clock`: monotonic seconds."""

    def __init__(self, writer: Writer, log: Log, counts: Counts, prefix: str, clock: Callable[[], float]) -> None:
        self._writer, self._log, self._counts, self._clock = writer, log, counts, clock
        self._why = f"{prefix}/why"
        self._open_nodes = dict.fromkeys(LIMITS, "")  # by limit, the first node that it keeps open
        self._limit_events_at = dict.fromkeys(LIMITS, float("-inf"))
        self._effects: set[str] = set()  # keys of Events that are written once
        self._states_at = float("-inf")

    def taints(self, whole: Whole, written: Change) -> None:
        """Taints that were set, adopted and removed."""
        why = str(written.body["metadata"]["annotations"].get(self._why) or "")
        for action, keys in (("add", written.added), ("adopt", written.adopted), ("remove", written.removed)):
            for key in keys:
                self._log.event(self._count(self._counts.taints, action), node=whole.node.name, taint=key, why=why)

    def closing(self, whole: Whole, why: str, turn: int) -> None:
        """A node was closed because its agent is silent."""
        self._log.event(self._count(self._counts.closings, "close"), node=whole.node.name, why=why)
        self._notice(Notice(whole.node.name, "AgentSilent", why, f"silent {whole.node.uid} {turn}"))

    def other_effects(self, whole: Whole, key: str) -> None:
        """Taints `key` with another effect, each once."""
        for effect in whole.other_effects(key):
            text = f"taint {key} with effect {effect} was not set by hostagent and is kept"
            notice = Notice(whole.node.name, "OtherEffect", text, f"effect {whole.node.uid} {key} {effect}")
            if notice.key not in self._effects and self._notice(notice):
                self._effects.add(notice.key)

    def set_limit(self, limit: str, name: str, fleet: Fleet) -> None:
        """`name`: the first node that the limit keeps open, "" for none."""
        before, self._open_nodes[limit] = self._open_nodes[limit], name
        self._counts.stopped = dict(self._open_nodes)
        if name and self._clock() - self._limit_events_at[limit] > (_LIMIT_EVENT_S if before else _LIMIT_AGAIN_S):
            self._limit_events_at[limit] = self._clock()
            text = _limit_text(limit, fleet)
            self._log.event("limit", limit=limit, node=name, message=text)
            self._notice(Notice(name, _REASONS[limit], f"{name}: {text}", f"limit {limit} {name}"))

    def states(self, fleet: Fleet, silent: frozenset[str]) -> None:
        """Counts the nodes, once a second. `silent`: the names of those that are open."""
        now = self._clock()
        if now - self._states_at >= _STATES_S:
            self._states_at = now
            self._counts.nodes = fleet.states(silent)

    def _count(self, counter: Counter[str], action: str) -> str:
        """The action as it is counted."""
        counted = f"would_{action}" if self._writer.is_dry else action
        counter[counted] += 1
        return counted

    def problem(self, what: str, text: str) -> None:
        """Something cannot be read or written; "" when it can again. By any thread."""
        if self._counts.problem(what, text):
            self._log.problem(text)

    def _notice(self, what: Notice) -> bool:
        """Whether the Event was written."""
        try:
            self._writer.notice(what, time.time())
        except NotLeader:
            raise
        except ApiError as error:
            self.problem("events", f"Events are not written: {error.message}")
            return False
        self.problem("events", "")
        return True


def _limit_text(limit: str, fleet: Fleet) -> str:
    if limit == "silent":
        return f"stays open although its agent is silent: {fleet.closed} nodes are already closed for silence, the maximum (--max-silent)"
    if limit == "tainted":
        numbers = f"{fleet.counted} of {fleet.verdicts} nodes are tainted or silent"
        return f"not tainted although it is not ready: {numbers}, the maximum (--max-tainted)"
    return "not tainted although it has no verdict: fewer than half of the selected nodes have one"
