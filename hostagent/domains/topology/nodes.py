"""NUMA nodes that have CPUs."""

from hostagent.core.unread import need
from hostagent.facts.topology import NumaNode, Topology


def cpu_nodes(topology: Topology) -> tuple[NumaNode, ...]:
    """NUMA nodes with CPUs; the others are memory of a GPU or an expansion card. Raises ``UnreadError``."""
    return tuple(node for node in need(topology.numa_nodes) if need(node.cpus))
