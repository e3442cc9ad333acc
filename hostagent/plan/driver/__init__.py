"""The driver: which packages, at which version, from where, for which kernels."""

from hostagent.plan.model import DriverChoice, Given, Portion


def choose(given: Given) -> tuple[DriverChoice, Portion]:
    """The choice for this host, with refusals or open questions."""
    from hostagent.plan.driver.select_version import chosen

    return chosen(given)


def driver_steps(given: Given, choice: DriverChoice) -> Portion:
    """Headers, nouveau, packages, modules, options, holds, units, loading."""
    from hostagent.plan.driver.steps import steps_of

    return steps_of(given, choice)
