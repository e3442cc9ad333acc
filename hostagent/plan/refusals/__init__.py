"""Preconditions: each is a refusal while nothing has been touched."""

from hostagent.plan.model import Choices, Given, Portion, Refusal


def refused_before(given: Given) -> tuple[Refusal, ...]:
    """What forbids any change to this host, whatever would be chosen: no question is asked and nothing is chosen then."""
    raise NotImplementedError


def refused_after(given: Given, choices: Choices, portion: Portion) -> tuple[Refusal, ...]:
    """What forbids this plan: space, a module in use, locks, Secure Boot, what a transaction would remove. `portion` is all of it."""
    raise NotImplementedError
