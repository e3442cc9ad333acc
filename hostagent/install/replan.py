"""How a run looks at its host: a plan of it, or the facts that the steps' probes need, by a new pass each time."""

from collections.abc import Callable

from hostagent.engine import pipeline
from hostagent.engine.pipeline import Prepared
from hostagent.engine.target import Evidence, open_host
from hostagent.facts.hostfacts import HostFacts
from hostagent.install.apply import Looks
from hostagent.install.planning import planned
from hostagent.plan.document import Document, document
from hostagent.plan.model import Asked, Plan
from hostagent.plan.view import KINDS, View, view
from hostagent.profiles.profile import Loaded

Make = Callable[[HostFacts, Loaded, Asked, Evidence, Callable[[str], None]], Plan]


def looks_at(
    place: Evidence, prepared: Prepared, asked: Asked, make: Make = planned, told: Callable[[str], None] = lambda _: None
) -> Looks:
    """`prepared`: the profile, and what a plan reads. `told` hears what takes its time."""

    def plan() -> tuple[Plan, Document]:
        with open_host(place, prepared.kinds) as reading:
            collected = reading.collect(pipeline.policy_of(prepared))
            report = pipeline.judge(collected, reading, prepared)
        made = make(collected.facts, prepared.loaded, asked, place, told)
        return made, document(made, report)

    def look() -> View:
        with open_host(place, KINDS) as reading:
            return view(reading.collect(pipeline.policy_of(prepared)).facts)

    return Looks(plan, look)
