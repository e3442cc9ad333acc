"""Rate of writes to the API server: pure, by a monotonic clock and random numbers of the caller."""

from typing import NamedTuple

from hostagent.core.hashes import hexdigest


class Rate(NamedTuple):
    """Writes at once, and seconds until one more is allowed."""

    burst: int
    refill_s: float


#: Of all writes; and of those in which no status turns, as of a host that has now one of two faults and now the other.
ALL, TEXTS = Rate(3, 10.0), Rate(3, 60.0)
#: Seconds: the first pause after a failure is at most that, later ones at most these; the shorter one while a transition waits.
_FIRST_S, _LONGEST_S, _WAITING_S = 1.0, 300.0, 30.0
#: The part of a heartbeat's time by which it comes earlier or later.
_JITTER = 0.2


class Bucket:
    """A try that failed is a write."""

    def __init__(self, now: float, rate: Rate) -> None:
        self._full_at, self._rate = now, rate  # when it is full again

    def ready_at(self, now: float) -> float:
        """When the next write is allowed, not before now."""
        return max(now, self._full_at - (self._rate.burst - 1) * self._rate.refill_s)

    def take(self, now: float) -> None:
        self._full_at = max(now, self._full_at) + self._rate.refill_s


def pause(failures: int, draw: float, *, is_waiting: bool, asked_s: float = 0.0) -> float:
    """Seconds after the so many-th failure in a row: any part of a time that doubles. `draw`: 0 to 1, by chance; `asked_s`: what the
    server asks for (Retry-After), which counts where it is longer.

    >>> [pause(number, 1.0, is_waiting=False) for number in (1, 2, 9, 40)], pause(40, 0.5, is_waiting=True)
    ([1.0, 2.0, 256.0, 300.0], 15.0)
    >>> pause(1, 0.0, is_waiting=True, asked_s=7.0)
    7.0
    """
    longest = _WAITING_S if is_waiting else _LONGEST_S
    return max(asked_s, draw * min(longest, _FIRST_S * 2.0 ** min(failures - 1, 30)))


def next_heartbeat(node: str, now: float, every_s: float, draw: float) -> float:
    """When all is written again. The phase is the node's own, so that those of a fleet are spread out however they were started; `now` is
    the time since the epoch.
    """
    phase = int(hexdigest("sha256", node.encode())[:8], 16) / 2**32 * every_s
    number = (now + _JITTER * every_s - phase) // every_s + 1
    return phase + number * every_s + _JITTER * every_s * (2 * draw - 1)
