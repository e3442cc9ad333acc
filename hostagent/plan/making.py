"""Facts, offers and a profile to a plan: the deciders, one after the other."""

from hostagent.plan.model import Given, Plan


def make(given: Given) -> Plan:
    """Call it again with the answers to `Plan.questions` until there are none."""
    raise NotImplementedError
