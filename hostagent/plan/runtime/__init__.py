"""Container runtimes: configuration that gives GPUs to jobs, and restarts."""

from hostagent.plan.model import Choices, Given, Portion
from hostagent.plan.runtime.after_install import after_install_portion
from hostagent.plan.runtime.cdi import cdi_steps
from hostagent.plan.runtime.configured import runtime_portion
from hostagent.plan.runtime.needs import needs
from hostagent.plan.toolkit import is_hosts


def runtime_steps(given: Given, choices: Choices) -> Portion:
    """Configuration files, restarts, the CDI specification; nothing where the toolkit has another owner. Raises ``UnreadError``."""
    if given.profile.runtime.kind == "none" or not is_hosts(given):
        return Portion()
    portions = [*(runtime_portion(given, choices, one) for one in needs(given)), after_install_portion(given, choices)]
    return Portion(
        steps=(*(step for portion in portions for step in portion.steps), *cdi_steps(given, choices)),
        refusals=tuple(one for portion in portions for one in portion.refusals),
    )
