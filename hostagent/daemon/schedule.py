"""When the next pass is due: pure, by a monotonic clock that is given."""

from dataclasses import replace
from typing import NamedTuple

from hostagent.core.frozen import frozen
from hostagent.daemon.message import Trigger

#: Seconds from an event to its pass, so that events in a row share one; and from the beginning of a pass to that of the next one at least.
GATHER_S, APART_S = 0.5, 2.0
#: Seconds by which it may be more once so many passes in a row were begun by events: passes that keep time with a host that flips would
#: always meet it in the same state.
_LOOSE_S, _IN_A_ROW = 1.0, 3
#: The part of an interval by which it is longer or shorter: hosts of a fleet drift apart.
JITTER = 0.1


#: Passes of one trigger in a row that find what the pass before found; then one more each so many seconds.
BURST, REFILL_S = 10, 30.0


class Bucket(NamedTuple):
    """Token bucket of one trigger: the tokens that it had at a monotonic time."""

    tokens: float
    at: float

    def spend(self, now: float) -> "Bucket":
        """Without one token."""
        filled = min(float(BURST), self.tokens + (now - self.at) / REFILL_S)
        return Bucket(max(0.0, filled - 1), now)

    @property
    def ready(self) -> float:
        """The monotonic time from which it has a token."""
        return self.at + max(0.0, 1 - self.tokens) * REFILL_S


@frozen
class Buckets:
    """Of each trigger, full where it is missing: a storm of one trigger holds up no other."""

    spent: tuple[tuple[Trigger, Bucket], ...] = ()

    def spend(self, trigger: Trigger, now: float) -> "Buckets":
        """After an event pass that found what the pass before found. `now`: monotonic seconds."""
        by_trigger = dict(self.spent)
        by_trigger[trigger] = by_trigger.get(trigger, Bucket(BURST, now)).spend(now)
        return Buckets(tuple(by_trigger.items()))

    def ready(self, trigger: Trigger) -> float:
        """The monotonic time from which a pass of this trigger may begin."""
        return next((bucket.ready for known, bucket in self.spent if known == trigger), 0.0)


_FULL = Buckets()


@frozen
class Schedule:
    """Monotonic seconds: when the interval ends, when the next pass may begin, when to look again, and the first event of each trigger
    since the last pass, with its time.
    """

    interval_ends: float
    next_from: float
    confirm_at: float | None = None
    events: tuple[tuple[Trigger, float], ...] = ()
    buckets: Buckets = _FULL

    def add_event(self, event: Trigger, now: float) -> "Schedule":
        """An event; of its trigger the first one since the last pass counts."""
        return self if any(known == event for known, _ in self.events) else replace(self, events=(*self.events, (event, now)))

    @property
    def due(self) -> tuple[float, Trigger]:
        """When the next pass begins, and what makes it begin: the first event that may."""
        waiting: list[tuple[float, Trigger]] = [(self.interval_ends, "interval")]
        if self.confirm_at is not None:
            waiting.append((self.confirm_at, "confirm"))
        waiting += [(max(at + GATHER_S, self.next_from, self.buckets.ready(event)), event) for event, at in self.events]
        return min(waiting, key=lambda one: one[0])


class Done(NamedTuple):
    """The last pass: when it began and ended, and how many in a row up to it were begun by events."""

    began: float
    ended: float
    in_a_row: int = 0


def after_pass(done: Done, interval_s: float, draw: float, confirm_s: float | None = None, buckets: Buckets = _FULL) -> Schedule:
    """Once a pass has ended. `draw`: of 0 to 1, by chance."""
    began, ended, in_a_row = done
    loose_s = _LOOSE_S * draw if in_a_row >= _IN_A_ROW else 0.0
    interval_ends = max(began + interval_s * (1 + JITTER * (2 * draw - 1)), ended + APART_S)
    return Schedule(interval_ends, began + APART_S + loose_s, None if confirm_s is None else ended + confirm_s, buckets=buckets)
