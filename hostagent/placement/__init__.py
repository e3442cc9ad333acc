"""The kubelet's placement model, pure: whether this node's kubelet admits a pod, on which NUMA nodes, why not, and what would change that.

It takes facts, or the same out of a report's JSON, so that others can ask it about another node.
"""

from hostagent.placement.answers import Fix, Placed
from hostagent.placement.capacities import capacity
from hostagent.placement.manifests import pod_of
from hostagent.placement.node import Node, emptied, node_of
from hostagent.placement.place import place
from hostagent.placement.pods import Container, Pod
from hostagent.placement.reports import node_of_report
from hostagent.placement.shapes import parse_shape

__all__ = [
    "Container",
    "Fix",
    "Node",
    "Placed",
    "Pod",
    "capacity",
    "emptied",
    "node_of",
    "node_of_report",
    "parse_shape",
    "place",
    "pod_of",
]
