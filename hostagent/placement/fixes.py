"""The fewest changes by which a rejected pod is admitted, each proved by the model."""

from hostagent.placement.answers import Fix
from hostagent.placement.node import Node
from hostagent.placement.pods import Pod
from hostagent.placement.settings import Settings


def fix_of(node: Node, chosen: Settings, before: tuple[Pod, ...], pod: Pod) -> Fix | None:
    """None where no such change helps."""
    return None
