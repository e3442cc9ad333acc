"""Admission as the kubelet does it: the topology manager with its three providers, then the predicate."""

from collections.abc import Callable
from typing import NamedTuple

from hostagent.facts.unread import UnreadError, need
from hostagent.placement.cpus import take
from hostagent.placement.devices import Pool
from hostagent.placement.machine import Capacity, Cpus, memory_of, policy_of, pools_of
from hostagent.placement.masks import Hints, NoHints
from hostagent.placement.memory import MEMORY, Refused
from hostagent.placement.merge import Best, merge
from hostagent.placement.node import Node
from hostagent.placement.pods import Container, Pod, is_guaranteed, total
from hostagent.placement.settings import Settings

AFFINITY, UNEXPECTED, SMT = "TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError"
_NOWHERE = Best(None, False, False)


class Answer(NamedTuple):
    """What becomes of one pod. `best` holds the merged hint of each container; `why` is for people."""

    admitted: bool
    reason: str = ""
    why: str = ""
    best: tuple[tuple[str, Best], ...] = ()
    hints: tuple[Hints, ...] = ()  # of the container that was rejected


class _Rejected(Exception):
    def __init__(self, reason: str, why: str, hints: tuple[Hints, ...] = ()) -> None:
        super().__init__(why)
        self.reason = reason
        self.why = why
        self.hints = hints


class _Given(NamedTuple):
    """What a pod has been given, so that it can be taken back."""

    devices: list[tuple[Pool, set[int]]]
    cpus: set[int]
    memory: list[str]


class _Reusable(NamedTuple):
    """What init containers had and the pod's next containers may take."""

    devices: dict[str, set[int]]
    cpus: set[int]


class Model:
    """One kubelet. Raises ``UnreadError`` for what it needs and is not known; ``TooMany`` and ``Panic`` from `admit`."""

    def __init__(self, node: Node, chosen: Settings) -> None:
        self.chosen = chosen
        self.policy = policy_of(chosen, node)
        self.pools = pools_of(node)
        self.cpus = Cpus(chosen, node) if chosen.static_cpus else None
        self.memory = memory_of(chosen, node) if chosen.static_memory else None
        self.capacity = Capacity(chosen, node, self.pools)
        self.number = 0

    def admit(self, pod: Pod) -> Answer:
        """Gives the pod what it asks for, or nothing."""
        self.number += 1
        given = _Given([], set(), [])
        try:
            best = self._topology(pod, given)
            self._predicate(pod)
        except _Rejected as rejected:
            self._take_back(given)
            return Answer(False, rejected.reason, rejected.why, (), rejected.hints)
        self._count(pod)
        return Answer(True, best=tuple(best.items()))

    # the topology manager

    def _topology(self, pod: Pod, given: _Given) -> dict[str, Best]:
        reusable = _Reusable({}, set())
        if self.memory is not None:
            self.memory.reusable = {}
        exclusive = is_guaranteed(pod) and not pod.has_own_resources
        chosen: dict[str, Best] = {}
        whole = self._merged(self._pod_hints(pod, exclusive=exclusive)) if self._scope == "pod" else None
        for one in pod.in_order:
            best = whole or _NOWHERE
            if self._scope == "container":
                best = self._merged(self._hints(one, reusable, exclusive=exclusive))
            chosen[one.name] = best
            self._allocate(pod, one, best, given, reusable, exclusive=exclusive)
        return chosen

    @property
    def _scope(self) -> str:
        return "none" if self.policy.name == "none" else self.chosen.scope

    def _merged(self, hints: list[Hints]) -> Best:
        best = merge(self.policy, hints)
        if best is None:
            raise _Rejected(AFFINITY, "", tuple(hints))
        return best

    def _hints(self, one: Container, reusable: _Reusable, *, exclusive: bool) -> list[Hints]:
        hints = [
            pool.hints(self.policy.ids, wanted, reusable.devices.get(name, set()))
            for name, wanted in one.limits.items()
            if (pool := self.pools.get(name)) is not None
        ]
        if exclusive:
            hints.append(self._cpu_hints(_whole_cpus(one), reusable.cpus))
            if self.memory is not None:
                hints += self.memory.hints(memory_wanted(one))
        return [hint for hint in hints if hint is not None]

    def _pod_hints(self, pod: Pod, *, exclusive: bool) -> list[Hints]:
        hints = [
            pool.hints(self.policy.ids, wanted, set())
            for name, wanted in total(pod, limits=True).items()
            if (pool := self.pools.get(name)) is not None
        ]
        if exclusive:
            hints.append(self._cpu_hints(together(pod, lambda one: {"cpu": _whole_cpus(one)}).get("cpu", 0), set()))
            if self.memory is not None:
                hints += self.memory.hints(together(pod, memory_wanted))
        return [hint for hint in hints if hint is not None]

    def _cpu_hints(self, wanted: int, reusable: set[int]) -> Hints | None:
        if self.cpus is None or wanted == 0:
            return None
        return cpu_hints(self.cpus, wanted, reusable)

    # allocation

    def _allocate(self, pod: Pod, one: Container, best: Best, given: _Given, reusable: _Reusable, *, exclusive: bool) -> None:
        try:
            self._allocate_devices(one, best, given, reusable)
            if exclusive:
                self._allocate_cpus(one, best, given, reusable)
                self._allocate_memory(pod, one, best, given)
        except Refused as refused:
            raise _Rejected(UNEXPECTED, str(refused)) from refused

    def _allocate_devices(self, one: Container, best: Best, given: _Given, reusable: _Reusable) -> None:
        got: set[tuple[str, int]] = set()
        for name, wanted in one.limits.items():
            pool = self.pools.get(name)
            if pool is None:
                continue
            taken = pool.allocate(wanted, reusable.devices.get(name, set()), best)
            given.devices.append((pool, taken))
            got |= {(name, place) for place in taken}
        for name, place in got:
            again = reusable.devices.setdefault(name, set())
            if one.kind == "init":
                again.add(place)
            else:
                again.discard(place)

    def _allocate_cpus(self, one: Container, best: Best, given: _Given, reusable: _Reusable) -> None:
        wanted = _whole_cpus(one)
        cpus = self.cpus
        if cpus is None or wanted == 0:
            return
        if cpus.options.full_pcpus_only:
            if wanted % cpus.topology.per_core:
                raise _Rejected(SMT, f"{wanted} CPUs are no multiple of the {cpus.topology.per_core} threads of a core")
            if wanted > cpus.whole_cores:
                raise _Rejected(SMT, f"{wanted} CPUs are asked for and whole cores with {cpus.whole_cores} CPUs are free")
        available = cpus.available | reusable.cpus
        got: set[int] = set()
        if best.mask is not None:
            aligned = _aligned(cpus, best.mask, available)
            got = take(cpus.topology, aligned, min(wanted, len(aligned)), cpus.options) or set()
        rest = take(cpus.topology, available - got, wanted - len(got), cpus.options)
        if rest is None:
            raise Refused(f"{wanted} CPUs are asked for and {len(available)} are free for containers alone")
        got |= rest
        given.cpus.update(got & cpus.shared)
        cpus.shared -= got
        if one.kind == "init":
            reusable.cpus.update(got)
        else:
            reusable.cpus.difference_update(got)

    def _allocate_memory(self, pod: Pod, one: Container, best: Best, given: _Given) -> None:
        if self.memory is None:
            return
        order = pod.in_order
        earlier = [before.name for before in order[: order.index(one)] if before.kind == "init"]
        given.memory.append(one.name)
        self.memory.allocate(self.number, one.name, memory_wanted(one), best, earlier, init=one.kind == "init")

    def _take_back(self, given: _Given) -> None:
        for pool, taken in given.devices:
            pool.taken -= taken
        if self.cpus is not None:
            self.cpus.shared |= given.cpus
        if self.memory is not None:
            for name in given.memory:
                self.memory.release(self.number, name)

    # the predicate

    def _predicate(self, pod: Pod) -> None:
        wanted = {"pods": 1} | self._known(total(pod))
        for name, size in wanted.items():
            if size > 0:
                allocatable = self.capacity.allocatable.get(name, 0)
                pool = self.pools.get(name)
                most = max(need(allocatable), len(pool.taken) if pool is not None else 0)
                used = self.capacity.requested.get(name, 0)
                if size > most - used:
                    raise _Rejected(f"OutOf{name}", f"{name}|{size}|{used}|{most}")

    def _known(self, wanted: dict[str, int]) -> dict[str, int]:
        """Without extended resources that this node does not have: the kubelet takes them for those of the cluster."""
        first = [name for name in ("cpu", MEMORY) if name in wanted]
        others = [name for name in wanted if name in self.pools or name.startswith("hugepages-")]
        return {name: wanted[name] for name in (*first, *others)}

    def _count(self, pod: Pod) -> None:
        requested = self.capacity.requested
        for name, size in {"pods": 1, **total(pod)}.items():
            requested[name] = requested.get(name, 0) + size


def _whole_cpus(one: Container) -> int:
    """CPUs that a Guaranteed container gets for itself: none where it asks for a fraction."""
    wanted = one.requests.get("cpu", 0)
    return wanted // 1000 if wanted % 1000 == 0 else 0


def memory_wanted(one: Container) -> dict[str, int]:
    return {name: size for name, size in one.requests.items() if name == MEMORY or name.startswith("hugepages-")}


def together(pod: Pod, wants: Callable[[Container], dict[str, int]]) -> dict[str, int]:
    """What all containers need at once, as the CPU and memory managers count it: of resources that an app container names."""
    apps: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    first: dict[str, int] = {}
    for one in pod.in_order:
        for name, size in wants(one).items():
            if one.kind == "app":
                apps[name] = apps.get(name, 0) + size
            elif one.kind == "sidecar":
                sidecars[name] = sidecars.get(name, 0) + size
            else:
                first[name] = max(first.get(name, 0), sidecars.get(name, 0) + size)
    return {name: max(size + sidecars.get(name, 0), first.get(name, 0)) for name, size in apps.items()}


def cpu_hints(cpus: Cpus, wanted: int, reusable: set[int]) -> Hints:
    """Sets of nodes with enough free CPUs; preferred are those as small as all CPUs of the machine allow."""
    places, nodes = cpus.topology.places, cpus.topology.nodes
    free = dict.fromkeys(nodes, 0)
    for cpu in cpus.available:
        free[places[cpu].node] += 1
    again = {places[cpu].node for cpu in reusable}
    extra = len(reusable - cpus.available) + len(reusable & cpus.available)

    def fits(mask: int) -> bool:
        if any(not mask >> node & 1 for node in again):
            return False
        return extra + sum(count for node, count in free.items() if mask >> node & 1) >= wanted

    whole = sum(1 << node for node in nodes)
    if not fits(whole):
        return NoHints("cpu")
    sizes = {node: len(cpus.topology.in_node[node]) for node in nodes}
    width = _fewest(sizes, wanted)
    prefers = _socket_preference(cpus, width) if cpus.options.align_by_socket else None
    return Hints("cpu", nodes, whole, fits, width, prefers, None if reusable else free, wanted)


def _fewest(sizes: dict[int, int], wanted: int) -> int:
    from hostagent.placement.masks import fewest

    return fewest(sizes, wanted, len(sizes))


def _socket_preference(cpus: Cpus, width: int) -> Callable[[int], bool] | None:
    """align-by-socket: a set that spans as few sockets as its nodes need is preferred, whatever its size."""
    per_socket = len(cpus.topology.nodes) // cpus.topology.sockets if cpus.topology.sockets else 0
    if per_socket == 0:
        return None
    fewest_sockets = -(-width // per_socket)
    sockets = cpus.topology.node_sockets
    return lambda mask: len({one for node, found in sockets.items() if mask >> node & 1 for one in found}) == fewest_sockets


def _aligned(cpus: Cpus, mask: int, available: set[int]) -> set[int]:
    topology = cpus.topology
    if cpus.options.align_by_socket:
        sockets = {one for node, found in topology.node_sockets.items() if mask >> node & 1 for one in found}
        return {cpu for cpu in available if topology.places[cpu].socket in sockets}
    return {cpu for cpu in available if mask >> topology.places[cpu].node & 1}


__all__ = ["AFFINITY", "Answer", "Model", "UnreadError"]
