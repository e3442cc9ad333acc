"""Contact with the API server: silence of an agent counts only while the controller could have received its heartbeat."""

# Silence is the monotonic time since a heartbeat was seen to change, counted while answers are at most 10 s apart; a new term
# starts all times again. A node without a new heartbeat in the watch is listed again, once a minute at most.

import threading
from collections.abc import Callable

#: Seconds between two answers from which on contact was lost in between.
HOLE_S = 10.0


class Contact:
    """Called after each answer of the API server, by any thread. Times are of `clock`, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._guard = clock, threading.Lock()
        self._since = self._last = float("-inf")

    def __call__(self) -> None:
        with self._guard:
            now = self._clock()
            if now - self._last > HOLE_S:
                self._since = now
            self._last = now

    def restart(self) -> None:
        """Restart the time of contact."""
        with self._guard:
            self._since = self._last = self._clock()

    def unbroken_s(self) -> float:
        """How long contact has lasted; 0 where there is none."""
        with self._guard:
            now = self._clock()
            return now - self._since if now - self._last <= HOLE_S else 0.0

    def quiet_s(self) -> float:
        """Since the last answer."""
        with self._guard:
            return self._clock() - self._last
