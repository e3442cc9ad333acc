"""Options of ``hostagent controller``."""

from typing import Literal

from hostagent.controller.limits import Limit
from hostagent.core.frozen import frozen

Taints = Literal["auto", "on", "off"]


@frozen
class Settings:
    """``selectors``: label selectors that do not overlap; ``taints``: auto leaves those of rules alone, on looks at no rules, off sets and
    removes none; ``namespace``: of the Lease.
    """

    prefix: str
    selectors: tuple[str, ...]
    stale_after_s: float
    max_silent: Limit
    max_tainted: Limit
    taints: Taints
    is_multi_node: bool
    is_dry_run: bool
    is_elected: bool
    namespace: str


def default_selectors(prefix: str) -> tuple[str, ...]:
    """GPU nodes by the label of GPU feature discovery, and nodes with a verdict of ours that are not among them."""
    return ("nvidia.com/gpu.present=true", f"{prefix}/ready,nvidia.com/gpu.present!=true")
