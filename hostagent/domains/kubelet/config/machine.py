"""The machine as the kubelet finds it at its start: NUMA nodes, CPUs, its own state files."""

from collections.abc import Callable
from typing import Any

from hostagent.core.unread import Unread, then
from hostagent.domains.kubelet.config.model import Machine, MachineNode
from hostagent.domains.kubelet.config.states import StateFiles
from hostagent.facts.cpulist import format_cpulist, parse_cpulist
from hostagent.facts.topology import NumaNode, Topology


def machine_of(known: Callable[[type], Any], states: StateFiles) -> Machine:
    """The machine from facts that were read before."""
    topology: Topology | Unread = known(Topology)
    cores = then(topology, lambda one: one.cores)
    return Machine(
        nodes=then(then(topology, lambda one: one.numa_nodes), lambda nodes: tuple(map(_node, nodes))),
        cpus=then(cores, _union),
        cores=cores,
        cpu_state=states.cpu,
        memory_state=states.memory,
    )


def _node(node: NumaNode) -> MachineNode:
    return MachineNode(node.id, node.memory_bytes, then(node.hugepages, lambda those: tuple((one.size_bytes, one.total) for one in those)))


def _union(cores: tuple[str, ...]) -> str:
    return format_cpulist(cpu for core in cores for cpu in parse_cpulist(core))
