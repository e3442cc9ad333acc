"""A Slurm cluster as candidates: nodes where slurmctld would start the job at once, with verdicts from Extra or a report."""

# `Extra` is the verdict that `hostagent slurm health` keeps there, with hostagent_multi for jobs on several nodes. It has no
# time: it is as old as the last health check.

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.core.text import counted
from hostagent.core.unread import Unread
from hostagent.gate.answer import Code, Reason
from hostagent.gate.backends.slurmgres import Gpus, GresError, gpus_of
from hostagent.gate.backends.slurmlimits import Partition, Reservation, Settings, read_partitions, read_reservations, read_settings
from hostagent.gate.backends.slurmnodes import Asking, read_nodes
from hostagent.gate.candidate import Candidate, badness, parse_candidate
from hostagent.gate.request import Request
from hostagent.gate.search import Free
from hostagent.gate.wording import names_of, span
from hostagent.slurm.client import SlurmError, is_caller
from hostagent.slurm.node import Node
from hostagent.slurm.reason import is_ours, our_extra

_NEXT = "Ask slurmctld: scontrol ping"
_BASES = ("IDLE", "MIXED", "ALLOCATED", "ALLOC", "DOWN", "ERROR", "UNKNOWN", "FUTURE")
_BUSY = frozenset({"ALLOCATED", "ALLOC"})
#: Flags of a node that takes jobs all the same: where it comes from.
_ORIGIN = frozenset({"CLOUD", "DYNAMIC_NORM"})
_RESERVED = frozenset({"RESERVED", "MAINT"})
#: Fields of a request that Extra does not answer.
_OF_REPORTS = {
    **{
        name: f"--{name.replace('_', '-')}"
        for name in ("product", "compute_capability", "driver", "cuda", "toolkit", "host_nccl", "same_domain")
    },
    "gpu_memory_gib": "--gpu-memory",
    **dict.fromkeys(("min_driver_version", "min_cuda_version", "min_container_toolkit_version"), "--requirements"),
}
_ABSENT, _NONE = Unread("absent"), Unread("not-recorded", "it is missing")
_LONGEST = 200


class Slurm:
    """``client``: of the cluster. ``summaries``: those of ``--reports`` by node, None where there are none."""

    def __init__(self, client: Asking, request: Request, summaries: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.now = time.time()
        self.warnings: list[str] = []
        self.incomplete = ""
        self._client, self.request, self._summaries = client, request, summaries

    def pages(self) -> Iterator[Sequence[Candidate]]:
        """One page, of all nodes with GPUs or with a verdict. Raises ``HostagentError``."""
        try:
            nodes = read_nodes(self._client)
            rules = _Rules(
                self.request, self.now, read_settings(self._client), read_partitions(self._client), read_reservations(self._client)
            )
        except SlurmError as error:
            raise HostagentError(f"cannot read the cluster of Slurm: {error}", _NEXT) from error
        summaries = self._by_node(nodes)
        self._warn(rules.settings)
        self._warn_of_users(rules)
        made = (_candidate(node, rules, summaries.get(node.name), self._summaries is not None) for node in nodes)
        yield [one for one in made if one]

    def free(self, candidates: Sequence[Candidate]) -> Mapping[str, Free]:
        """Never needed: each candidate has its number."""
        return {one.node: Free(one.free_gpus or 0) for one in candidates}

    def not_examined(self) -> int:
        return 0

    def _by_node(self, nodes: Sequence[Node]) -> dict[str, Mapping[str, Any]]:
        """A summary has the name of Slurm's node, or that of its host, where that is no other node's."""
        left = dict(self._summaries or {})
        found = {one.name: left.pop(one.name) for one in nodes if one.name in left}
        hosts = Counter(one.host for one in nodes)
        for one in nodes:
            names = dict.fromkeys((one.host, one.host.partition(".")[0]))
            name = next((each for each in names if each in left), "")
            if name and one.name not in found and hosts[one.host] == 1:
                found[one.name] = left.pop(name)
        if left:
            self.warnings.append(f"{names_of(sorted(left))}: Slurm has no node of {'this name' if len(left) == 1 else 'these names'}")
        return found

    def _warn(self, settings: Settings) -> None:
        program = settings.health_program
        if not settings.runs_our_health():
            which = f"is {visible(program)[:_LONGEST]}" if program and settings.health_interval_s else "does not run"
            self.warnings.append(f"HealthCheckProgram of this cluster {which}: nothing shows that hostagent keeps its nodes' states")
        asked = list(dict.fromkeys(option for name, option in _OF_REPORTS.items() if getattr(self.request, name)))
        if asked and self._summaries is None:
            self.warnings.append(f"Slurm does not say what {names_of(asked)} asks: --reports DIR of the nodes' summaries does")

    def _warn_of_users(self, rules: "_Rules") -> None:
        """Slurm alone knows the job's user, group, account and host."""
        for what, one in (("partition", rules.partition), ("reservation", rules.own)):
            if one and one.users:
                users = visible(", ".join(one.users))[:_LONGEST]
                self.warnings.append(f"{what} {one.name} is not for all ({users}): whether this job may use it was not asked")


class _Rules:
    """Rules by which slurmctld starts this job now."""

    def __init__(
        self, request: Request, now: float, settings: Settings, partitions: Sequence[Partition], reservations: Sequence[Reservation]
    ) -> None:
        self.request, self.now, self.settings = request, now, settings
        self.own = _chosen_reservation(request.reservation, reservations)
        self.partition = _chosen_partition(request.partition or (self.own.partition if self.own else ""), partitions)
        self.needs = settings.needs(self.partition, request.gpus_per_node)
        self._others = [one for one in reservations if one is not self.own and (one.is_active or one.end > now)]

    def reasons(self, node: Node, gpus: Gpus | None) -> Iterator[Reason]:
        """Why slurmctld would not start the job there."""
        yield from self._of_state(node)
        yield from self._of_partition(node)
        yield from self._of_reservations(node)
        if node.states.isdisjoint(("DOWN", "DRAIN")):
            yield from self._of_jobs(node, gpus)

    def _of_state(self, node: Node) -> Iterator[Reason]:
        allowed = _ORIGIN | (_RESERVED if self.own and self.own.is_active and node.name in self.own.nodes else frozenset())
        base = {"IDLE", "MIXED"} | _BUSY
        if node.states - allowed <= base and node.states & base:
            return
        states = _states(node)
        why = f": {node.reason}" if node.reason and not node.states <= base | _ORIGIN | _RESERVED | {"PLANNED"} else ""
        code: Code = "Drained" if "DRAIN" in node.states and "DOWN" not in node.states else "Down"
        yield _reason(code, f"Slurm's state is {states}{why}", states, "IDLE or MIXED")

    def _of_partition(self, node: Node) -> Iterator[Reason]:
        one, number = self.partition, self.request.nodes
        shown = f"partition {one.name}"
        if one.name not in node.partitions:
            yield _reason("Selector", f"it is not in {shown}", ",".join(node.partitions) or "no partition", one.name)
        if one.state != "UP":
            yield _reason("Down", f"{shown} is {one.state or 'of an unknown state'}", one.state, "UP")
        if not one.least_nodes <= number <= one.most_nodes:
            bound = f"at least {one.least_nodes}" if number < one.least_nodes else f"at most {one.most_nodes:.0f}"
            yield _reason("Selector", f"{shown} takes jobs of {bound} nodes", bound, str(number))
        if one.wants_reservation and not self.own:
            yield _reason("Selector", f"{shown} takes jobs with a reservation alone", "no reservation", "a reservation")

    def _of_reservations(self, node: Node) -> Iterator[Reason]:
        own, limit = self.own, self.partition.default_s
        if own and node.name not in own.nodes:
            yield _reason("Selector", f"it is not in reservation {own.name}", "another node", own.name)
        elif own and not own.is_active:
            yield _reason("Down", f"reservation {own.name} does not hold now", "no active reservation", own.name)
        for one in self._others:
            if node.name not in one.nodes:
                continue
            if one.is_active or one.start <= self.now:
                yield _reason("Down", f"it is RESERVED: reservation {one.name}", f"RESERVED ({one.name})", own.name if own else "none")
            elif one.start - self.now < limit:
                begins = f"reservation {one.name} begins in {span(one.start - self.now)}"
                yield _reason("Down", f"{begins}, before a job {_limit(limit)}", begins, "none")

    def _of_jobs(self, node: Node, gpus: Gpus | None) -> Iterator[Reason]:
        """Jobs that leave GPUs, but nothing else that the job needs. Too few free GPUs are found by their number."""
        wanted = self.request.gpus_per_node
        if gpus is None or gpus.free is None:
            yield _reason("NoFreeGpus", "how many of its GPUs jobs use could not be read", "not read", str(wanted))
            return
        if gpus.free < wanted:
            return
        lacking = self.needs.lacking(node)
        if node.states & _BUSY:
            lacking = "jobs use all its CPUs"
        elif node.owner and not is_caller(node.owner):
            lacking = f"it is given to jobs of {node.owner} alone"
        elif "MIXED" in node.states and self.partition.is_exclusive:
            lacking = f"jobs run on it, and partition {self.partition.name} gives out whole nodes"
        elif "MIXED" in node.states and self.partition.is_of_one_user and not node.owner:
            lacking = f"jobs run on it, and partition {self.partition.name} gives a node to one user, who may be another"
        if lacking:
            yield _reason("NoFreeGpus", f"{counted(gpus.free, 'GPU')} of it are free, but {lacking}", "0", str(wanted))


def _chosen_partition(name: str, partitions: Sequence[Partition]) -> Partition:
    """The one that is named, else Slurm's default. Raises ``HostagentError``."""
    names = [one.name for one in partitions]
    if not name:
        default = next((one for one in partitions if one.is_default), None)
        if default is None:
            raise HostagentError("found no default partition", f"Give --partition: {names_of(names)}")
        return default
    found = next((one for one in partitions if one.name == name), None)
    if found is None:
        raise HostagentError(f"found --partition {visible(name)}, wanted one of {names_of(names)}", "See 'scontrol show partition'")
    return found


def _chosen_reservation(name: str, reservations: Sequence[Reservation]) -> Reservation | None:
    """Raises ``HostagentError``."""
    if not name:
        return None
    found = next((one for one in reservations if one.name == name), None)
    if found is None:
        known = f"one of {names_of([one.name for one in reservations])}" if reservations else "none, for Slurm has no reservation"
        raise HostagentError(f"found --reservation {visible(name)}, wanted {known}", "See 'scontrol show reservation'")
    return found


def _candidate(node: Node, rules: _Rules, summary: Mapping[str, Any] | None, has_reports: bool) -> Candidate | None:
    """None for a node without GPUs and without a verdict, such as one of processors alone."""
    gpus, extra = _gpus(node), our_extra(node.extra)
    if gpus is not None and not gpus.total and extra is None and summary is None:
        return None
    made = _of_extra(node, rules, gpus, extra) if summary is None else _of_summary(node, summary, extra)
    reasons = list(rules.reasons(node, gpus))
    if summary is None and extra is None:
        what = "holds none of hostagent's words" if not node.extra else "holds another text than hostagent's"
        more = ", and there is no report of it" if has_reports else ""
        reasons.insert(0, _reason("NoSummary", f"its Extra {what}{more}", "no summary", "a summary"))
    if summary is not None and (booted := _booted(node, made.observed_at)):
        reasons.append(booted)
    free = (gpus and gpus.free) or 0
    return replace(made, own_reasons=tuple(reasons), free_gpus=free, has_summary=not (summary is None and extra is None))


def _gpus(node: Node) -> Gpus | None:
    """None where Gres is of no form that Slurm prints."""
    try:
        return gpus_of(node.gres, node.gres_used)
    except GresError:
        return None


def _of_extra(node: Node, rules: _Rules, gpus: Gpus | None, extra: Mapping[str, Any] | None) -> Candidate:
    """By Extra, which holds until the next run of health."""
    words = extra or {}
    multi = words.get("hostagent_multi")
    why = node.reason if is_ours(node.reason) else ""
    return Candidate(
        node=node.name,
        observed_at=rules.now,
        valid_until=rules.now + rules.settings.health_interval_s,
        single_node=_verdict(words.get("hostagent")),
        multi_node=_verdict(multi) if multi is not None else Unread("not-recorded", "Extra does not say it"),
        coverage=words.get("hostagent_coverage") or _NONE,
        gpu_count=gpus.total if gpus else Unread("error", "Gres could not be read"),
        mig=gpus.is_mig if gpus else Unread("error", "Gres could not be read"),
        fabric_class=words.get("hostagent_class") or _NONE,
        kubelet=_ABSENT,
        single_why=why,
        multi_why=why,
    )


def _verdict(word: Any) -> str:
    return "ready" if word == 1 else "not_ready"


def _of_summary(node: Node, summary: Mapping[str, Any], extra: Mapping[str, Any] | None) -> Candidate:
    """The report, with the worse of both verdicts, and no class where they disagree: one of them is of another time."""
    made = parse_candidate({**summary, "node": node.name})
    made.kubelet = _ABSENT
    if extra is None:
        return made
    words = [("single_node", extra.get("hostagent")), ("multi_node", extra.get("hostagent_multi"))]
    for name, word in words:
        if word is not None and badness(_verdict(word)) > badness(getattr(made, name)):
            setattr(made, name, _verdict(word))
    own = extra.get("hostagent_class")
    if own and not isinstance(made.fabric_class, Unread) and own != made.fabric_class:
        made.fabric_class = Unread("error", "the report and Extra have different classes")
    if is_ours(node.reason):
        made.single_why = made.multi_why = node.reason
    return made


def _booted(node: Node, observed_at: float | None) -> Reason | None:
    if observed_at is None or 0 < node.booted_at <= observed_at:
        return None
    if not node.booted_at:
        return _reason("OtherBoot", "Slurm does not know when it booted", "no BootTime", "an observation after it")
    late = span(node.booted_at - observed_at)
    return _reason("OtherBoot", f"it booted {late} after its report was made", f"{late} before BootTime", "after BootTime")


def _states(node: Node) -> str:
    return "+".join(sorted(node.states, key=lambda one: (_BASES.index(one) if one in _BASES else len(_BASES), one)))


def _limit(seconds: float) -> str:
    """Of a job that names no time."""
    return "without a time limit ends" if seconds == math.inf else f"of the partition's default time, {span(seconds)}, ends"


def _reason(code: Code, message: str, found: str, wanted: str) -> Reason:
    return Reason(code, visible(message)[:_LONGEST], visible(found)[:_LONGEST], visible(wanted)[:_LONGEST])
