"""Reasons to reject one node, independent of the others: all of them, none for an eligible node."""

from collections import defaultdict
from collections.abc import Iterator

from hostagent.core.text import counted
from hostagent.core.unread import Unread
from hostagent.gate.answer import Code, Reason, printable_reason
from hostagent.gate.candidate import Candidate
from hostagent.gate.classes import Grouping
from hostagent.gate.request import Request, product_key
from hostagent.gate.versions import Demand, parse_demand, parse_version
from hostagent.gate.wording import NOT_THERE, are, names_of, predicate, shown, span

#: Seconds by which the clock of a host may be ahead.
AHEAD_S = 300
_GOOD = ("ready", "degraded")

#: Notes on eligible nodes.
EXPIRED = "the summary has expired, but is no older than --max-age"
NO_TOOLKIT = "there is no NVIDIA Container Toolkit to compare with the requirements' minimum"
NO_NUMA = "the topology manager knows no NUMA nodes of all GPUs: it aligns nothing, and the pod's shape was not judged"
PLAIN = "the kubelet does not know the GPUs' NUMA nodes (devices: plain): the pod's shape was not judged"
DRA = "the GPUs are handed out by DRA: the pod's shape was not judged"


class Judge:
    """The demands of one request, parsed once; `notes` collects warnings that reject nothing, with their nodes."""

    def __init__(self, request: Request, now: float, grouping: Grouping) -> None:
        self._request, self._now, self._grouping = request, now, grouping
        self.notes = defaultdict[str, list[str]](list)
        self._product = product_key(request.product)
        self._capability = parse_demand(request.compute_capability)
        self._exclude, self._only = frozenset(request.exclude), frozenset(request.only)
        self._drivers = _demands(request.driver, request.min_driver_version)
        self._cudas = _demands(request.cuda, request.min_cuda_version)
        self._toolkits = _demands(request.toolkit, request.min_container_toolkit_version)

    def reasons(self, one: Candidate, boots: frozenset[str] = frozenset()) -> tuple[Reason, ...]:
        """In the order of the codes. `boots`: those of several reports of one moment."""
        if not one.has_summary:
            return (*self._of_request(one), *one.own_reasons)
        notes = list[str]()
        found = [*self._of_time(one, notes)]
        if len(boots) > 1:
            found.append(_other_boot(boots))
        found += self._of_verdict(one)
        found += self._of_gpus(one)
        found += self._of_software(one, notes)
        found += self._of_mig(one)
        if not any(reason.code == "TooFewGpus" for reason in found):
            found += self._of_shape(one, notes)
        found += self._of_request(one)
        found += self._grouping.reasons(one)
        found += one.own_reasons
        if not found:
            for note in notes:
                self.notes[note].append(one.node)
        return tuple(found)

    def _of_request(self, one: Candidate) -> Iterator[Reason]:
        if one.node in self._exclude or (self._only and one.node not in self._only):
            message = "the request excludes it" if one.node in self._exclude else "the request names other nodes only"
            yield printable_reason("Excluded", message, one.node, "another node")

    def _of_time(self, one: Candidate, notes: list[str]) -> Iterator[Reason]:
        observed, until, now = one.observed_at, one.valid_until, self._now
        most = self._request.max_age_s
        if one.clock == "heartbeat" and observed is None:
            yield printable_reason("Stale", "it has no heartbeat", "no heartbeat", "a heartbeat")
        elif observed is None or until is None:
            name = "observed_at" if observed is None else "valid_until"
            yield printable_reason("Stale", f"{name} is no finite number", "no time", "a time")
        elif observed - now > AHEAD_S:
            ahead = span(observed - now)
            other = "the API server's" if one.clock == "heartbeat" else "this machine's"
            message = f"it was observed {ahead} in the future: its clock or {other} is wrong"
            yield printable_reason("Stale", message, f"{ahead} ahead", f"at most {AHEAD_S} s ahead")
        elif most is None:
            if until < now:
                ago = f"{span(now - until)} ago"
                if one.clock == "heartbeat":
                    age, wanted = span(now - observed), f"{until - observed:.0f} s"
                    message = f"its last heartbeat is {age} old: its agent may have ended"
                    yield printable_reason("Stale", message, f"{age} old", f"at most {wanted} old")
                else:
                    yield printable_reason("Stale", f"its summary expired {ago}", f"expired {ago}", "valid now")
        elif now - observed > most:
            age, limit = span(now - observed), span(most)
            if age == limit:
                age, limit = f"{now - observed:.10g} s", f"{most:.10g} s"
            yield printable_reason("Stale", f"it was observed {age} ago", f"{age} old", f"at most {limit} old")
        elif until < now:
            notes.append(EXPIRED)

    def _of_verdict(self, one: Candidate) -> Iterator[Reason]:
        single, multi, wanted = one.single_node, one.multi_node, "ready or degraded"
        if isinstance(single, Unread) or single not in _GOOD:
            code: Code = "NotReady" if not isinstance(single, Unread) and single == "not_ready" else "Unknown"
            yield printable_reason(code, one.single_why or f"the verdict for one node {predicate(single)}", shown(single), wanted)
        if self._request.nodes > 1 and (isinstance(multi, Unread) or multi not in _GOOD):
            message = one.multi_why or f"the verdict for several nodes {predicate(multi)}"
            yield printable_reason("MultiNodeNotReady", message, shown(multi), wanted)
        if self._request.require_coverage and (isinstance(one.coverage, Unread) or one.coverage != "full"):
            yield printable_reason("Coverage", f"the coverage {predicate(one.coverage)}", shown(one.coverage), "full")

    def _of_gpus(self, one: Candidate) -> Iterator[Reason]:
        request, count = self._request, one.gpu_count
        if isinstance(count, Unread) or count < request.gpus_per_node:
            known = f"it has {counted(0 if isinstance(count, Unread) else count, 'GPU')}"
            is_gap = isinstance(count, Unread) and count.why not in NOT_THERE
            message = f"the number of its GPUs was {shown(count)}" if is_gap else known
            yield printable_reason("TooFewGpus", message, shown(count), str(request.gpus_per_node))
        elif one.free_gpus is not None and one.free_gpus < request.gpus_per_node:
            message = f"{max(one.free_gpus, 0)} of its {counted(count, 'GPU')} {are(one.free_gpus)} free"
            yield printable_reason("NoFreeGpus", message, str(max(one.free_gpus, 0)), str(request.gpus_per_node))
        if self._product and (isinstance(one.product, Unread) or product_key(one.product) != self._product):
            yield _differs("Product", "the GPU", one.product, request.product)
        if self._capability and not _is_allowed(one.compute_capability, (self._capability,)):
            yield _differs("ComputeCapability", "the compute capability", one.compute_capability, self._capability.text)
        memory, least = one.memory_gib, request.gpu_memory_gib
        if least is not None and (isinstance(memory, Unread) or memory < least):
            size = memory if isinstance(memory, Unread) else f"{memory:.10g} GiB"
            yield _differs("GpuMemory", "NVML's memory of a GPU", size, f">={least:.10g} GiB")

    def _of_software(self, one: Candidate, notes: list[str]) -> Iterator[Reason]:
        if self._drivers and not _is_allowed(one.driver, self._drivers):
            yield _differs("Driver", "the driver", one.driver, _all(self._drivers))
        if self._cudas and not _is_allowed(one.cuda, self._cudas):
            yield _differs("Cuda", "the driver's CUDA version", one.cuda, _all(self._cudas))
        if self._toolkits and not _is_allowed(one.toolkit, self._toolkits):
            is_absent = isinstance(one.toolkit, Unread) and one.toolkit.why == "absent"
            if is_absent and not self._request.toolkit:
                notes.append(NO_TOOLKIT)
            else:
                yield _differs("Toolkit", "the NVIDIA Container Toolkit", one.toolkit, _all(self._toolkits))

    def _of_mig(self, one: Candidate) -> Iterator[Reason]:
        if self._request.allow_mig:
            return
        if isinstance(one.mig, Unread):
            if one.mig.why not in NOT_THERE:
                yield printable_reason("Mig", f"whether MIG is on was {shown(one.mig)}", shown(one.mig), "off")
        elif one.mig:
            yield _differs("Mig", "MIG", "on", "off")

    def _of_shape(self, one: Candidate, notes: list[str]) -> Iterator[Reason]:
        """Whether an empty node admits a pod of so many whole GPUs."""
        wanted = f"{self._request.gpus_per_node} GPUs on one NUMA node"
        if one.kubelet is not None:
            if one.kubelet.why not in NOT_THERE:
                yield _differs("PodShape", "the kubelet", one.kubelet, wanted)
            return
        if isinstance(one.policy, Unread):
            yield _differs("PodShape", "the topology manager's policy", one.policy, wanted)
            return
        if one.policy != "single-numa-node":
            return
        if one.devices != "numa":
            notes.append(PLAIN if one.devices == "plain" else DRA)
        elif isinstance(one.numa_gpus, Unread):
            yield _differs("PodShape", "the list of NUMA nodes", one.numa_gpus, wanted)
        else:
            yield from self._of_numa(one, one.numa_gpus, notes, wanted)

    def _of_numa(self, one: Candidate, counts: tuple[int | None, ...], notes: list[str], wanted: str) -> Iterator[Reason]:
        known = [count for count in counts if count is not None]
        if any(count >= self._request.gpus_per_node for count in known):
            return
        if len(known) == len(counts) and not isinstance(one.gpu_count, Unread) and sum(known) < one.gpu_count:
            notes.append(NO_NUMA)
            return
        most = str(max(known)) if len(known) == len(counts) else "an unknown number of"
        yield printable_reason(
            "PodShape", f"the kubelet's policy is single-numa-node, and one NUMA node has at most {most} GPUs", most, wanted
        )


def _demands(flag: str, minimum: str) -> tuple[Demand, ...]:
    """All of which have to hold: the stricter of both wins."""
    found = (parse_demand(flag) if flag else None, parse_demand(minimum) if minimum else None)
    return tuple(dict.fromkeys(one for one in found if one))


def _is_allowed(found: "str | Unread", demands: tuple[Demand, ...]) -> bool:
    version = None if isinstance(found, Unread) else parse_version(found)
    return version is not None and all(one.allows(version) for one in demands)


def _all(demands: tuple[Demand, ...]) -> str:
    return ", ".join(one.text for one in demands)


def _other_boot(boots: frozenset[str]) -> Reason:
    names = names_of(sorted(boot or "no boot id" for boot in boots))
    return Reason("OtherBoot", "reports of one moment are of different boots", names, "one boot")


def _differs(code: Code, subject: str, found: "str | Unread", wanted: str) -> Reason:
    need = shown(wanted)
    return Reason(code, f"{subject} {predicate(found)}, wanted {need}", shown(found), need)
