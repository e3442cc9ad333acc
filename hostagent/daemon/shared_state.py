"""What the threads of the publisher share: what there is to publish, whether the loop lives and judges, and how deliveries went."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from hostagent.daemon.message import Saying
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
    """What the board has now. Times are monotonic seconds, 0 for never."""

    said: Saying | None
    judged_by: float  # the last pass; where there was none since the loop's turn came, that moment
    alive_by: float  # when the loop was heard last
    waiting: str  # why the loop waits for its turn; "" where it does not


class Board:
    """Times are monotonic seconds where no other clock is named."""

    def __init__(self, stale_after_s: float, clean: Callable[[str], str] = str) -> None:
        """`stale_after_s`: seconds without a judged pass after which what there is to publish is that nothing is known. `clean`: what
        every problem passes, so that everybody may read it.
        """
        self._clean = clean
        self._changed = threading.Condition()
        self._stale_after_s = stale_after_s
        self._said: Saying | None = None
        self._turn_at = self._alive_at = 0.0
        self._waiting = ""
        self._is_open = True
        self._counts: Counter[tuple[str, str]] = Counter()
        self._last: dict[str, tuple[float, str, float]] = {}

    def say(self, said: Saying, now: float) -> None:
        """A pass may be old already: after a publisher that ended, and of a loop that was stopped while it wrote."""
        if said.has_pass and now - said.judged_by > self._stale_after_s:
            said = _stale(said, time.time())
        with self._changed:
            self._said = said
            self._hear(now)
            self._changed.notify_all()

    def wait(self, why: str, now: float) -> None:
        """The loop waits for its turn."""
        with self._changed:
            self._waiting, self._alive_at, self._turn_at = why, now, 0.0

    def tick(self, now: float) -> None:
        with self._changed:
            self._hear(now)

    def _hear(self, now: float) -> None:
        self._waiting, self._alive_at = "", now
        self._turn_at = self._turn_at or now

    def close(self) -> None:
        with self._changed:
            self._is_open = False
            self._changed.notify_all()

    def newest(self, known: "Saying | None", within_s: float) -> "tuple[Saying | None, bool, bool]":
        """The newest, whether it is another one than `known`, waited for at most so long; and whether there may be more."""
        with self._changed:
            if self._said is known and self._is_open:
                self._changed.wait(max(0.0, within_s))
            return self._said, self._said is not known, self._is_open

    def stale(self, now: float, wall: float) -> "Saying | None":
        """What is published when no pass was judged for too long; it takes the place of what there is, where that is so. Else None.
        `wall`: seconds since the epoch.
        """
        with self._changed:
            said, is_late = self._said, self._is_late(now)
        if said is None or said.is_stale or not is_late:
            return said if said and said.is_stale else None
        made = _stale(said, wall)
        with self._changed:
            if self._said is not said:  # a pass was judged meanwhile
                return None
            self._said = made
            self._changed.notify_all()
        return made

    def turned(self, made: Saying, news: "tuple[Transition, ...]") -> None:
        """What turned with `made`, that `stale` gave."""
        with self._changed:
            if self._said is made:
                self._said = replace(made, news=(*made.news, *news))
                self._changed.notify_all()

    def _is_late(self, now: float) -> bool:
        judged_by = self._judged_by
        return bool(judged_by) and now - judged_by > self._stale_after_s

    @property
    def _judged_by(self) -> float:
        """A publisher that took the place of another one may be younger than the last pass, or older than the loop's turn."""
        return self._said.judged_by if self._said and self._said.has_pass else self._turn_at

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
            return View(self._said, self._judged_by, self._alive_at, self._waiting)


def _stale(said: Saying, wall: float) -> Saying:
    from hostagent.daemon.staleness import made_stale

    return made_stale(said, wall)
