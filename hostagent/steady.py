"""What a host that does not change need not be judged for again: the daemon's passes put each question anew, and most answers are as they
were.

A fact follows from its answers (`hostagent.collect.again`), and a check is a pure function of its facts and the profile: of the same ones
it says the same. What it found fault with is judged again all the same, because its words may be about any other fact, too.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hostagent.check import Check
from hostagent.facts.hostfacts import Earlier, HostFacts, Noted
from hostagent.facts.platform import Platform
from hostagent.profile import Profile
from hostagent.report import Judgement

_QUIET = frozenset({"pass", "skip", "off"})


class _Judged(NamedTuple):
    """Of one check: by whose profile, on what, and what came of it."""

    profile: Profile
    facts: tuple[Any, ...]
    judgements: tuple[Judgement, ...]


class _Made(NamedTuple):
    """What was made of facts by a profile, and of which, by the names of their types."""

    profile: Profile
    facts: Mapping[str, Any]
    value: Any


class Steady:
    """From one pass to the next."""

    def __init__(self) -> None:
        self._profile: Profile | None = None
        self._earlier: Mapping[str, Earlier] = {}
        self._judged: dict[str, _Judged] = {}
        self._made: _Made | None = None

    def earlier(self, profile: Profile) -> Mapping[str, Earlier]:
        """The facts of the pass before, where it read by this profile, too: what may be asked is the profile's word."""
        return self._earlier if self._profile is profile else {}

    def keep(self, profile: Profile, earlier: Mapping[str, Earlier]) -> None:
        """The facts of this pass."""
        self._profile, self._earlier = profile, earlier

    def judged(self, one: Check, facts: HostFacts, profile: Profile, judge: Callable[[], tuple[Judgement, ...]]) -> tuple[Judgement, ...]:
        """What `judge` says of this check, or said of the very same facts."""
        seen = tuple(facts.of(kind) for kind in (*one.inputs.kinds, Platform))
        before = self._judged.get(one.id)
        if before and before.profile is profile and all(was is now for was, now in zip(before.facts, seen, strict=True)):
            return before.judgements
        judgements = judge()
        if before and before.judgements == judgements:
            judgements = before.judgements
        if all(each.outcome in _QUIET for each in judgements):
            self._judged[one.id] = _Judged(profile, seen, judgements)
        else:
            self._judged.pop(one.id, None)
        return judgements

    def made(self, facts: HostFacts, profile: Profile, make: Callable[[HostFacts], Any]) -> Any:
        """What `make`, by this profile always the same, makes of facts: made anew where one that it asked for has changed."""
        before = self._made
        if before is None or before.profile is not profile or any(facts.named(name) is not one for name, one in before.facts.items()):
            noted = Noted(facts)
            value = make(noted)
            self._made = before = _Made(profile, noted.seen, value)
        return before.value
