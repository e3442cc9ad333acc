"""What a host that does not change need not be judged for again: the daemon's passes read each fact anew, and most come out as before.

A check is a pure function of its facts and the profile: of the same ones it says the same. What it found fault with is judged again all
the same, because its words may be about any other fact, too.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from hostagent.check import Check
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.platform import Platform
from hostagent.profile import Profile
from hostagent.report import Judgement

_QUIET = frozenset({"pass", "skip", "off"})


class _Judged(NamedTuple):
    """Of one check: by whose profile, on what, and what came of it."""

    profile: Profile
    facts: tuple[Any, ...]
    judgements: tuple[Judgement, ...]


class Steady:
    """From one pass to the next."""

    def __init__(self) -> None:
        self._facts: dict[str, tuple[bytes, Any]] = {}
        self._judged: dict[str, _Judged] = {}

    def facts(self, facts: HostFacts) -> HostFacts:
        """With the fact of the pass before in the place of an equal one. Facts have no order and, where a part is unread, no equality:
        what they are written as tells.
        """
        return facts.mapped(self._earlier)

    def judged(self, one: Check, facts: HostFacts, profile: Profile, judge: Callable[[], tuple[Judgement, ...]]) -> tuple[Judgement, ...]:
        """What `judge` says of this check, or said of the very same facts."""
        seen = tuple(facts.of(kind) for kind in (*one.inputs.kinds, Platform))
        before = self._judged.get(one.id)
        if before and before.profile is profile and all(was is now for was, now in zip(before.facts, seen, strict=True)):
            return before.judgements
        judgements = judge()
        if all(each.outcome in _QUIET for each in judgements):
            self._judged[one.id] = _Judged(profile, seen, judgements)
        else:
            self._judged.pop(one.id, None)
        return judgements

    def _earlier(self, name: str, fact: Any) -> Any:
        import pickle

        written = pickle.dumps(fact, protocol=5)
        before = self._facts.get(name)
        if before and before[0] == written:
            return before[1]
        self._facts[name] = (written, fact)
        return fact
