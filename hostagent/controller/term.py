"""One term of leadership: what the watches report comes in by a queue, and one thread decides and writes, one node after the other."""

import contextlib
import functools
import itertools
import queue
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from hostagent.controller.contact import Contact
from hostagent.controller.counts import LIMITS, Counts
from hostagent.controller.fleet import Fleet
from hostagent.controller.node import KEYS, NOT_READY, Node, Whole, parse_node, parse_whole
from hostagent.controller.rules import NONE, Rules
from hostagent.controller.settings import Settings
from hostagent.controller.watching import NODES, Changed, Listed, Message, NodeWatcher, Ruled, RuleWatcher
from hostagent.controller.writer import Notice, NotLeader, Writer
from hostagent.controller.writing import Change, Moment, Wish, change, closing
from hostagent.kube.api import CONFLICT, INVALID, NOT_FOUND, Api, ApiError
from hostagent.log import Log

#: Seconds: between two requests at least, so that contact is known; between two looks for silent nodes; between two full reads.
_PROBE_S, _SILENCE_S, _FULL_S = 5.0, 1.0, 600.0
#: Seconds in which an agent that has just begun gets no new taint.
_FIRST_PASS_S = 120.0
#: Messages that wait to be taken: a list of all nodes is not held twice.
_QUEUE = 1000
#: Nodes of one page of a full read; nodes that one turn writes to before the queue is looked at again; tries at once after a conflict.
_PAGE, _TURN, _TRIES = 100, 20, 8
#: Seconds that the queue is waited for; and times the duration of a look at waiting nodes that found nothing to do until the next one.
_WAIT_S, _SHARE = 0.25, 50.0
#: Seconds before a node is tried again after an error, at least and at most; in which whoever had a taint by a rule that is gone may still
#: take it off, by a cache that is behind.
_AGAIN_S, _LONGEST_S, _LEAVING_S = 1.0, 60.0, 10.0


class Tools(NamedTuple):
    """``api`` makes one for each thread, which calls the function after each answer; ``writer``: one for the term; ``is_on``: whether the
    term goes on.
    """

    api: Callable[[Callable[[], None]], Api]
    writer: Callable[[Api], Writer]
    is_on: Callable[[], bool]
    log: Log
    counts: Counts


class _Retry(NamedTuple):
    """``version``: only this resourceVersion of the node waits, "" any."""

    at: float
    version: str
    failures: int


class Term:
    """Everything is learnt anew: what a former term knew of time does not count."""

    def __init__(self, settings: Settings, tools: Tools, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._tools, self._clock = settings, tools, clock
        self._contact = Contact(clock)
        self._api = tools.api(self._contact)
        self._writer = tools.writer(self._api)
        self._fleet = Fleet(KEYS if settings.is_multi_node else (NOT_READY,))
        self._queue: queue.Queue[Message] = queue.Queue(_QUEUE)
        self._members: dict[str, str] = {}  # node and the selector that it was listed by
        self._listing: dict[str, set[str]] = {}  # by selector, the names of a list that is being read
        self._unlisted = set(settings.selectors)
        self._full: Iterator[list[dict[str, Any]]] | None = None
        self._full_at = float("-inf")
        self._silence_at = self._leaving_until = float("-inf")
        self._silent_in: dict[str, int] = {}  # silent nodes that are open, and the look in which they were found
        self._looks = 0
        self._first_pass: dict[tuple[str, str], float] = {}  # by uid and key, when an agent was seen to begin
        self._retries: dict[str, _Retry] = {}
        self._reached_at = float("-inf")  # before that the server is not asked: it was not reached
        self._recheck: dict[str, None] = {}  # nodes to be read and settled, the first first
        self._stopped = dict.fromkeys(LIMITS, "")
        self._noticed_at = dict.fromkeys(LIMITS, float("-inf"))
        self._noticed: set[str] = set()
        self._reported_at = self._relisted_at = self._waiting_at = float("-inf")
        self._is_busy = False  # more nodes wait than one turn writes to

    def run(self) -> None:
        """Until `Tools.is_on` ends it. Never raises for what the API server answers."""
        tools, warn = self._tools, self._tools.log.problem
        watchers: list[Any] = [NodeWatcher(tools.api(self._contact), self._queue, one, warn) for one in self._settings.selectors]
        self._watchers: list[NodeWatcher] = list(watchers)
        if self._settings.taints == "auto":
            watchers.append(RuleWatcher(tools.api(self._contact), self._queue))
        elif self._settings.taints == "on":
            self._fleet.own(NONE)
        for one in watchers:
            one.start()
        try:
            while tools.is_on():
                tools.counts.heard_at = self._clock()
                self._turn()
        except NotLeader:
            pass
        finally:
            for one in watchers:
                one.end()
            self._api.close()
            tools.counts.reset()

    def _turn(self) -> None:
        self._take(0.0 if self._full or self._is_busy else _WAIT_S)
        self._probe()
        if self._unlisted:
            return
        self._looks += 1
        self._fleet.next_look()
        self._look_for_silence()
        self._look_again()
        self._look_at_waiting()
        self._read_on()
        self._report()

    # -- what comes in

    def _take(self, wait_s: float) -> None:
        try:
            self._took(self._queue.get(timeout=wait_s) if wait_s else self._queue.get_nowait())
            while True:
                self._took(self._queue.get_nowait())
        except queue.Empty:
            pass

    def _took(self, message: Message) -> None:
        if isinstance(message, Exception):
            raise message  # of a thread that watches: without it nothing is known
        if isinstance(message, Ruled):
            self._rule(message)
        elif isinstance(message, Listed):
            self._list(message)
        else:
            self._change(message)

    def _rule(self, message: Ruled) -> None:
        if message.rules == self._fleet.rules and message.problem == self._tools.counts.problems.get("rules", ""):
            return
        self._tools.counts.problems = {**self._tools.counts.problems, "rules": message.problem}
        if message.problem:
            self._tools.log.problem(f"{message.problem}: no taint is set or removed")
        self._fleet.own(message.rules)
        self._leaving_until = self._clock() + _LEAVING_S
        self._retries = {name: one for name, one in self._retries.items() if one.failures}  # who holds a taint back may have changed
        self._recheck_tainted()
        self._full, self._full_at = None, float("-inf")  # all are read once more: labels that rules select by, and taints

    def _list(self, message: Listed) -> None:
        if message.is_lost:
            self._contact.restart()
        if not message.is_over:
            self._listing[message.selector] = set()
            return
        names = self._listing.pop(message.selector, set())
        for name in [name for name, selector in self._members.items() if selector == message.selector and name not in names]:
            self._forget(name)
        self._unlisted.discard(message.selector)

    def _change(self, message: Changed) -> None:
        node = parse_node(self._writer.view(message.item), self._settings.prefix, self._labels)
        if node is None:
            return
        if message.is_gone:
            if self._members.get(node.name) == message.selector:
                self._forget(node.name, node.uid)
            return
        self._members[node.name] = message.selector
        if message.selector in self._listing:
            self._listing[message.selector].add(node.name)
        known = self._fleet.nodes.get(node.name)
        is_new = known is None or known.uid != node.uid  # the kubelet may have registered it with a taint of ours
        is_touched = known is not None and known.resource_version != node.resource_version and bool(node.tainted)
        if not self._unlisted and (is_new or (is_touched and self._is_rule_leaving)):
            self._recheck[node.name] = None
        if known and known.heartbeat != node.heartbeat:
            self._end_first_pass(node.uid)
        self._fleet.see(node, self._clock())

    def _end_first_pass(self, uid: str) -> None:
        for key in KEYS:
            self._first_pass.pop((uid, key), None)

    def _forget(self, name: str, uid: str = "") -> None:
        before = self._fleet.nodes.get(name)
        self._fleet.forget(name, uid)
        if name not in self._fleet.nodes:
            if before:
                self._end_first_pass(before.uid)
            for known in (self._members, self._retries, self._silent_in, self._recheck):
                known.pop(name, None)

    @property
    def _labels(self) -> frozenset[str]:
        rules: Rules = self._fleet.rules or NONE
        return rules.labels

    def _probe(self) -> None:
        """Any request: that it is answered shows that an agent's heartbeat would be heard."""
        if self._contact.quiet_s() >= _PROBE_S:
            with contextlib.suppress(ApiError, StopIteration):
                next(iter(self._api.pages(NODES, limit=1, form="metadata")))

    # -- silence

    def _look_for_silence(self) -> None:
        now = self._clock()
        if now < self._silence_at:
            return
        self._silence_at = now + _SILENCE_S
        found = {one.name: one for one in self._silent(now)}
        self._silent_in = {name: self._silent_in.get(name, self._looks) for name, one in found.items() if not one.is_closed}
        stopped = ""
        for name in sorted(self._silent_in, key=lambda name: (self._silent_in[name], name)):
            if not self._is_due(found[name], now, is_held=False):
                continue
            if self._fleet.closed >= self._settings.max_silent.of(self._fleet.verdicts):
                stopped = name
                break
            self._at(found[name], self._close)
        self._stop("silent", stopped)

    def _silent(self, now: float) -> list[Node]:
        stale_s = self._settings.stale_after_s
        return list(self._fleet.silent(now, stale_s)) if self._contact.unbroken_s() >= stale_s else []

    def _close(self, item: dict[str, Any], whole: Whole) -> None:
        """Unless its heartbeat did change: then the watch is behind."""
        known = self._fleet.nodes.get(whole.node.name)
        if known is None or known.uid != whole.node.uid or known.heartbeat != whole.node.heartbeat or not whole.node.has_verdict:
            self._relist()
            self._fleet.see(whole.node, self._clock())
            return
        if whole.node.is_closed:
            self._fleet.see(whole.node, self._clock())
            return
        body = closing(whole, self._moment, self._settings.stale_after_s)
        self._patched(self._writer.patch(item, body, "status"))
        self._count(self._tools.counts.closings, "close")
        why = str(body["metadata"]["annotations"][f"{self._settings.prefix}/why"])
        self._tools.log.event("would_close" if self._writer.is_dry else "close", node=whole.node.name, why=why)
        self._notice(Notice(whole.node.name, "AgentSilent", why, f"silent {whole.node.uid} {self._looks}"))

    def _relist(self) -> None:
        now = self._clock()
        if now - self._relisted_at >= _LONGEST_S:
            self._relisted_at = now
            for one in self._watchers:
                one.relist()

    # -- taints

    def _look_again(self) -> None:
        """At nodes of which more than metadata is to be seen."""
        now = self._clock()
        nodes = (self._fleet.nodes[name] for name in list(self._recheck) if name in self._fleet.nodes)
        for node in itertools.islice((one for one in nodes if self._is_due(one, now)), _TURN):
            del self._recheck[node.name]
            self._at(node, self._settle)

    @property
    def _is_rule_leaving(self) -> bool:
        """Its owner takes its taints off before a deleted rule goes: each change of a node may be that, and metadata does not say."""
        rules = self._fleet.rules
        if rules is not None and rules.is_ending:
            self._leaving_until = self._clock() + _LEAVING_S
        return self._clock() < self._leaving_until

    def _recheck_tainted(self) -> None:
        self._recheck |= dict.fromkeys(name for name, node in self._fleet.nodes.items() if node.tainted)

    def _look_at_waiting(self) -> None:
        now, done = self._clock(), 0
        if now < self._waiting_at:
            return
        stopped = dict.fromkeys(("tainted", "no-agent"), "")
        for node in self._fleet.waiting():
            limit = self._limit(node)
            if limit and not self._is_surplus(node):
                stopped[limit] = stopped[limit] or node.name
                continue
            if self._is_due(node, now):
                self._at(node, self._close_to_jobs)
                done += 1
            if done >= _TURN:
                break
        self._is_busy = done >= _TURN
        if not self._is_busy:
            for limit, name in stopped.items():
                self._stop(limit, name)
            if not done:  # a cluster of which most nodes wait is looked through less often
                self._waiting_at = now + _SHARE * (self._clock() - now)

    def _limit(self, node: Node) -> str:
        """What keeps a taint away from it, "" for nothing."""
        if node.tainted:
            return ""
        if not node.has_verdict and not self._fleet.has_agents:
            return "no-agent"
        most = self._settings.max_tainted.of(self._fleet.verdicts)
        return "tainted" if self._fleet.others_counted(node) >= most else ""

    def _is_surplus(self, node: Node) -> bool:
        owned = self._fleet.owned(node.labels)
        return self._fleet.has_returned(node) or bool(owned is not None and set(node.tainted) - (self._fleet.wanted(node) & owned))

    def _close_to_jobs(self, item: dict[str, Any], whole: Whole) -> None:
        self._settle(item, whole, is_turn=True)

    def _settle(self, item: dict[str, Any], whole: Whole, *, is_turn: bool = False) -> None:
        """What is to be written to a node that was just read. `is_turn`: no other node goes before it where a limit lets one more in."""
        self._fleet.see(whole.node, self._clock())
        node = self._fleet.nodes.get(whole.node.name, whole.node)
        if node.resource_version != whole.node.resource_version:
            self._recheck[node.name] = None  # it was read before what the watch has brought
            return
        wish = self._wish(whole, is_turn=is_turn)
        found = change(whole, wish, self._moment)
        if found.body:
            self._patched(self._writer.patch(item, found.body, "node"))
            self._tell(whole, found)
        elif wish.held and not found.blocked:
            ends = min(self._first_pass[node.uid, key] for key in wish.held) + _FIRST_PASS_S
            self._retries[node.name] = _Retry(ends, node.resource_version, 0)
        for key in KEYS:
            for effect in whole.other_effects(key):
                text = f"taint {key} with effect {effect} is not the controller's: it stays"
                self._notice(Notice(node.name, "OtherEffect", text, f"effect {node.uid} {key} {effect}"), once=True)

    def _wish(self, whole: Whole, *, is_turn: bool) -> Wish:
        node, now = whole.node, self._clock()
        wanted = self._fleet.wanted(node)
        for key in KEYS:
            if not whole.is_first_pass(key):
                self._first_pass.pop((node.uid, key), None)
        held = frozenset(key for key in wanted if node.has_verdict and whole.is_first_pass(key) and self._is_new(node, key, now))
        owned = self._fleet.owned(whole.labels)
        if owned is not None and not self._settings.is_multi_node:
            owned = frozenset(key for key in owned if key == NOT_READY or key in node.tainted)
        return Wish(wanted, owned, held, is_turn and not self._limit(node), self._fleet.has_returned(node))

    def _is_new(self, node: Node, key: str, now: float) -> bool:
        return now - self._first_pass.setdefault((node.uid, key), now) < _FIRST_PASS_S

    # -- full reads

    def _read_on(self) -> None:
        """One page of the read of all nodes, or the beginning of the next one."""
        if self._full is None:
            if self._clock() - self._full_at < _FULL_S:
                return
            self._full_at, self._full = self._clock(), self._pages()
        try:
            for item in next(self._full, ()):
                if whole := self._parsed(item):
                    act = functools.partial(self._settle, self._writer.view(item), whole)
                    if not self._is_due(whole.node, self._clock(), is_held=False) or self._safely(whole.node, act):
                        self._recheck[whole.node.name] = None
        except ApiError as error:
            self._tools.log.problem(f"nodes cannot be read in full: {error.message}")
            self._full, self._full_at = None, self._clock() - _FULL_S + _LONGEST_S / 2

    def _pages(self) -> Iterator[list[dict[str, Any]]]:
        for selector in self._settings.selectors:
            for page in self._api.pages(NODES, limit=_PAGE, selector=selector):
                yield page.items
        self._full = None
        self._tools.counts.is_settled = True

    # -- one node

    def _at(self, node: Node, act: Callable[[dict[str, Any], Whole], None]) -> None:
        """Read it, and act on what was read; again where it changed meanwhile."""
        path = f"{NODES}/{quote(node.name, safe='')}"

        def once() -> None:
            item = self._writer.view(self._api.get(path))
            if whole := parse_whole(item, self._settings.prefix, self._labels):
                act(item, whole)

        for _ in range(_TRIES):
            if not self._safely(node, once):
                return
        self._recheck[node.name] = None

    def _safely(self, node: Node, act: Callable[[], None]) -> bool:
        """Whether it is to be tried again at once."""
        try:
            act()
        except NotLeader:
            raise
        except ApiError as error:
            if error.code == CONFLICT:
                return True
            if error.code == NOT_FOUND or (error.code == INVALID and "metadata.uid" in error.fields):
                self._forget(node.name, node.uid)
                return False
            self._failed(node, error)
        else:
            retry = self._retries.get(node.name)
            if retry and retry.failures:
                del self._retries[node.name]
        return False

    def _failed(self, node: Node, error: ApiError) -> None:
        before = self._retries.get(node.name)
        failures = (before.failures if before else 0) + 1
        longest_s = _LONGEST_S if 400 <= error.code < 500 else _PROBE_S  # a server that is away comes back for all nodes
        pause_s = max(min(_AGAIN_S * 2.0 ** min(failures - 1, 10), longest_s), error.retry_after_s)
        if not error.code:
            self._reached_at = self._clock() + _AGAIN_S
        self._retries[node.name] = _Retry(self._clock() + pause_s, "", failures)
        self._recheck[node.name] = None
        if failures == 1:
            self._tools.log.problem(f"node {node.name} is not written to: {error.message}")

    def _is_due(self, node: Node, now: float, *, is_held: bool = True) -> bool:
        """`is_held`: an agent that has just begun is waited for, too."""
        if now < self._reached_at:
            return False
        retry = self._retries.get(node.name)
        return retry is None or now >= retry.at or (bool(retry.version) and (not is_held or retry.version != node.resource_version))

    def _parsed(self, item: dict[str, Any]) -> "Whole | None":
        return parse_whole(self._writer.view(item), self._settings.prefix, self._labels)

    def _patched(self, item: dict[str, Any]) -> None:
        if node := parse_node(self._writer.view(item), self._settings.prefix, self._labels):
            self._fleet.see(node, self._clock())

    # -- what is reported

    @property
    def _moment(self) -> Moment:
        return Moment(self._settings.prefix, time.time())

    def _tell(self, whole: Whole, found: Change) -> None:
        would = "would_" if self._writer.is_dry else ""
        rows = (("add", found.added), ("adopt", found.adopted), ("remove", found.removed))
        for action, keys in rows:
            for key in keys:
                self._count(self._tools.counts.taints, action)
                why = str(found.body["metadata"]["annotations"].get(f"{self._settings.prefix}/why") or "")
                self._tools.log.event(f"{would}{action}", node=whole.node.name, taint=key, why=why)

    def _count(self, counter: Any, action: str) -> None:
        counter[f"would_{action}" if self._writer.is_dry else action] += 1

    def _stop(self, limit: str, name: str) -> None:
        """`name`: the first node that is left open, "" for none."""
        was, self._stopped[limit] = self._stopped[limit], name
        self._tools.counts.stopped = dict(self._stopped)
        texts = {
            "silent": f"left open though its agent is silent: {self._fleet.closed} nodes are closed for silence, the limit",
            "tainted": "left open though it is not ready: as many nodes are closed as the limit allows",
            "no-agent": "not tainted: fewer than half of the selected nodes have a verdict of hostagent",
        }
        reasons = {"silent": "SilentLimit", "tainted": "TaintLimit", "no-agent": "NoAgent"}
        if name and (not was or self._clock() - self._noticed_at[limit] > _FULL_S):
            self._noticed_at[limit] = self._clock()
            if not was:
                self._tools.log.event("limit", limit=limit, node=name, message=texts[limit])
            self._notice(Notice(name, reasons[limit], f"{name} is {texts[limit]}", f"limit {limit}"))

    def _notice(self, what: Notice, *, once: bool = False) -> None:
        if once and what.key in self._noticed:
            return
        if once:
            self._noticed.add(what.key)
        try:
            self._writer.notice(what, time.time())
        except NotLeader:
            raise
        except ApiError as error:
            if self._tools.counts.problems.get("events") != error.message:
                self._tools.counts.problems = {**self._tools.counts.problems, "events": error.message}
                self._tools.log.problem(f"Events are not written: {error.message}")

    def _report(self) -> None:
        now = self._clock()
        if now - self._reported_at >= 1.0:
            self._reported_at = now
            self._tools.counts.nodes = self._fleet.states(frozenset(self._silent_in))
