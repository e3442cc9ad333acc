"""Caches results whose facts did not change, between passes of the daemon.

A fact follows from its answers (`fact_cache`), and a check is a pure function of its facts and the profile. Only passes are cached: the
texts of a finding may depend on any other fact, too.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hostagent.engine.check import Check
from hostagent.engine.report import Judgement
from hostagent.facts.hostfacts import Earlier, HostFacts, TrackedFacts
from hostagent.facts.platform import Platform
from hostagent.profiles.profile import Profile

_QUIET = frozenset({"pass", "skip", "off"})


class _Entry(NamedTuple):
    """A value computed from facts by a profile, and the names of their types."""

    profile: Profile
    kinds: frozenset[str]
    value: Any


class ResultCache:
    """Results of earlier passes, by profile."""

    def __init__(self) -> None:
        self._profile: Profile | None = None
        self._earlier: Mapping[str, Earlier] = {}
        self._facts = HostFacts({})
        self._judged: dict[str, _Entry] = {}
        self._computed: _Entry | None = None

    def earlier(self, profile: Profile) -> Mapping[str, Earlier]:
        """The facts of the previous pass, if it had this profile, which decides what may be asked."""
        return self._earlier if self._profile is profile else {}

    def keep(self, profile: Profile, earlier: Mapping[str, Earlier]) -> None:
        """Stores the facts of this pass."""
        self._profile, self._earlier = profile, earlier

    def begin(self, facts: HostFacts) -> None:
        """Starts a pass with these facts: drops results of changed facts."""
        changed = facts.changed(self._facts)
        self._facts = facts
        self._judged = {name: one for name, one in self._judged.items() if changed.isdisjoint(one.kinds)}
        if self._computed and not changed.isdisjoint(self._computed.kinds):
            self._computed = None

    def judgements(self, one: Check, profile: Profile, judge: Callable[[], tuple[Judgement, ...]]) -> tuple[Judgement, ...]:
        """The result of `judge` for this check, or the cached one of the same facts."""
        before = self._judged.get(one.id)
        if before and before.profile is profile:
            judged: tuple[Judgement, ...] = before.value
            return judged
        judgements = judge()
        if all(each.outcome in _QUIET for each in judgements):
            kinds = frozenset(kind.__name__ for kind in (*one.inputs.kinds, Platform))
            self._judged[one.id] = _Entry(profile, kinds, judgements)
        return judgements

    def computed(self, profile: Profile, compute: Callable[[HostFacts], Any]) -> Any:
        """The result of `compute` on the facts, or the cached one; one function per profile."""
        if self._computed is None or self._computed.profile is not profile:
            noted = TrackedFacts(self._facts)
            value = compute(noted)
            self._computed = _Entry(profile, frozenset(noted.used), value)
        return self._computed.value
