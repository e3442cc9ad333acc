"""What the threads of the teller share: the newest saying, whether the loop lives, and how deliveries went."""

import threading
from collections import Counter
from typing import NamedTuple

from hostagent.daemon.saying import Saying


class Delivery(NamedTuple):
    """One sink: tries by result, when it last succeeded (seconds since the epoch, 0 never), why the last try failed, and the monotonic
    seconds of that success: a clock that is set makes none older.
    """

    counts: "dict[str, int]"
    succeeded_at: float
    problem: str
    succeeded_by: float = 0.0


class Board:
    """Times are monotonic seconds where no other clock is named."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._said: Saying | None = None
        self._said_at = self._alive_at = 0.0
        self._waiting = ""
        self._is_open = True
        self._counts: Counter[tuple[str, str]] = Counter()
        self._last: dict[str, tuple[float, str, float]] = {}

    def say(self, said: Saying, now: float) -> None:
        with self._changed:
            self._said, self._waiting = said, ""
            self._alive_at = now
            if not said.is_first:
                self._said_at = now
            self._changed.notify_all()

    def wait(self, why: str, now: float) -> None:
        """The loop waits for its turn."""
        with self._changed:
            self._waiting, self._alive_at = why, now

    def tick(self, now: float) -> None:
        with self._changed:
            self._alive_at = now

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

    def delivered(self, sink: str, problem: str, wall: float, now: float) -> None:
        """`wall`: seconds since the epoch."""
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

    def look(self) -> "tuple[Saying | None, float, float, str]":
        """The newest saying, when the last pass was told, when the loop was heard last, and why it waits."""
        with self._changed:
            return self._said, self._said_at, self._alive_at, self._waiting
