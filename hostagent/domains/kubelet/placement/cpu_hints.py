"""Hints of the static CPU manager."""

from collections.abc import Callable

from hostagent.domains.kubelet.placement.machine import Cpus
from hostagent.domains.kubelet.placement.masks import Hints, NoHints, fewest


def cpu_hints(cpus: Cpus, wanted: int, reusable: set[int]) -> Hints:
    """Sets of nodes with enough free CPUs; preferred are those as small as all CPUs of the machine allow."""
    places, nodes = cpus.topology.places, cpus.topology.nodes
    free = dict.fromkeys(nodes, 0)
    for cpu in cpus.available:
        free[places[cpu].node] += 1
    again = {places[cpu].node for cpu in reusable}
    extra = len(reusable)

    def fits(mask: int) -> bool:
        if any(not mask >> node & 1 for node in again):
            return False
        return extra + sum(count for node, count in free.items() if mask >> node & 1) >= wanted

    whole = sum(1 << node for node in nodes)
    if not fits(whole):
        return NoHints("cpu")
    sizes = {node: len(cpus.topology.in_node[node]) for node in nodes}
    width = fewest(sizes, wanted, len(sizes))
    prefers = _socket_preference(cpus, width) if cpus.options.align_by_socket else None
    return Hints("cpu", nodes, whole, fits, width).preferring(prefers).holding(None if reusable else free, wanted)


def _socket_preference(cpus: Cpus, width: int) -> Callable[[int], bool] | None:
    """align-by-socket: a set that spans as few sockets as its nodes need is preferred, whatever its size."""
    per_socket = len(cpus.topology.nodes) // cpus.topology.sockets if cpus.topology.sockets else 0
    if per_socket == 0:
        return None
    fewest_sockets = -(-width // per_socket)
    sockets = cpus.topology.node_sockets
    return lambda mask: len({one for node, found in sockets.items() if mask >> node & 1 for one in found}) == fewest_sockets


def aligned(cpus: Cpus, mask: int, available: set[int]) -> set[int]:
    topology = cpus.topology
    if cpus.options.align_by_socket:
        sockets = {one for node, found in topology.node_sockets.items() if mask >> node & 1 for one in found}
        return {cpu for cpu in available if topology.places[cpu].socket in sockets}
    return {cpu for cpu in available if mask >> topology.places[cpu].node & 1}
