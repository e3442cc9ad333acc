"""Admission as the kubelet does it: the topology manager with its three providers, then the predicate."""

# `width` counts all registered devices (taken and unhealthy too), all CPUs (reserved too), allocatable memory. Memory without a
# fitting set gives no hint: the memory manager leaves the resource out, so the pod is rejected by the allocation
# (UnexpectedAdmissionError) and not by the policy (measured). Versions before 1.35 follow their documents.
# Not modelled: uncore caches (they changed no verdict of the generated cases), ephemeral storage, node affinity, taints; requests
# of running pods beyond the state files (OutOfcpu and OutOfmemory count them, so a node busy with Burstable pods may still
# refuse).

from collections.abc import Callable
from typing import NamedTuple

from hostagent.core.unread import UnreadError, need
from hostagent.domains.kubelet.placement.cpu_hints import aligned, cpu_hints
from hostagent.domains.kubelet.placement.cpus import take
from hostagent.domains.kubelet.placement.devices import Pool
from hostagent.domains.kubelet.placement.machine import Capacity, Cpus, memory_of, policy_of, pools_of
from hostagent.domains.kubelet.placement.masks import Hints, TooManyError
from hostagent.domains.kubelet.placement.memory import MEMORY, RefusedError
from hostagent.domains.kubelet.placement.merge import Best, PanicError, merge
from hostagent.domains.kubelet.placement.node import Node
from hostagent.domains.kubelet.placement.pods import Container, Pod, is_guaranteed, total
from hostagent.domains.kubelet.placement.settings import Settings

AFFINITY, UNEXPECTED, SMT = "TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError"
_NOWHERE = Best(None, False, False)


class Answer(NamedTuple):
    """The result for one pod. `best` holds the merged hint of each container; `why` is the message."""

    admitted: bool
    reason: str = ""
    why: str = ""
    best: tuple[tuple[str, Best], ...] = ()
    hints: tuple[Hints, ...] = ()  # of the container that was rejected


class _RejectedError(Exception):
    def __init__(self, reason: str, why: str, hints: tuple[Hints, ...] = ()) -> None:
        super().__init__(why)
        self.reason = reason
        self.why = why
        self.hints = hints


class _Visit(NamedTuple):
    """One pod in admission: its allocations, and those of its init containers, which later containers may reuse."""

    pod: Pod
    exclusive: bool  # its containers may have CPUs and memory for themselves
    devices: list[tuple[Pool, set[int]]]
    cpus: set[int]
    memory: list[str]
    reusable_devices: dict[str, set[int]]
    reusable_cpus: set[int]


class Model:
    """One kubelet. Raises ``UnreadError`` for what it needs and is not known; ``TooManyError`` and ``PanicError`` from `admit`."""

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
        visit = _Visit(pod, is_guaranteed(pod) and not pod.has_own_resources, [], set(), [], {}, set())
        try:
            best = self._topology(visit)
            self._predicate(pod)
        except _RejectedError as rejected:
            self._take_back(visit)
            return Answer(False, rejected.reason, rejected.why, (), rejected.hints)
        except (UnreadError, TooManyError, PanicError):
            self._take_back(visit)
            raise
        self._count(pod)
        return Answer(True, best=tuple(best.items()))

    # the topology manager

    def _topology(self, visit: _Visit) -> dict[str, Best]:
        if self.memory is not None:
            self.memory.reusable = {}
        chosen: dict[str, Best] = {}
        whole = self._merged(self._pod_hints(visit)) if self._scope == "pod" else _NOWHERE
        for one in visit.pod.in_order:
            best = self._merged(self._hints(one, visit)) if self._scope == "container" else whole
            chosen[one.name] = best
            self._allocate(one, best, visit)
        return chosen

    @property
    def _scope(self) -> str:
        return "none" if self.policy.name == "none" else self.chosen.scope

    def _merged(self, hints: list[Hints]) -> Best:
        best = merge(self.policy, hints)
        if best is None:
            raise _RejectedError(AFFINITY, "", tuple(hints))
        return best

    def _hints(self, one: Container, visit: _Visit) -> list[Hints]:
        pools = ((self.pools.get(name), name, wanted) for name, wanted in one.limits.items())
        hints = [pool.hints(self.policy.ids, wanted, visit.reusable_devices.get(name, set())) for pool, name, wanted in pools if pool]
        if visit.exclusive:
            hints.append(self._cpu_hints(whole_cpus(one), visit.reusable_cpus))
            hints += self.memory.hints(memory_wanted(one)) if self.memory is not None and not one.has_fractions else []
        return [hint for hint in hints if hint is not None]

    def _pod_hints(self, visit: _Visit) -> list[Hints]:
        pools = ((self.pools.get(name), wanted) for name, wanted in total(visit.pod, limits=True).items())
        hints = [pool.hints(self.policy.ids, wanted, set()) for pool, wanted in pools if pool]
        if visit.exclusive:
            hints.append(self._cpu_hints(together(visit.pod, lambda one: {"cpu": whole_cpus(one)}).get("cpu", 0), set()))
            is_whole = not any(one.has_fractions for one in visit.pod.containers)
            hints += self.memory.hints(together(visit.pod, memory_wanted)) if self.memory is not None and is_whole else []
        return [hint for hint in hints if hint is not None]

    def _cpu_hints(self, wanted: int, reusable: set[int]) -> Hints | None:
        return None if self.cpus is None or wanted == 0 else cpu_hints(self.cpus, wanted, reusable)

    # allocation

    def _allocate(self, one: Container, best: Best, visit: _Visit) -> None:
        try:
            self._allocate_devices(one, best, visit)
            if visit.exclusive:
                self._allocate_cpus(one, best, visit)
                self._allocate_memory(one, best, visit)
        except RefusedError as refused:
            raise _RejectedError(UNEXPECTED, str(refused)) from refused

    def _allocate_devices(self, one: Container, best: Best, visit: _Visit) -> None:
        got: dict[str, set[int]] = {}
        for name, wanted in one.limits.items():
            pool = self.pools.get(name)
            if pool is not None:
                got[name] = pool.allocate(wanted, visit.reusable_devices.get(name, set()), best)
                visit.devices.append((pool, got[name]))
        for name, places in got.items():
            again = visit.reusable_devices.setdefault(name, set())
            if one.kind == "init":
                again |= places
            else:
                again -= places

    def _allocate_cpus(self, one: Container, best: Best, visit: _Visit) -> None:
        wanted = whole_cpus(one)
        cpus = self.cpus
        if cpus is None or wanted == 0:
            return
        if cpus.options.full_pcpus_only:
            _check_cores(cpus, wanted)
        available = cpus.available | visit.reusable_cpus
        got: set[int] = set()
        if best.mask is not None:
            near = aligned(cpus, best.mask, available)
            got = take(cpus.topology, near, min(wanted, len(near)), cpus.options) or set()
        rest = take(cpus.topology, available - got, wanted - len(got), cpus.options)
        if rest is None:
            raise RefusedError(f"{wanted} CPUs are asked for and {len(available)} are free for containers alone")
        got |= rest
        visit.cpus.update(got)
        cpus.shared -= got
        if one.kind == "init":
            visit.reusable_cpus.update(got)
        else:
            visit.reusable_cpus.difference_update(got)

    def _allocate_memory(self, one: Container, best: Best, visit: _Visit) -> None:
        if self.memory is None:
            return
        if one.has_fractions:
            raise RefusedError("memory is asked for in fractions of a byte, which the memory manager cannot give")
        order = visit.pod.in_order
        earlier = [before.name for before in order[: order.index(one)] if before.kind == "init"]
        visit.memory.append(one.name)
        self.memory.allocate((self.number, one.name), memory_wanted(one), best, earlier, init=one.kind == "init")

    def _take_back(self, visit: _Visit) -> None:
        for pool, taken in visit.devices:
            pool.taken -= taken
        if self.cpus is not None:
            self.cpus.shared |= visit.cpus
        if self.memory is not None:
            for name in visit.memory:
                self.memory.release(self.number, name)

    # the predicate

    def _predicate(self, pod: Pod) -> None:
        wanted = {"pods": 1} | self._known(total(pod))
        for name, size in wanted.items():
            if size > 0 and (name != "pods" or self.capacity.requested["pods"]):  # the first pod has a place
                allocatable = self.capacity.allocatable.get(name, 0)
                pool = self.pools.get(name)
                most = max(need(allocatable), len(pool.taken) if pool is not None else 0)
                used = self.capacity.requested.get(name, 0)
                if size > most - used:
                    raise _RejectedError(f"OutOf{name}", f"{name}|{size}|{used}|{most}")

    def _known(self, wanted: dict[str, int]) -> dict[str, int]:
        """Without extended resources that this node does not have: the kubelet takes them for those of the cluster."""
        first = [name for name in ("cpu", MEMORY) if name in wanted]
        others = [name for name in wanted if name in self.pools or name.startswith("hugepages-")]
        return {name: wanted[name] for name in (*first, *others)}

    def _count(self, pod: Pod) -> None:
        requested = self.capacity.requested
        for name, size in {"pods": 1, **total(pod)}.items():
            requested[name] = requested.get(name, 0) + size


def whole_cpus(one: Container) -> int:
    """CPUs that a Guaranteed container gets for itself: none where it asks for a fraction."""
    wanted = one.requests.get("cpu", 0)
    return wanted // 1000 if wanted % 1000 == 0 else 0


def memory_wanted(one: Container) -> dict[str, int]:
    return {name: size for name, size in one.requests.items() if name == MEMORY or name.startswith("hugepages-")}


def together(pod: Pod, wants: Callable[[Container], dict[str, int]]) -> dict[str, int]:
    """The total of all containers, as the CPU and memory managers count it: of resources that an app container names."""
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


def _check_cores(cpus: Cpus, wanted: int) -> None:
    """full-pcpus-only: whole cores alone."""
    if wanted % cpus.topology.per_core:
        raise _RejectedError(SMT, f"{wanted} CPUs are no multiple of the {cpus.topology.per_core} threads of a core")
    if wanted > cpus.whole_cores:
        raise _RejectedError(SMT, f"{wanted} CPUs are asked for and whole cores with {cpus.whole_cores} CPUs are free")
