"""A plan of a host that can be asked: rounds of questions and answers."""

from hostagent.evidence import Evidence
from hostagent.facts.hostfacts import HostFacts
from hostagent.plan.model import Asked, Plan
from hostagent.profile import Loaded


def planned(facts: HostFacts, loaded: Loaded, asked: Asked, place: Evidence) -> Plan:
    """Offers are asked only where something is to do, and the host is no snapshot and no made tree."""
    raise NotImplementedError
