"""Repositories, their keys, pins, refresh and download: what serves driver and toolkit."""

from hostagent.plan.model import Choices, Given, Operation, Portion


def repository_steps(given: Given, choices: Choices) -> Portion:
    """Repair of an interrupted database first, then keys, repository files, pins, refresh, download."""
    raise NotImplementedError


def laid(given: Given, choices: Choices) -> tuple[Operation, ...]:
    """The keys, repository files and pins that have to be in their places before the package manager is asked (``Key``, ``Write``)."""
    raise NotImplementedError
