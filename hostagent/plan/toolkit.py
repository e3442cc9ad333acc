"""The NVIDIA Container Toolkit: four packages at one version."""

from hostagent.plan.model import Given, Portion, ToolkitChoice


def choose_toolkit(given: Given) -> tuple[ToolkitChoice, Portion]:
    """What this host needs, and what of that is refused or still has to be asked."""
    raise NotImplementedError


def toolkit_steps(given: Given, choice: ToolkitChoice) -> Portion:
    """Packages, hold, the units that refresh CDI specifications."""
    raise NotImplementedError
