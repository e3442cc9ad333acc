"""Plans the host again, or reads the facts of the steps' probes, by a new pass each time."""

from collections.abc import Callable

from hostagent.engine import pipeline
from hostagent.engine.pipeline import Prepared
from hostagent.engine.target import Evidence, open_host
from hostagent.facts.hostfacts import HostFacts
from hostagent.install.apply import Replan
from hostagent.install.planning import plan_of
from hostagent.plan.document import Document, document
from hostagent.plan.model import Asked, Plan
from hostagent.plan.view import KINDS, View, view
from hostagent.profiles.profile import Loaded

Make = Callable[[HostFacts, Loaded, Asked, Evidence, Callable[[str], None]], Plan]


def replan_of(
    place: Evidence, prepared: Prepared, asked: Asked, make: Make = plan_of, on_progress: Callable[[str], None] = lambda _: None
) -> Replan:
    """`prepared`: the profile, and what a plan reads. `on_progress`: gets what takes long."""

    def plan() -> tuple[Plan, Document]:
        with open_host(place, prepared.kinds) as reading:
            collected = reading.collect(pipeline.policy_of(prepared))
            report = pipeline.judge(collected, reading, prepared)
        made = make(collected.facts, prepared.loaded, asked, place, on_progress)
        return made, document(made, report)

    def read_view() -> View:
        with open_host(place, KINDS) as reading:
            return view(reading.collect(pipeline.policy_of(prepared)).facts)

    return Replan(plan, read_view)
