"""The document of ``hostagent topology``: ``facts.topology`` and ``facts.fabric`` of a report, the pods that were asked about, and what the
checks found.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hostagent.core.deadline import COMPUTING_S, processor_limit
from hostagent.core.errors import OutOfTime
from hostagent.core.frozen import frozen
from hostagent.core.steps import Step
from hostagent.core.typed import plain
from hostagent.core.unread import Unread, UnreadError
from hostagent.core.vocabulary import Kind, Outcome, Severity
from hostagent.domains.kubelet.placement.answers import Placed
from hostagent.domains.kubelet.placement.pods import Pod
from hostagent.engine.report import HostIdentity, ProfileIdentity, Report, Tool, head_of
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.platform import Platform
from hostagent.facts.topology import Topology
from hostagent.outputs.topology.remedy import steps

SCHEMA_VERSION = 1
#: The names that the document shares with ``facts.topology``.
PARTS = ("numa_nodes", "packages", "cores", "gpus", "nics", "distances", "rails", "capacity")


@frozen
class Fix:
    """The smallest change that lets a pod start; all empty where there is nothing to change, or no change is known."""

    configuration: Mapping[str, Any]
    """Fields of KubeletConfiguration with their new values."""
    pod: Mapping[str, str]
    """Quantities that the pod itself asks for with their new values."""
    steps: tuple[Step, ...]
    """How to make that change on this host."""


@frozen
class Placeable:
    """Whether this host's kubelet admits one pod."""

    shape: str
    """The pod: the request, or the file and the object's name."""
    policy: str | Unread
    """The kubelet's topology manager policy."""
    scope: str | Unread
    """The scope of that policy: each container by itself, or the pod."""
    admitted: bool | Unread
    """Whether the kubelet admits it."""
    aligned: bool | Unread
    """Whether every resource comes from one smallest set of NUMA nodes, by guarantee."""
    numa_nodes: tuple[int, ...] | Unread
    """Those NUMA nodes; empty where none were chosen."""
    reason: str
    """The kubelet's reason for the rejection, KubeletNotStarting, KubeletPanic, or empty."""
    message: str
    """Why, for people. It may change from release to release."""
    fix: Fix
    """The smallest change that lets it start, proved by the model; all empty where there is none."""


@frozen
class MapFinding:
    """A finding of the report, as far as a map of the host needs it."""

    id: str
    outcome: Outcome
    severity: Severity
    subject: str
    device: str
    headline: str


@frozen
class Document:
    """``fabric`` and the parts of a report's ``facts.topology`` are as in the report: plain JSON, ``{"unread": …}`` for an unread
    value.
    """

    schema_version: int
    tool: Tool
    observed_at: float
    observed_at_iso: str
    boot_id: str
    read_from: Kind
    replayed: bool
    simulated: bool
    host: HostIdentity
    profile: ProfileIdentity
    numa_nodes: Any
    packages: Any
    cores: Any
    """The CPUs of each core, as lists."""
    gpus: Any
    nics: Any
    distances: Any
    rails: Any
    capacity: Any
    """How many GPUs, CPUs and NICs one NUMA node has for a pod."""
    fabric: Any
    placeable: tuple[Placeable, ...]
    """For each pod that was asked about, in order, whether this host's kubelet admits it. Without one, the profile's pods."""
    findings: tuple[MapFinding, ...]
    """Findings of the checks of topology, kubelet, RDMA and network that failed or warned."""


def document(facts: HostFacts, report: Report, pods: Iterable[Pod], shapes: tuple[str, ...] = ()) -> Document:
    """The map of the host that `report` is about, and an answer for each of `pods`, placed one after the other, then for each of `shapes`,
    placed by itself on the host without its pods. Pods that are not placed within ``COMPUTING_S`` are unread.
    """
    ends = time.process_time() + COMPUTING_S
    topology = report.facts.get("topology", {"unread": "not-recorded", "detail": "topology: not asked for"})
    missing = {"unread": "not-recorded", "detail": "topology: not told"}
    found = topology if "unread" not in topology else dict.fromkeys(PARTS, topology)
    return Document(
        schema_version=SCHEMA_VERSION,
        **head_of(report),
        **{name: found.get(name, missing) for name in PARTS},
        fabric=report.facts.get("fabric", {"unread": "not-recorded", "detail": "fabric: not asked for"}),
        placeable=(*placeable(facts, tuple(pods), ends), *of_profile(facts, shapes, ends)),
        findings=tuple(
            MapFinding(one.id, one.outcome, one.severity, one.subject, one.device, one.headline)
            for one in report.findings
            if one.outcome in ("fail", "warn")
        ),
    )


def placeable(facts: HostFacts, pods: tuple[Pod, ...], ends: float, *, empty: bool = False) -> tuple[Placeable, ...]:
    """One answer per pod, in order. An input that the model lacks, or a timeout, makes all of them unread. `empty`: as if the host had no
    allocations. `ends`: by the processor time of this process.
    """
    if not pods:
        return ()
    from hostagent.domains.kubelet.placement import emptied, node_of, place  # not needed for the map alone

    kubelet = facts.of(Kubelet)
    try:
        with processor_limit(ends - time.process_time(), COMPUTING_S):
            node = node_of(facts.of(Topology), facts.of(Gpu), kubelet)
            placed = place(emptied(node) if empty else node, pods)
    except UnreadError as error:
        return tuple(_unread(pod, kubelet, error.unread) for pod in pods)
    except OutOfTime as late:
        return tuple(_unread(pod, kubelet, Unread("timeout", f"not placed: {late}")) for pod in pods)
    return tuple(_answer(one, facts) for one in placed)


def of_profile(facts: HostFacts, shapes: tuple[str, ...], ends: float) -> tuple[Placeable, ...]:
    """The profile's pods, each by itself: no host has to hold all of them at a time."""
    if not shapes:
        return ()
    from hostagent.domains.kubelet.placement import parse_shape

    return tuple(one for shape in shapes for one in placeable(facts, (parse_shape(shape),), ends, empty=True))


def _answer(one: Placed, facts: HostFacts) -> Placeable:
    fix = Fix({}, {}, ())
    if one.fix:
        from hostagent.domains.kubelet.placement.quantity import shown_milli  # imported by the model already

        configuration = {name: _json(value) for name, value in one.fix.configuration}
        pod = {name: shown_milli(value) if name == "cpu" else str(value) for name, value in one.fix.pod}
        fix = Fix(configuration, pod, steps(configuration, pod, facts.of(Kubelet), facts.of(Platform)))
    return Placeable(one.shape, one.policy, one.scope, one.admitted, one.aligned, one.numa_nodes, one.reason, one.message, fix)


def _json(value: Any) -> Any:
    """Plain JSON; a map may be a tuple of pairs."""
    if isinstance(value, tuple) and value and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return {str(key): plain(item) for key, item in value}
    return plain(value)


def _unread(pod: Pod, kubelet: Any, why: Unread) -> Placeable:
    """Values of an unread answer, with those of the configuration where it was read."""

    def of(read: Callable[[Any], Any]) -> Any:
        try:
            return read(kubelet)
        except UnreadError as error:
            return error.unread

    policy = of(lambda one: one.config.topology_manager_policy)
    scope = of(lambda one: one.config.topology_manager_scope)
    return Placeable(pod.label, policy, scope, why, why, why, "", "", Fix({}, {}, ()))
