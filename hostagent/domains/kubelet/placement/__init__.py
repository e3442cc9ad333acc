"""The kubelet's placement model, pure: whether this node's kubelet admits a pod, on which NUMA nodes, why not, and what would change that.

It takes facts, or the same out of a report's JSON, so that others can ask it about another node. What is not asked for is not imported.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hostagent.domains.kubelet.placement.answers import Fix, Placed
    from hostagent.domains.kubelet.placement.capacities import capacity
    from hostagent.domains.kubelet.placement.manifests import pods_in
    from hostagent.domains.kubelet.placement.node import Node, admits_by_count, emptied, node_of
    from hostagent.domains.kubelet.placement.placing import place
    from hostagent.domains.kubelet.placement.pods import Container, Pod
    from hostagent.domains.kubelet.placement.reports import node_of_report
    from hostagent.domains.kubelet.placement.shapes import parse_shape

#: Where each name is defined.
_HOMES = {
    "Container": "pods",
    "Fix": "answers",
    "Node": "node",
    "Placed": "answers",
    "Pod": "pods",
    "admits_by_count": "node",
    "capacity": "capacities",
    "emptied": "node",
    "node_of": "node",
    "node_of_report": "reports",
    "parse_shape": "shapes",
    "place": "placing",
    "pods_in": "manifests",
}

__all__ = [
    "Container",
    "Fix",
    "Node",
    "Placed",
    "Pod",
    "admits_by_count",
    "capacity",
    "emptied",
    "node_of",
    "node_of_report",
    "parse_shape",
    "place",
    "pods_in",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
