"""One term of leadership: watches report into a queue, and one thread decides and writes, node by node."""

# A turn writes to 20 nodes at most; a write that is refused, conflicts eight times, or succeeded a second ago makes its node
# wait. The probe of contact has a thread of its own, because a write that hangs would be a hole in contact.

import functools
import itertools
import queue
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hostagent.controller.contact import Contact
from hostagent.controller.counts import Counts
from hostagent.controller.firstpass import FirstPass
from hostagent.controller.fleet import Fleet, counts, is_older
from hostagent.controller.node import KEYS, NOT_READY, Node, Whole, parse_node, parse_whole
from hostagent.controller.reporter import Reporter
from hostagent.controller.retries import Retries
from hostagent.controller.rules import NONE, Rules
from hostagent.controller.settings import Settings
from hostagent.controller.watching import ListMark, Message, NewRules, NodeChange, NodeWatcher, Prober, RuleWatcher, Watcher
from hostagent.controller.writer import NotLeader, Writer
from hostagent.controller.writing import Moment, Wish, change, closing
from hostagent.kube.api import CONFLICT, INVALID, Api, ApiError
from hostagent.kube.nodestatus import NODES, node_path
from hostagent.outputs.log import Log

#: Seconds: between two looks for silent nodes, and at what the limits keep open; between two full reads, and after one that failed; between
#: two lists that are read anew because a watch is behind.
_LOOK_S, _FULL_S, _FULL_AGAIN_S, _RELIST_S = 1.0, 600.0, 30.0, 60.0
#: Messages in the queue at most, and of one turn: a list of all nodes is not held twice.
_QUEUE = 1000
#: Nodes of one page of a full read; nodes that one turn writes to before the queue is looked at again; tries at once after a conflict.
_PAGE, _TURN, _TRIES = 100, 20, 8
#: Seconds of a wait for a message; in which a node is not written to again: an agent may change its mind all the time.
_WAIT_S, _REST_S = 0.25, 1.0
#: Seconds in which the owner of a rule that is gone may still take its taints off, by a cache that is behind.
_LEAVING_S = 10.0


class Tools(NamedTuple):
    """``api`` makes one for each thread, which calls the function after each answer; ``writer``: one for the term; ``is_on``: whether the
    term goes on.
    """

    api: Callable[[Callable[[], None]], Api]
    writer: Callable[[Api], Writer]
    is_on: Callable[[], bool]
    log: Log
    counts: Counts


class Term:
    """State of one term; nothing is kept from the one before."""

    def __init__(self, settings: Settings, tools: Tools, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._tools, self._clock = settings, tools, clock
        self._contact = Contact(clock)
        self._api = tools.api(self._contact)
        self._writer = tools.writer(self._api)
        self._fleet = Fleet(KEYS if settings.is_multi_node else (NOT_READY,))
        self._first_pass, self._retries = FirstPass(), Retries()
        self._reporter = Reporter(self._writer, tools.log, tools.counts, settings.prefix, clock)
        self._queue: queue.Queue[Message] = queue.Queue(_QUEUE)
        self._members: dict[str, str] = {}  # node and the selector that it was listed by
        self._lists: dict[str, set[str]] = {}  # by selector, the names of a list that is being read
        self._unlisted = set(settings.selectors)
        self._full_read: Iterator[list[dict[str, Any]]] | None = None
        self._to_read: dict[str, None] = {}  # nodes to read and settle, the first first
        self._rules: Rules | None = None  # that could be read last
        self._labels = frozenset[str]()  # that those select by
        self._open_silent: dict[str, int] = {}  # silent nodes that are open, and the turn in which they were found
        self._turns = 0
        self._full_read_at = self._silence_look_at = self._asking_look_at = self._limits_look_at = float("-inf")
        self._relisted_at = self._leaving_until = float("-inf")
        self._is_busy = False  # more nodes wait than one turn writes to

    def run(self) -> None:
        """Until `Tools.is_on` ends it. Never raises for what the API server answers."""
        tools, problem = self._tools, self._reporter.problem
        self._watchers = [
            NodeWatcher(tools.api(self._contact), self._queue, one, functools.partial(problem, f"watch of {one}"))
            for one in self._settings.selectors
        ]
        watchers: list[Watcher] = [*self._watchers, Prober(tools.api(self._contact), self._queue, self._contact)]
        if self._settings.taints == "auto":
            watchers.append(RuleWatcher(tools.api(self._contact), self._queue))
        elif self._settings.taints == "on":
            self._fleet.own(NONE)
        for one in watchers:
            one.start()
        try:
            while tools.is_on():
                tools.counts.alive_at = self._clock()
                self._turn()
        except NotLeader:
            pass
        finally:
            for one in watchers:
                one.end()
            self._api.close()
            tools.counts.reset()

    def _turn(self) -> None:
        self._receive(0.0 if self._full_read or self._is_busy else _WAIT_S)
        if self._unlisted:
            return
        self._turns += 1
        self._fleet.next_turn()
        self._close_silent()
        self._settle_unread()
        self._settle_waiting()
        self._read_page()
        self._reporter.states(self._fleet, frozenset(self._open_silent))

    # -- messages

    def _receive(self, wait_s: float) -> None:
        try:
            self._dispatch(self._queue.get(timeout=wait_s) if wait_s else self._queue.get_nowait())
            for _ in range(_QUEUE):
                self._dispatch(self._queue.get_nowait())
        except queue.Empty:
            pass

    def _dispatch(self, message: Message) -> None:
        if isinstance(message, Exception):
            raise message  # of a thread that watches: without it nothing is known
        if isinstance(message, NewRules):
            self._on_rules(message)
        elif isinstance(message, ListMark):
            self._on_list(message)
        else:
            self._on_node(message)

    def _on_rules(self, message: NewRules) -> None:
        self._reporter.problem("rules", f"{message.problem}: no taint is set or removed" if message.problem else "")
        if message.rules == self._fleet.rules:
            return
        self._fleet.own(message.rules)
        if message.rules in (None, self._rules):  # as they were before they could not be read
            return
        self._rules, self._labels = message.rules, message.rules.labels
        self._leaving_until = self._clock() + _LEAVING_S
        self._retries.end_holds()
        self._to_read |= dict.fromkeys(name for name, node in self._fleet.nodes.items() if node.tainted)
        self._full_read, self._full_read_at = None, float("-inf")  # all are read once more: labels that rules select by, and taints

    def _on_list(self, message: ListMark) -> None:
        if message.is_lost:
            self._contact.restart()
        if message.is_restart:
            self._fleet.forget_versions(name for name, selector in self._members.items() if selector == message.selector)
        if not message.is_over:
            self._lists[message.selector] = set()
            return
        names = self._lists.pop(message.selector, set())
        for name in [name for name, selector in self._members.items() if selector == message.selector and name not in names]:
            self._forget(name)
        self._unlisted.discard(message.selector)

    def _on_node(self, message: NodeChange) -> None:
        node = parse_node(self._writer.view(message.item), self._settings.prefix, self._labels)
        if node is None:
            return
        if message.is_gone:
            if self._members.get(node.name) == message.selector:
                self._forget(node.name, node.uid)
            return
        if message.selector in self._lists:
            self._lists[message.selector].add(node.name)
        known = self._fleet.nodes.get(node.name)
        if node.name in self._members and is_older(node, known):
            return
        self._members[node.name] = message.selector
        is_new = known is None or known.uid != node.uid  # the kubelet may have registered it with a taint of ours
        is_touched = known is not None and known.resource_version != node.resource_version and bool(node.tainted)
        if known and is_new:
            self._forget(node.name)
            self._members[node.name] = message.selector
        if not self._unlisted and (is_new or (is_touched and self._is_rule_leaving)):
            self._to_read[node.name] = None
        if known and known.heartbeat != node.heartbeat:
            self._first_pass.end(node.uid)
        self._fleet.see(node, self._clock())

    def _forget(self, name: str, uid: str = "") -> None:
        before = self._fleet.nodes.get(name)
        self._fleet.forget(name, uid)
        if name not in self._fleet.nodes:
            if before:
                self._first_pass.end(before.uid)
            self._retries.forget(name)
            for known in (self._members, self._open_silent, self._to_read):
                known.pop(name, None)

    # -- silence

    def _close_silent(self) -> None:
        now = self._clock()
        if now < self._silence_look_at:
            return
        found = {one.name: one for one in self._silent_nodes(now)}
        self._open_silent = {name: self._open_silent.get(name, self._turns) for name, one in found.items() if not one.is_closed}
        kept_open, done = "", 0
        for name in sorted(self._open_silent, key=lambda name: (self._open_silent[name], name)):
            if not self._retries.is_due(found[name], now, is_held=False):
                continue
            if self._fleet.closed >= self._settings.max_silent.of(self._fleet.verdicts):
                kept_open = name
                break
            if done >= _TURN:
                return  # the next turn goes on
            self._read_then(found[name], self._close)
            done += 1
        self._silence_look_at = now + _LOOK_S
        self._reporter.set_limit("silent", kept_open, self._fleet)

    def _silent_nodes(self, now: float) -> list[Node]:
        stale_s = self._settings.stale_after_s
        return list(self._fleet.silent(now, stale_s)) if self._contact.unbroken_s() >= stale_s else []

    def _close(self, item: dict[str, Any], whole: Whole) -> None:
        """Closes a node for silence. Where its heartbeat has changed, the watch is behind."""
        known = self._fleet.nodes.get(whole.node.name)
        if known is None or known.uid != whole.node.uid or known.heartbeat != whole.node.heartbeat or not whole.node.has_verdict:
            self._relist()
            self._fleet.see(whole.node, self._clock())
            return
        why = whole.why
        if whole.node.is_closed:  # the answer to an earlier PATCH was lost
            self._fleet.see(whole.node, self._clock())
        else:
            body = closing(whole, self._moment, self._settings.stale_after_s)
            why = body["metadata"]["annotations"][f"{self._settings.prefix}/why"]
            self._on_written(self._writer.patch(item, body, "status"))
        self._reporter.closing(whole, why, self._turns)

    def _relist(self) -> None:
        now = self._clock()
        if now - self._relisted_at >= _RELIST_S:
            self._relisted_at = now
            for one in self._watchers:
                one.relist()

    # -- taints

    def _settle_unread(self) -> None:
        """Nodes of which more than metadata is needed."""
        now = self._clock()
        nodes = (self._fleet.nodes[name] for name in list(self._to_read) if name in self._fleet.nodes)
        for node in itertools.islice((one for one in nodes if self._retries.is_due(one, now)), _TURN):
            del self._to_read[node.name]
            self._read_then(node, self._settle)

    @property
    def _is_rule_leaving(self) -> bool:
        """Handle nodes of a deleted rule: its owner removes its taints first, and metadata of a node does not show that."""
        rules = self._fleet.rules
        if rules is not None and rules.is_ending:
            self._leaving_until = self._clock() + _LEAVING_S
        return self._clock() < self._leaving_until

    def _settle_waiting(self) -> None:
        now = self._clock()
        nodes = [node for node in self._fleet.free() if self._retries.is_due(node, now)][:_TURN]
        if self._is_busy or now >= self._asking_look_at:
            self._asking_look_at = now + _WAIT_S
            limit_of = self._limits()
            nodes += self._fleet.asking(_TURN - len(nodes), lambda node: not limit_of(node) and self._retries.is_due(node, now))
        for node in nodes:
            if self._retries.is_due(node, self._clock()):  # the server may have gone since
                self._read_then(node, functools.partial(self._settle, is_turn=True))
        self._is_busy = len(nodes) >= _TURN
        if not self._is_busy and now >= self._limits_look_at:
            self._limits_look_at = now + _LOOK_S
            self._report_limits()

    def _report_limits(self) -> None:
        limit_of = self._limits()
        for limit in ("tainted", "no-agent"):
            kept_open = self._fleet.asking(1, lambda node, limit=limit: limit_of(node) == limit)  # type: ignore[misc]
            self._reporter.set_limit(limit, kept_open[0].name if kept_open else "", self._fleet)

    def _limits(self) -> Callable[[Node], str]:
        """What keeps a first taint away from a node as things are now, "" for nothing."""
        has_agents = self._fleet.has_agents
        room = self._settings.max_tainted.of(self._fleet.verdicts) - self._fleet.counted

        def limit_of(node: Node) -> str:
            if not node.has_verdict and not has_agents:
                return "no-agent"
            return "" if room + counts(node) > 0 else "tainted"

        return limit_of

    def _settle(self, item: dict[str, Any], whole: Whole, *, is_turn: bool = False) -> None:
        """Writes what is missing to a node that was just read. `is_turn`: no other node goes before it where a limit lets one more in."""
        self._fleet.see(whole.node, self._clock())
        node = self._fleet.nodes.get(whole.node.name, whole.node)
        if node.resource_version != whole.node.resource_version:
            self._to_read[node.name] = None  # it was read before what the watch has brought
            return
        wish = self._wish(whole, is_turn=is_turn)
        found = change(whole, wish, self._moment)
        if found.body:
            self._on_written(self._writer.patch(item, found.body, "node"))
            self._retries.rest(node.name, self._clock() + _REST_S)
            self._reporter.taints(whole, found)
        elif wish.held and not found.blocked:
            self._retries.hold(node, self._first_pass.ends_at(node.uid, wish.held))
        for key in KEYS:
            self._reporter.other_effects(whole, key)

    def _wish(self, whole: Whole, *, is_turn: bool) -> Wish:
        node, fleet = whole.node, self._fleet
        wanted = fleet.wanted_taints(node)
        held = self._first_pass.deferred(whole, wanted, self._clock())
        return Wish(wanted, fleet.owned(node), held, is_turn and not self._limits()(node), fleet.has_returned(node) or whole.is_overwritten)

    # -- full reads

    def _read_page(self) -> None:
        """One page of the read of all nodes, or the beginning of the next one."""
        if self._full_read is None:
            if self._clock() - self._full_read_at < _FULL_S:
                return
            self._full_read_at, self._full_read = self._clock(), self._pages()
        try:
            for item in map(self._writer.view, next(self._full_read, ())):
                if (whole := self._parse(item)) and whole.node.name in self._members:  # the watches know what is selected
                    act = functools.partial(self._settle, item, whole)
                    if not self._retries.is_due(whole.node, self._clock(), is_held=False) or self._attempt(whole.node, act):
                        self._to_read[whole.node.name] = None
        except ApiError as error:
            self._reporter.problem("full read", f"nodes cannot be read in full: {error.message}")
            self._full_read, self._full_read_at = None, self._clock() - _FULL_S + _FULL_AGAIN_S

    def _pages(self) -> Iterator[list[dict[str, Any]]]:
        for selector in self._settings.selectors:
            for page in self._api.pages(NODES, limit=_PAGE, selector=selector):
                yield page.items
        self._full_read = None
        self._reporter.problem("full read", "")
        self._tools.counts.is_settled = True

    # -- one node

    def _read_then(self, node: Node, act: Callable[[dict[str, Any], Whole], None]) -> None:
        """Read it, and act on what was read; again where it changed meanwhile."""
        path = node_path(node.name)

        def once() -> None:
            item = self._writer.view(self._api.get(path))
            if whole := self._parse(item):
                act(item, whole)

        for _ in range(_TRIES):
            if not self._attempt(node, once):
                return
        self._fail(node, ApiError("it changes all the time", CONFLICT))

    def _attempt(self, node: Node, act: Callable[[], None]) -> bool:
        """Whether it is to be tried again at once."""
        try:
            act()
        except NotLeader:
            raise
        except ApiError as error:
            if error.code == CONFLICT:
                return True
            if error.is_not_found or (error.code == INVALID and "metadata.uid" in error.fields):
                self._forget(node.name, node.uid)
                self._relist()  # it is another node now, or the server is not what it was
                return False
            self._fail(node, error)
        else:
            if not self._fleet.is_waiting(node.name) and node.name not in self._open_silent:  # else it was read, and not written to
                self._retries.succeed(node.name)
        return False

    def _fail(self, node: Node, error: ApiError) -> None:
        self._to_read[node.name] = None
        if self._retries.fail(node.name, error, self._clock()):
            self._tools.log.problem(f"node {node.name} is not written to: {error.message}")

    def _parse(self, item: dict[str, Any]) -> "Whole | None":
        return parse_whole(item, self._settings.prefix, self._labels)

    def _on_written(self, item: dict[str, Any]) -> None:
        """`item`: the answer to a PATCH."""
        if node := parse_node(self._writer.view(item), self._settings.prefix, self._labels):
            self._fleet.see(node, self._clock())
            self._retries.succeed(node.name)

    @property
    def _moment(self) -> Moment:
        return Moment(self._settings.prefix, time.time())
