"""Container runtimes: what their configuration needs so that jobs get GPUs, and which of them restart."""

from hostagent.plan.model import Choices, Given, Portion


def runtime_steps(given: Given, choices: Choices) -> Portion:
    """Configuration files, restarts."""
    raise NotImplementedError
