"""The kubelet's configuration as the model needs it, and why a kubelet with it would not start on this machine."""

from collections.abc import Iterable
from math import ceil
from typing import NamedTuple

from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.kubelet.placement.cpus import CpuOptions
from hostagent.domains.kubelet.placement.node import Node
from hostagent.domains.kubelet.placement.quantity import milli, share_of, whole
from hostagent.facts.cpulist import parse_cpulist
from hostagent.facts.kubelet import KubeletConfig, Pairs

#: What the topology manager takes without max-allowable-numa-nodes.
MOST_NODES = 8
#: The kubelet looks at every set of NUMA nodes: seconds a pod with so many of them, and no end with some more.
MOST_SEARCHED = 18
_TRUE = ("1", "t", "T", "TRUE", "true", "True")


class Settings(NamedTuple):
    """All settings that decide, apart from allocations."""

    policy: str
    scope: str
    closest: bool
    most_nodes: int
    static_cpus: bool
    options: CpuOptions
    reserved_cpus: tuple[int, ...]  # () where they are only counted
    reserved_milli: int
    static_memory: bool
    reserved_on_node: tuple[tuple[int, str, int], ...]  # reservedMemory: node, resource, bytes
    reserved_bytes: tuple[tuple[str, int], ...]  # by resource: kube, system and hard eviction together
    max_pods: int | Unread
    topology_options: tuple[tuple[str, str], ...] = ()  # as they are written
    cpu_options: tuple[tuple[str, str], ...] = ()


def settings(node: Node) -> Settings:
    """Raises ``UnreadError`` for a field that decides and is not known."""
    config = need(node.config)
    try:
        return _settings(config, node)
    except ValueError as error:
        raise UnreadError(Unread("error", f"the kubelet's configuration: {error}")) from error


def _settings(config: KubeletConfig, node: Node) -> Settings:
    policy = need(config.topology_manager_policy)
    topology = _pairs(config.topology_manager_policy_options) if policy != "none" else {}
    static = need(config.cpu_manager_policy) == "static"
    cpu = _pairs(config.cpu_manager_policy_options) if static else {}
    fixed = parse_cpulist(need(config.reserved_system_cpus))
    kube, system = _pairs(config.kube_reserved), _pairs(config.system_reserved)
    reserved = len(fixed) * 1000 if fixed else milli(kube.get("cpu", "0")) + milli(system.get("cpu", "0"))
    static_memory = need(config.memory_manager_policy) == "Static"
    rows = need(config.reserved_memory) if static_memory else ()
    return Settings(
        policy,
        need(config.topology_manager_scope),
        topology.get("prefer-closest-numa-nodes") in _TRUE,
        int(topology.get("max-allowable-numa-nodes", MOST_NODES)),
        static,
        CpuOptions(**{name: cpu.get(name.replace("_", "-")) in _TRUE for name in CpuOptions._fields}),
        fixed,
        reserved,
        static_memory,
        tuple((row.numa_node, resource, whole(size)) for row in rows for resource, size in row.limits),
        tuple(_reserved_bytes(kube, system, _pairs(config.eviction_hard), node).items()),
        _max_pods(config, node),
        tuple(topology.items()),
        tuple(cpu.items()),
    )


def _pairs(pairs: Pairs | Unread) -> dict[str, str]:
    return dict(need(pairs))


def _reserved_bytes(kube: dict[str, str], system: dict[str, str], eviction: dict[str, str], node: Node) -> dict[str, int]:
    names = {name for name in (*kube, *system) if name == "memory" or name.startswith("hugepages-")} | {"memory"}
    reserved = {name: whole(kube.get(name, "0")) + whole(system.get(name, "0")) for name in names}
    threshold = eviction.get("memory.available", "0")
    if threshold.endswith("%"):
        reserved["memory"] += share_of(sum(known(one.memory_bytes for one in node.numa)), threshold)
    else:
        reserved["memory"] += whole(threshold)
    return reserved


def _max_pods(config: KubeletConfig, node: Node) -> int | Unread:
    most, per_core = config.max_pods, config.pods_per_core
    if isinstance(most, Unread) or isinstance(per_core, Unread):
        return most if isinstance(most, Unread) else per_core
    if per_core <= 0:
        return most
    return min(most, per_core * sum(len(one.cpus) for one in node.numa))


def known(values: Iterable[int | Unread]) -> list[int]:
    """Raises ``UnreadError`` for the first that is not."""
    return [need(value) for value in values]


def refusal(chosen: Settings, node: Node) -> str:
    """Why a kubelet with these settings does not start on this machine, "" where it does, as far as placement depends on it."""
    if chosen.policy != "none" and len(node.numa) > chosen.most_nodes:
        return f"unsupported on machines with more than {chosen.most_nodes} NUMA Nodes"
    if chosen.static_cpus:
        if chosen.reserved_milli <= 0:
            return "the static CPU manager needs reserved CPUs"
        if ceil(chosen.reserved_milli / 1000) > sum(len(one.cpus) for one in node.numa):
            return "more CPUs are reserved than there are"
        if chosen.options.distribute_cpus_across_cores and (
            chosen.options.full_pcpus_only or chosen.options.distribute_cpus_across_numa or chosen.options.prefer_align_cpus_by_uncorecache
        ):
            return "distribute-cpus-across-cores does not go with the other options that were given"
        if chosen.options.distribute_cpus_across_numa and chosen.options.prefer_align_cpus_by_uncorecache:
            return "distribute-cpus-across-numa does not go with prefer-align-cpus-by-uncorecache"
        if chosen.options.align_by_socket:
            return _refuses_align_by_socket(chosen, node)
    if chosen.static_memory:
        return _refuses_memory(chosen, node)
    return ""


def _refuses_align_by_socket(chosen: Settings, node: Node) -> str:
    if chosen.policy == "single-numa-node":
        return "align-by-socket does not go with single-numa-node"
    if len(need(node.packages)) > sum(1 for one in node.numa if one.cpus):
        return "align-by-socket does not go with more sockets than NUMA nodes"
    return _refuses_memory(chosen, node) if chosen.static_memory else ""


def _refuses_memory(chosen: Settings, node: Node) -> str:
    ids = {one.id for one in node.numa}
    totals: dict[str, int] = {}
    for number, resource, size in chosen.reserved_on_node:
        if number not in ids:
            return f"reservedMemory names NUMA node {number}, which is not there"
        totals[resource] = totals.get(resource, 0) + size
    for resource, wanted in chosen.reserved_bytes:
        if totals.get(resource, 0) != wanted:
            return f"reservedMemory sums up to {totals.get(resource, 0)} of {resource}, and {wanted} are reserved"
    if any(resource not in dict(chosen.reserved_bytes) and size for resource, size in totals.items()):
        return "reservedMemory names a resource that is not reserved"
    return "" if totals.get("memory") else "the static memory manager needs reserved memory"
