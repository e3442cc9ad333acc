"""NUMA nodes as the kubelet's managers see them."""

from hostagent.check import need
from hostagent.facts.topology import NumaNode, Topology


def cpu_nodes(topology: Topology) -> tuple[NumaNode, ...]:
    """Those with CPUs."""
    return tuple(one for one in need(topology.numa_nodes) if need(one.cpus))
