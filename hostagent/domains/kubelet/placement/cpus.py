"""The CPUs that the static CPU manager takes: packed, spread over cores, or distributed over NUMA nodes."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations
from math import ceil, sqrt
from operator import attrgetter
from typing import NamedTuple

from hostagent.domains.kubelet.placement.masks import BUDGET, TooManyError

#: Sets of nodes that may give the remainder: the kubelet tries all of them, for each set that shares the load.
_MOST_REMAINDERS = 30_000


class Cpu(NamedTuple):
    """The node, socket and core of one logical CPU; a core is named after its lowest CPU."""

    node: int
    socket: int
    core: int


class CpuTopology:
    """All CPUs of the machine."""

    def __init__(self, places: dict[int, Cpu], sockets: int) -> None:
        self.places = places
        self.sockets = sockets
        self.nodes = tuple(sorted({place.node for place in places.values()}))
        self.in_node = _groups(places, "node")
        self.in_socket = _groups(places, "socket")
        self.in_core = _groups(places, "core")
        self.per_core = len(places) // len(self.in_core) if self.in_core else 1
        self.per_socket = len(places) // sockets if sockets else 0
        self.node_sockets = {node: {places[cpu].socket for cpu in cpus} for node, cpus in self.in_node.items()}


def _groups(places: dict[int, Cpu], level: str) -> dict[int, frozenset[int]]:
    groups: dict[int, list[int]] = {}
    number_of = attrgetter(level)
    for cpu, place in places.items():
        number = number_of(place)
        if number in groups:
            groups[number].append(cpu)
        else:
            groups[number] = [cpu]
    return {number: frozenset(cpus) for number, cpus in groups.items()}


class CpuOptions(NamedTuple):
    """cpuManagerPolicyOptions, as the kubelet names them with dashes."""

    full_pcpus_only: bool = False
    distribute_cpus_across_numa: bool = False
    distribute_cpus_across_cores: bool = False
    align_by_socket: bool = False
    strict_cpu_reservation: bool = False
    prefer_align_cpus_by_uncorecache: bool = False


class _Taking:
    """One search: the free CPUs and the taken ones."""

    def __init__(self, topology: CpuTopology, available: Iterable[int], need: int) -> None:
        self.topology = topology
        self.free = set(available)
        self.need = need
        self.taken: set[int] = set()

    def take(self, cpus: Iterable[int]) -> None:
        cpus = set(cpus)
        self.taken |= cpus
        self.free -= cpus
        self.need -= len(cpus)

    def ordered(self, level: str, within: Iterable[int] | None = None) -> list[int]:
        """Numbers of a level that have free CPUs, those with the fewest first."""
        counts = Counter(getattr(self.topology.places[cpu], level) for cpu in (self.free if within is None else within))
        return sorted(counts, key=lambda number: (counts[number], number))

    def nested(self, outer: str, inner: str) -> list[int]:
        """The inner groups of each outer one, those with the fewest free CPUs first on both levels."""
        places = self.topology.places
        counts = Counter(getattr(places[cpu], inner) for cpu in self.free)
        inside: dict[int, set[int]] = {}
        for cpu in self.free:
            inside.setdefault(getattr(places[cpu], outer), set()).add(getattr(places[cpu], inner))
        return [number for group in self.ordered(outer) for number in sorted(inside[group], key=lambda number: (counts[number], number))]

    @property
    def nodes_first(self) -> bool:
        return self.topology.sockets >= len(self.topology.nodes)

    def nodes(self) -> list[int]:
        return self.ordered("node") if self.nodes_first else self.nested("socket", "node")

    def sockets(self) -> list[int]:
        return self.nested("node", "socket") if self.nodes_first else self.ordered("socket")

    def cores(self) -> list[int]:
        """Free cores, in the order of the levels above: sockets in nodes, or nodes in sockets."""
        level, groups = ("socket", self.sockets()) if self.nodes_first else ("node", self.nodes())
        places = self.topology.places
        counts = Counter(places[cpu].core for cpu in self.free)
        inside: dict[int, set[int]] = {}
        for cpu in self.free:
            inside.setdefault(getattr(places[cpu], level), set()).add(places[cpu].core)
        return [core for group in groups for core in sorted(inside[group], key=lambda core: (counts[core], core))]

    def take_whole(self, numbers: list[int], groups: dict[int, frozenset[int]], size: int | None = None) -> None:
        """Takes each group with all CPUs free, while as many are needed. `size`: the CPUs of a whole group."""
        free = [number for number in numbers if len(groups[number] & self.free) == (len(groups[number]) if size is None else size)]
        for number in free:
            if self.need >= len(groups[number]):
                self.take(groups[number])

    def remaining(self, *, spread: bool) -> list[int]:
        places = self.topology.places
        level, groups = ("socket", self.sockets()) if spread else ("core", self.cores())
        inside: dict[int, list[int]] = {}
        for cpu in sorted(self.free):
            inside.setdefault(getattr(places[cpu], level), []).append(cpu)
        return [cpu for group in groups for cpu in inside[group]]


def take(topology: CpuTopology, available: Iterable[int], need: int, options: CpuOptions) -> set[int] | None:
    """The CPUs that are taken of those available, or None where there are not enough. Raises ``TooManyError``."""
    if options.distribute_cpus_across_numa:
        return _distributed(topology, available, need, options)
    return _packed(topology, available, need, spread=options.distribute_cpus_across_cores)


def _packed(topology: CpuTopology, available: Iterable[int], need: int, *, spread: bool) -> set[int] | None:
    taking = _Taking(topology, available, need)
    if need < 1:
        return set()
    if need > len(taking.free):
        return None
    for step in _steps(taking, spread=spread):
        step()
        if taking.need < 1:
            return taking.taken
    taking.take(taking.remaining(spread=spread)[: taking.need])
    return taking.taken


def _steps(taking: _Taking, *, spread: bool) -> list[Callable[[], None]]:
    """Whole nodes and sockets, the larger ones first, then whole cores."""

    def nodes() -> None:
        taking.take_whole(taking.nodes(), taking.topology.in_node)

    def sockets() -> None:
        taking.take_whole(taking.sockets(), taking.topology.in_socket, taking.topology.per_socket)

    def cores() -> None:
        taking.take_whole(taking.cores(), taking.topology.in_core, taking.topology.per_core)

    steps = [nodes, sockets] if taking.nodes_first else [sockets, nodes]
    return steps if spread else [*steps, cores]


def _distributed(topology: CpuTopology, available: Iterable[int], need: int, options: CpuOptions) -> set[int] | None:
    """As many from each of the fewest nodes that can share the load; packed where no nodes can."""
    available = set(available)
    group = topology.per_core if options.full_pcpus_only else 1
    spread = options.distribute_cpus_across_cores
    if need < 1:
        return set()
    if need > len(available):
        return None
    taking = _Taking(topology, available, need)
    if need % group == 0:
        nodes = taking.nodes()
        free = {node: len(topology.in_node[node] & available) for node in nodes}
        groups = ceil(need / group)
        per_node = ceil(ceil(len(topology.places) / group) / len(topology.nodes))
        for size in range(ceil(groups / per_node), min(groups, len(nodes)) + 1):
            found = _balanced(nodes, free, size, need, group)
            if found is not None:
                return _share_out(taking, found, group, spread=spread)
    return _packed(topology, available, need, spread=spread)


def _share_out(taking: _Taking, nodes: tuple[tuple[int, ...], tuple[int, ...]], group: int, *, spread: bool) -> set[int]:
    combo, rest = nodes
    need = taking.need
    topology = taking.topology
    each = need // len(combo) // group * group
    for node in combo:
        taking.take(_packed(topology, topology.in_node[node] & taking.free, each, spread=spread) or ())
    left = need - each * len(combo)
    while left > 0 and any(len(topology.in_node[node] & taking.free) >= group for node in rest):
        for node in rest:
            if left > 0 and len(topology.in_node[node] & taking.free) >= group:
                taking.take(_packed(topology, topology.in_node[node] & taking.free, group, spread=spread) or ())
                left -= group
    return taking.taken


def _balanced(nodes: list[int], free: dict[int, int], size: int, need: int, group: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The nodes that leave the most even rest when each gives as much, and those of them that give the remainder."""
    best: tuple[float, tuple[int, ...], tuple[int, ...]] | None = None
    looked, remainders = 0, _MOST_REMAINDERS
    for combo in combinations(nodes, size):
        if best is not None and best[0] == 0:
            break
        looked += 1
        if looked > BUDGET:
            raise TooManyError
        each = need // size // group * group
        if sum(free[node] // group for node in combo) * group < need or any(free[node] < each for node in combo):
            continue
        after = {node: free[node] - each * (node in combo) for node in nodes}
        if need > each * size:
            remainders -= (1 << sum(after[node] >= group for node in combo)) - 1
        if remainders < 0:
            raise TooManyError
        local = _remainder(combo, after, need - each * size, group)
        if local is not None and (best is None or local[0] < best[0]):
            best = (local[0], combo, local[1])
    return None if best is None else (best[1], best[2])


def _remainder(combo: tuple[int, ...], after: dict[int, int], rest: int, group: int) -> tuple[float, tuple[int, ...]] | None:
    """The resulting balance, and the nodes that give the remainder."""
    if rest == 0:
        return _deviation(after.values()), ()
    able = [node for node in combo if after[node] >= group]
    best: tuple[float, tuple[int, ...]] | None = None
    for size in range(len(able), 0, -1):
        for subset in combinations(able, size):
            if sum(after[node] for node in subset) < rest:
                continue
            balance = _deviation(_after_remainder(after, subset, rest, group).values())
            if best is None or balance < best[0]:
                best = (balance, subset)
    return best


def _after_remainder(after: dict[int, int], subset: tuple[int, ...], rest: int, group: int) -> dict[int, int]:
    left = dict(after)
    while rest > 0:
        before = rest
        for node in subset:
            if rest > 0 and left[node] >= group:
                left[node] -= group
                rest -= group
        if rest == before:  # no node has a whole group left
            break
    return left


def _deviation(values: Iterable[int]) -> float:
    numbers = list(values)
    mean = _rounded(sum(numbers) / len(numbers))
    return _rounded(sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers)))


def _rounded(value: float) -> float:
    return int(value * 1000 + 0.5) / 1000
