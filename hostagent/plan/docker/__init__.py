"""Docker's engine of the distribution, and the group whose members use it: only where ``Asked.docker`` says so."""

from hostagent.plan.model import DockerChoice, Given, Portion


def choose_docker(_given: Given) -> tuple[DockerChoice, Portion]:
    """Nothing where an engine is there, whoever installed it. Raises ``UnreadError``."""
    return DockerChoice(wanted=False), Portion()


def docker_steps(_given: Given, _choice: DockerChoice) -> Portion:
    """``docker.packages``, ``docker.units`` and ``docker.group``. Raises ``UnreadError``."""
    return Portion()
