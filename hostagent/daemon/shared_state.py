"""State shared by the publisher's threads: the newest message, whether the loop lives and judges, and the results of deliveries."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from hostagent.daemon.message import Message
from hostagent.engine.report.node_status import Transition


class Delivery(NamedTuple):
    """One sink: tries by result, when it last succeeded (seconds since the epoch, 0 never), why the last try failed, and the monotonic
    seconds of that success: a clock that is set makes none older.
    """

    counts: "dict[str, int]"
    succeeded_at: float
    problem: str
    succeeded_by: float = 0.0


class View(NamedTuple):
    """A copy of the state. Times are monotonic seconds, 0 for never."""

    message: Message | None
    judged_by: float  # the last pass; where there was none since the loop's turn came, that moment
    alive_by: float  # when the loop sent something last
    waiting: str  # why the loop waits for its turn; "" where it does not


class SharedState:
    """Times are monotonic seconds where no other clock is named."""

    def __init__(self, stale_after_s: float, clean: Callable[[str], str] = str) -> None:
        """`stale_after_s`: seconds without a judged pass after which unknown is published. `clean`: removes secrets from each problem."""
        self._clean = clean
        self._changed = threading.Condition()
        self._stale_after_s = stale_after_s
        self._message: Message | None = None
        self._turn_at = self._alive_at = 0.0
        self._waiting = ""
        self._is_open = True
        self._counts: Counter[tuple[str, str]] = Counter()
        self._last: dict[str, tuple[float, str, float]] = {}

    def publish(self, message: Message, now: float) -> None:
        """A pass may be old already: after a restart of the publisher, or where the loop was stopped while it wrote."""
        if message.has_pass and now - message.judged_by > self._stale_after_s:
            message = _stale(message, time.time())
        with self._changed:
            self._message = message
            self._mark_alive(now)
            self._changed.notify_all()

    def wait(self, why: str, now: float) -> None:
        """The loop waits for its turn."""
        with self._changed:
            self._waiting, self._alive_at, self._turn_at = why, now, 0.0

    def tick(self, now: float) -> None:
        with self._changed:
            self._mark_alive(now)

    def _mark_alive(self, now: float) -> None:
        self._waiting, self._alive_at = "", now
        self._turn_at = self._turn_at or now

    def close(self) -> None:
        with self._changed:
            self._is_open = False
            self._changed.notify_all()

    def newest(self, known: "Message | None", within_s: float) -> "tuple[Message | None, bool, bool]":
        """The newest, whether it is another one than `known`, waited for at most so long; and whether there may be more."""
        with self._changed:
            if self._message is known and self._is_open:
                self._changed.wait(max(0.0, within_s))
            return self._message, self._message is not known, self._is_open

    def stale(self, now: float, wall: float) -> "Message | None":
        """Where no pass was judged for too long: the stale message, which replaces the newest one. Else None. `wall`: seconds since the
        epoch.
        """
        with self._changed:
            message, is_late = self._message, self._is_late(now)
        if message is None or message.is_stale or not is_late:
            return message if message and message.is_stale else None
        made = _stale(message, wall)
        with self._changed:
            if self._message is not message:  # a pass was judged meanwhile
                return None
            self._message = made
            self._changed.notify_all()
        return made

    def add_transitions(self, made: Message, news: "tuple[Transition, ...]") -> None:
        """Add the transitions of `made`, which `stale` returned."""
        with self._changed:
            if self._message is made:
                self._message = replace(made, news=(*made.news, *news))
                self._changed.notify_all()

    def _is_late(self, now: float) -> bool:
        judged_by = self._judged_by
        return bool(judged_by) and now - judged_by > self._stale_after_s

    @property
    def _judged_by(self) -> float:
        """A publisher that took the place of another one may be younger than the last pass, or older than the loop's turn."""
        return self._message.judged_by if self._message and self._message.has_pass else self._turn_at

    def delivered(self, sink: str, problem: str, wall: float, now: float) -> None:
        """`wall`: seconds since the epoch."""
        problem = self._clean(problem)
        with self._changed:
            self._counts[sink, "error" if problem else "success"] += 1
            wall_before, _, before = self._last.get(sink, (0.0, "", 0.0))
            self._last[sink] = (wall_before, problem, before) if problem else (wall, "", now)

    def deliveries(self) -> dict[str, Delivery]:
        with self._changed:
            return {
                sink: Delivery({result: count for (name, result), count in self._counts.items() if name == sink}, *self._last[sink])
                for sink in sorted(self._last)
            }

    def look(self) -> View:
        with self._changed:
            return View(self._message, self._judged_by, self._alive_at, self._waiting)


def _stale(message: Message, wall: float) -> Message:
    from hostagent.daemon.staleness import made_stale

    return made_stale(message, wall)
