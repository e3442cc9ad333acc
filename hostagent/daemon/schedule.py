"""When the next pass is due: pure, by a monotonic clock that is given."""

from dataclasses import replace
from typing import NamedTuple

from hostagent.daemon.saying import Trigger
from hostagent.facts.frozen import frozen

#: Seconds from an event to its pass, so that events in a row share one; and from the beginning of a pass to that of the next one at least.
GATHER_S, APART_S = 0.5, 2.0
#: Seconds by which it may be more once so many passes in a row were begun by events: passes that keep time with a host that flips would
#: always meet it in the same state.
_LOOSE_S, _IN_A_ROW = 1.0, 3
#: The part of an interval by which it is longer or shorter: hosts of a fleet drift apart.
JITTER = 0.1


@frozen
class Schedule:
    """Monotonic seconds: when the interval ends, when the next pass may begin, when to look again, and the first event since the last
    pass, with its time.
    """

    interval_ends: float
    next_from: float
    confirm_at: float | None = None
    event: Trigger | None = None
    event_at: float = 0.0

    def heard(self, event: Trigger, now: float) -> "Schedule":
        """An event; the first one since the last pass names it."""
        return self if self.event else replace(self, event=event, event_at=now)

    @property
    def due(self) -> tuple[float, Trigger]:
        """When the next pass begins, and what makes it begin."""
        waiting: list[tuple[float, Trigger]] = [(self.interval_ends, "interval")]
        if self.confirm_at is not None:
            waiting.append((self.confirm_at, "confirm"))
        if self.event:
            waiting.append((max(self.event_at + GATHER_S, self.next_from), self.event))
        return min(waiting, key=lambda one: one[0])


class Done(NamedTuple):
    """The last pass: when it began and ended, and how many in a row up to it were begun by events."""

    began: float
    ended: float
    in_a_row: int = 0


def after_pass(done: Done, interval_s: float, draw: float, confirm_s: float | None = None) -> Schedule:
    """Once a pass has ended. `draw`: of 0 to 1, by chance."""
    began, ended, in_a_row = done
    loose_s = _LOOSE_S * draw if in_a_row >= _IN_A_ROW else 0.0
    interval_ends = max(began + interval_s * (1 + JITTER * (2 * draw - 1)), ended + APART_S)
    return Schedule(interval_ends, began + APART_S + loose_s, None if confirm_s is None else ended + confirm_s)
