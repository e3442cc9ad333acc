"""The managers of one kubelet in their current state."""

from functools import lru_cache
from math import ceil

from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.kubelet.placement.cpus import Cpu, CpuTopology, take
from hostagent.domains.kubelet.placement.devices import Pool
from hostagent.domains.kubelet.placement.memory import MEMORY, Memory, NodeMemory
from hostagent.domains.kubelet.placement.merge import Policy
from hostagent.domains.kubelet.placement.node import CpuSets, Node
from hostagent.domains.kubelet.placement.quantity import shown_bytes
from hostagent.domains.kubelet.placement.settings import Settings
from hostagent.facts.cpulist import parse_cpulist
from hostagent.facts.kubelet import KubeletState


def policy_of(chosen: Settings, node: Node) -> Policy:
    """The topology manager. Raises ``UnreadError`` where distances decide and are not known."""
    distances: dict[int, tuple[int, ...]] = {}
    if chosen.closest and chosen.policy not in ("none", "single-numa-node"):
        distances = {one.id: need(one.distances) for one in node.numa}
    return Policy(chosen.policy, tuple(one.id for one in node.numa), bool(distances), distances)


def pools_of(node: Node) -> dict[str, Pool]:
    """Registered devices by resource."""
    found: dict[str, list[int]] = {}
    devices = need(node.devices)
    for place, device in enumerate(devices):
        found.setdefault(device.resource, []).append(place)
    return {resource: Pool(resource, [devices[place] for place in places]) for resource, places in found.items()}


class Cpus:
    """The static CPU manager: the shared CPUs, and what is reserved."""

    def __init__(self, chosen: Settings, node: Node) -> None:
        self.options = chosen.options
        self.topology = cpu_topology(node)
        every = set(self.topology.places)
        if chosen.reserved_cpus:
            self.reserved = set(chosen.reserved_cpus) & every
        else:
            self.reserved = take(self.topology, every, ceil(chosen.reserved_milli / 1000), chosen.options) or set()
        self.reserved_cores = {cpu for one in self.reserved for cpu in self.topology.in_core[self.topology.places[one].core]}
        self.shared = every - self.reserved if chosen.options.strict_cpu_reservation else set(every)
        self.shared -= exclusive_cpus(node.given)

    @property
    def available(self) -> set[int]:
        return self.shared - self.reserved

    @property
    def whole_cores(self) -> int:
        """CPUs that are free and on no core with a reserved one."""
        return len(self.shared - self.reserved_cores)


def exclusive_cpus(given: KubeletState | Unread) -> set[int]:
    """Exclusive CPUs of containers; none where the kubelet has no such state. Raises ``UnreadError`` where that cannot be read."""
    if isinstance(given, Unread):
        if given.why in ("absent", "not-running"):
            return set()
        raise UnreadError(given)
    if isinstance(given.cpus_exclusive, Unread) and given.cpus_exclusive.why in ("absent", "not-running"):
        return set()
    return set(parse_cpulist(need(given.cpus_exclusive)))


def cpu_topology(node: Node) -> CpuTopology:
    """Raises ``UnreadError`` where sockets or cores are not known."""
    return _cpu_topology(need(node.packages), need(node.cores), tuple((one.id, one.cpus) for one in node.numa))


@lru_cache(maxsize=1)  # a pod that is refused is tried again on the same machine for each change that may let it in
def _cpu_topology(packages: CpuSets, cores: CpuSets, numa: tuple[tuple[int, tuple[int, ...]], ...]) -> CpuTopology:
    sockets = {cpu: number for number, package in enumerate(packages) for cpu in package}
    core_of = {cpu: min(core) for core in cores for cpu in core}
    places = {cpu: Cpu(number, sockets.get(cpu, 0), core_of.get(cpu, cpu)) for number, cpus in numa for cpu in cpus}
    return CpuTopology(places, len(packages))


def memory_of(chosen: Settings, node: Node) -> Memory:
    """The static memory manager. Raises ``UnreadError`` where a node's memory is not known."""
    reserved: dict[tuple[int, str], int] = {}
    for number, resource, size in chosen.reserved_on_node:
        reserved[number, resource] = reserved.get((number, resource), 0) + size
    nodes: dict[int, NodeMemory] = {}
    for one in node.numa:
        pages = need(one.hugepages)
        sizes = {f"hugepages-{shown_bytes(size)}": size * count for size, count in pages}
        left = need(one.memory_bytes) - sum(sizes.values())
        allocatable = {name: size - reserved.get((one.id, name), 0) for name, size in (*sizes.items(), (MEMORY, left))}
        nodes[one.id] = NodeMemory(one.id, {name: max(0, size) for name, size in allocatable.items()})
    memory = Memory(nodes)
    _put_allocations(memory, node.given)
    return memory


def _put_allocations(memory: Memory, given: KubeletState | Unread) -> None:
    """Applies the allocations in the manager's own state."""
    if isinstance(given, Unread):
        if given.why not in ("absent", "not-running"):
            raise UnreadError(given)
        return
    if given.memory_policy != "Static" if isinstance(given.memory_policy, str) else given.memory_policy.why in ("absent", "not-running"):
        return
    for block in need(given.memory):
        node = memory.nodes.get(block.numa_node)
        if node is None:
            continue
        node.allocatable[block.resource], node.free[block.resource] = block.allocatable, block.free
        if block.group or block.free < block.allocatable:
            node.assignments = max(node.assignments, 1)
            node.cells = block.group or node.cells


class Capacity:
    """Counts of the predicate: allocatable and requested, by resource; CPUs in thousandths."""

    def __init__(self, chosen: Settings, node: Node, pools: dict[str, Pool]) -> None:
        reserved = dict(chosen.reserved_bytes)
        self.allocatable: dict[str, int | Unread] = {
            "cpu": max(0, sum(len(one.cpus) for one in node.numa) * 1000 - chosen.reserved_milli),
            "pods": chosen.max_pods,
        }
        self.requested: dict[str, int] = {"cpu": 0, "pods": 0}
        memory: int | Unread = 0
        for one in node.numa:
            pages = one.hugepages
            if isinstance(memory, Unread) or isinstance(one.memory_bytes, Unread):
                memory = one.memory_bytes if isinstance(one.memory_bytes, Unread) else memory
                continue
            memory += one.memory_bytes
            if isinstance(pages, Unread):
                memory = pages
                continue
            for size, count in pages:
                name = f"hugepages-{shown_bytes(size)}"
                before = self.allocatable.get(name, 0)
                self.allocatable[name] = size * count + (before if isinstance(before, int) else 0)
                memory -= size * count
        self.allocatable[MEMORY] = memory
        for name, size in reserved.items():
            before = self.allocatable.get(name, 0)
            if isinstance(before, int):
                self.allocatable[name] = max(0, before - size)
        for resource, pool in pools.items():
            self.allocatable[resource] = len(pool.healthy)
            self.requested[resource] = len(pool.taken)
