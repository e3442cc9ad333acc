"""A plan of a host that can be asked: rounds of questions and answers."""

from hostagent.evidence import Evidence
from hostagent.facts.hostfacts import HostFacts
from hostagent.plan.model import Asked, Plan
from hostagent.profile import Loaded


def planned(facts: HostFacts, loaded: Loaded, asked: Asked, place: Evidence) -> Plan:
    """Offers are asked only where something is to do, and the host is no snapshot and no made tree."""
    from hostagent.plan.making import make
    from hostagent.plan.model import Given
    from hostagent.plan.offers import NOT_ASKED
    from hostagent.plan.view import view

    if not place.snapshot:
        raise NotImplementedError
    return make(Given(view(facts), loaded.profile, asked, NOT_ASKED))
