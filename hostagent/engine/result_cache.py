"""What a host that does not change need not be judged for again: the daemon's passes put each question anew, and most answers are as they
were.

A fact follows from its answers (`fact_cache`), and a check is a pure function of its facts and the profile: of the same ones
it says the same. What it found fault with is judged again all the same, because its words may be about any other fact, too.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hostagent.engine.check import Check
from hostagent.engine.report import Judgement
from hostagent.facts.hostfacts import Earlier, HostFacts, TrackedFacts
from hostagent.facts.platform import Platform
from hostagent.profiles.profile import Profile

_QUIET = frozenset({"pass", "skip", "off"})


class _Made(NamedTuple):
    """What came of facts by a profile, and the names of the types of those facts."""

    profile: Profile
    kinds: frozenset[str]
    value: Any


class Steady:
    """From one pass to the next."""

    def __init__(self) -> None:
        self._profile: Profile | None = None
        self._earlier: Mapping[str, Earlier] = {}
        self._facts = HostFacts({})
        self._judged: dict[str, _Made] = {}
        self._told: _Made | None = None

    def earlier(self, profile: Profile) -> Mapping[str, Earlier]:
        """The facts of the pass before, where it read by this profile, too: what may be asked is the profile's word."""
        return self._earlier if self._profile is profile else {}

    def keep(self, profile: Profile, earlier: Mapping[str, Earlier]) -> None:
        """The facts of this pass."""
        self._profile, self._earlier = profile, earlier

    def begin(self, facts: HostFacts) -> None:
        """With a pass that found these: what followed from others is forgotten."""
        changed = facts.changed(self._facts)
        self._facts = facts
        self._judged = {name: one for name, one in self._judged.items() if changed.isdisjoint(one.kinds)}
        if self._told and not changed.isdisjoint(self._told.kinds):
            self._told = None

    def judged(self, one: Check, profile: Profile, judge: Callable[[], tuple[Judgement, ...]]) -> tuple[Judgement, ...]:
        """What `judge` says of this check, or said of the very same facts."""
        before = self._judged.get(one.id)
        if before and before.profile is profile:
            judged: tuple[Judgement, ...] = before.value
            return judged
        judgements = judge()
        if all(each.outcome in _QUIET for each in judgements):
            kinds = frozenset(kind.__name__ for kind in (*one.inputs.kinds, Platform))
            self._judged[one.id] = _Made(profile, kinds, judgements)
        return judgements

    def told(self, profile: Profile, tell: Callable[[HostFacts], Any]) -> Any:
        """What `tell`, by this profile always the same, makes of the facts."""
        if self._told is None or self._told.profile is not profile:
            tracked = TrackedFacts(self._facts)
            value = tell(tracked)
            self._told = _Made(profile, frozenset(tracked.used), value)
        return self._told.value
