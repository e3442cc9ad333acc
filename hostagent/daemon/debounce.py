"""Debounces the measured verdict into the published one.

Not ready is published at once; unknown, and any improvement, once two passes in a row agree. A measured verdict that changes more than
`_MOST_CHANGES` times in `_WINDOW_S` is flapping: the published one stays at the worst of that time for `_WINDOW_S`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from hostagent.core.frozen import frozen
from hostagent.daemon.conditions import LONGEST, TYPES, Measure, Measured, cut, status_of
from hostagent.engine.report import Verdicts
from hostagent.engine.report.node_status import Condition, ConditionType, Device
from hostagent.engine.report.times import iso

#: Seconds between a pass with a verdict to confirm and the pass that confirms it.
CONFIRM_S = 5.0
#: The reason of all conditions before the first pass of a boot.
FIRST_PASS = "FirstPass"  # noqa: S105  no password
#: The reason of all conditions while no pass is judged.
AGENT_STALE = "AgentStale"
_WINDOW_S = 3600.0
_MOST_CHANGES = 5
#: How bad each is: what is less is an improvement. No verdict at all is the best.
_BADNESS: dict[Measure, int] = {"": 0, "ready": 1, "degraded": 2, "unknown": 3, "not_ready": 4}


@frozen
class Change:
    """When, by the clock of the host, a verdict was measured that differs from the one before."""

    at: float
    verdict: Measure


@frozen
class PublishedCondition:
    """One condition between two passes. Times are seconds since the epoch; ``flapping_until`` is 0 where it does not flap."""

    type: ConditionType
    verdict: Measure  # published
    reason: str
    message: str
    changed_at: float  # when the published status changed last
    last: Measure | Literal["never"]  # measured
    changes: tuple[Change, ...] = ()
    flapping_until: float = 0
    devices: tuple[Device, ...] = ()


@frozen
class State:
    """All published conditions, with what debouncing needs after a restart in the same boot."""

    boot_id: str
    held: tuple[PublishedCondition, ...]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Those that apply."""
        return tuple(
            Condition(one.type, status_of(one.verdict), one.reason, one.message, one.changed_at, one.devices)
            for one in self.held
            if one.verdict
        )

    @property
    def removed(self) -> tuple[ConditionType, ...]:
        return tuple(one.type for one in self.held if not one.verdict)

    def verdict(self, kind: ConditionType) -> Measure:
        return next((one.verdict for one in self.held if one.type == kind), "unknown")

    @property
    def verdicts(self) -> Verdicts:
        """Of the node as a whole."""
        return Verdicts(self.verdict("Ready") or "unknown", self.verdict("MultiNodeReady") or "unknown")

    def headline_beside(self, found: Verdicts) -> str:
        """The message of the published condition that differs from what one pass measured; "" for none."""
        published = self.verdicts
        kind = "Ready" if published.single_node != found.single_node else "MultiNodeReady"
        return "" if published == found else next(one.message for one in self.held if one.type == kind)

    @property
    def is_settled(self) -> bool:
        """Whether the last pass measured what is published, so that no early pass has to confirm it."""
        return all(one.flapping_until or one.last == one.verdict for one in self.held)


def first(boot_id: str, now: float) -> State:
    """Before the first pass of a boot."""
    text = "hostagent has not looked at this node yet"
    return State(boot_id, tuple(PublishedCondition(kind, "unknown", FIRST_PASS, text, now, "never") for kind in TYPES))


def at_once(boot_id: str, found: tuple[Measured, ...], now: float, before: "State | None" = None) -> State:
    """Publishes what was measured without debouncing, where there is a single pass. `before`: the published state of this boot, for the
    times.
    """
    was = {one.type: one for one in before.held} if before else {}
    published = (PublishedCondition(one.type, "", "", "", now, one.verdict) if one.type not in was else was[one.type] for one in found)
    fresh = (replace(one, last=new.verdict, changes=(), flapping_until=0.0) for one, new in zip(published, found, strict=True))
    return State(boot_id, tuple(_with_published(one, new, now) for one, new in zip(fresh, found, strict=True)))


def advance(state: State, found: Iterable[Measured], now: float) -> State:
    """One pass later. `now`: seconds since the epoch, by a clock that may have been set back."""
    before = {one.type: one for one in state.held}
    return State(state.boot_id, tuple(_advanced(before[one.type], one, now) for one in found))


def _advanced(held: PublishedCondition, found: Measured, now: float) -> PublishedCondition:
    changes = tuple(one for one in held.changes if now - _WINDOW_S < one.at <= now)
    is_new = held.last not in ("never", found.verdict)
    if is_new:
        changes = (*changes, Change(now, found.verdict))[-_MOST_CHANGES - 1 :]
    until = held.flapping_until if now < held.flapping_until <= now + _WINDOW_S else 0.0
    if is_new and len(changes) > _MOST_CHANGES:
        until = now + _WINDOW_S
    after = replace(held, last=found.verdict, changes=changes, flapping_until=until)
    if until:
        return _flapping(after, found, now)
    agrees = held.last == found.verdict
    is_worse = _BADNESS[found.verdict] > _BADNESS[held.verdict]
    if found.verdict == held.verdict or agrees or found.verdict == "not_ready" or (is_worse and found.verdict != "unknown"):
        return _with_published(after, found, now)
    return after


def stale(state: State, judged_at: float, now: float) -> State:
    """The published state when no pass was judged for too long. The verdict of the last pass, at `judged_at`, is kept, so that the first
    pass that confirms it is published at once.
    """
    text = stale_text(judged_at)
    unknown = {one.type: Measured(one.type, "unknown", AGENT_STALE, text) for one in state.held if one.verdict}
    return State(state.boot_id, tuple(_with_published(one, unknown[one.type], now) if one.verdict else one for one in state.held))


def stale_text(judged_at: float) -> str:
    """`judged_at`: seconds since the epoch, 0 for never."""
    return f"hostagent has judged no pass since {iso(judged_at)}" if judged_at else "hostagent has judged no pass since it began"


def _flapping(after: PublishedCondition, found: Measured, now: float) -> PublishedCondition:
    """The worst of the published verdict, the measured one, and those measured within the hour."""
    is_silent = after.reason in (AGENT_STALE, FIRST_PASS)  # that verdict was not measured
    seen = (*(() if is_silent else (after.verdict,)), found.verdict, *(one.verdict for one in after.changes))
    worst = max(seen, key=_BADNESS.__getitem__)
    text = found.message if found.verdict == worst else f"{worst} within the hour" if is_silent else after.message
    is_published = after.reason == "Flapping" and after.verdict == worst
    message = after.message if is_published else cut(f"It changes again and again. At its worst: {text}", LONGEST)
    devices = found.devices if found.verdict == worst else after.devices
    return _with_published(after, Measured(after.type, worst, "Flapping", message, devices), now)


def _with_published(after: PublishedCondition, published: Measured, now: float) -> PublishedCondition:
    is_other = not after.verdict or not published.verdict or status_of(published.verdict) != status_of(after.verdict)
    changed_at = now if is_other else after.changed_at
    return replace(
        after,
        verdict=published.verdict,
        reason=published.reason,
        message=published.message,
        devices=published.devices,
        changed_at=changed_at,
    )
