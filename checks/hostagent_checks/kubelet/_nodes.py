"""NUMA nodes as the kubelet's managers see them."""

from hostagent.check import need
from hostagent.facts.cpulist import parse_cpulist
from hostagent.facts.topology import NumaNode
from hostagent.facts.unread import Unread


def cpus_of(text: str) -> frozenset[int]:
    """The CPUs of a list; unread where it is none."""
    try:
        return frozenset(parse_cpulist(text))
    except ValueError as error:
        return need(Unread("error", str(error)))


def distances_between(nodes: tuple[NumaNode, ...], ids: list[int]) -> frozenset[int]:
    """The distances of these nodes from each other; `ids` are those of all nodes, in their order."""
    those, found = {one.id for one in nodes}, set[int]()
    for one in nodes:
        row = need(one.distances)
        if len(row) != len(ids):
            need(Unread("error", f"NUMA node {one.id} has {len(row)} distances, and there are {len(ids)} nodes"))
        found |= {distance for other, distance in zip(ids, row, strict=True) if other in those and other != one.id}
    return frozenset(found)
