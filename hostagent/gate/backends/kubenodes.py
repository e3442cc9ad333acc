"""A Node of Kubernetes as a candidate: the agent's summary, the worst verdict of the cluster, and what keeps pods away."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from sys import intern
from typing import Any, NamedTuple

from hostagent.core.escape import visible
from hostagent.core.text import counted
from hostagent.core.unread import Unread
from hostagent.gate.answer import Reason, printable_reason
from hostagent.gate.backends.kubepods import GPU, number
from hostagent.gate.candidate import Candidate, badness, parse_candidate
from hostagent.gate.request import Request
from hostagent.gate.scheduling import COMPUTE_CAPABILITY, FABRIC_CLASS, GPU_PRODUCT, HOSTNAME, MULTI_NODE_READY, READY
from hostagent.gate.tolerations import UNSCHEDULABLE, label_term, shown_taint, tolerates, toleration, untolerated
from hostagent.gate.wording import are, names_of, shown
from hostagent.kube.parts import moment, part, rows, text

#: Seconds after which a heartbeat proves nothing any more: three of the agent's periods.
HEARTBEAT_S = 900
#: What device plug-ins offer of GPUs by time slicing and MPS, and by MIG; and the label of GPU feature discovery.
_SHARED, _MIG, _PRESENT = f"{GPU}.shared", "nvidia.com/mig-", f"{GPU}.present"
_SUMMARY, _HEARTBEAT = "summary", "heartbeat"
_VERSION = 1
_BY_STATUS = {"True": "ready", "False": "not_ready"}
_BY_LABEL = {"true": "ready", "false": "not_ready"}
_WANTED = "a summary of this node"
#: Values that many nodes have alike.
_TEXTS = ("coverage", "product", "compute_capability", "driver", "cuda", "toolkit", "fabric_class", "host_class", "domain", "policy")
_LONGEST = 300


class Node(NamedTuple):
    """A candidate, with its allocatable GPUs and pods."""

    candidate: Candidate
    gpus: int
    pods: int


class _Item(NamedTuple):
    """The parts of a Node that count."""

    name: str
    metadata: Mapping[str, Any]
    labels: Mapping[str, Any]
    annotations: Mapping[str, Any]
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    allocatable: Mapping[str, Any]


class Reader:
    """For one request. `dra_nodes`: nodes with GPUs that DRA hands out, asked for when a node could be one."""

    def __init__(self, request: Request, prefix: str, dra_nodes: Callable[[], Collection[str]]) -> None:
        self._request, self._prefix, self._dra_nodes = request, prefix, dra_nodes
        self._tolerations = [toleration(one) for one in request.tolerations]
        self._terms = [label_term(one) for one in request.node_selector]
        ours = (READY, MULTI_NODE_READY, FABRIC_CLASS, GPU_PRODUCT, COMPUTE_CAPABILITY)
        self._labels = (*(f"{prefix}/{name}" for name in ours), HOSTNAME)
        self._known = dict[Any, Any]()

    def node(self, whole: Mapping[str, Any]) -> "Node | None":
        """None for a node without GPUs and without an agent."""
        metadata, status = part(whole, "metadata"), part(whole, "status")
        labels, annotations = part(metadata, "labels"), part(metadata, "annotations")
        name, allocatable = text(metadata, "name"), part(status, "allocatable")
        item = _Item(name, metadata, labels, annotations, part(whole, "spec"), status, allocatable)
        if not self._has_agent(item) and not _has_gpus(item):
            return None
        summary, found = _summary(text(annotations, f"{self._prefix}/{_SUMMARY}"), name)
        one = Candidate(name, has_summary=False) if summary is None else self._slim(parse_candidate(summary))
        one.labels = {key: intern(value) for key in self._labels if (value := text(labels, key))}
        own = [self._no_summary(found)] if summary is None else [*self._of_agent(one, item, text(summary, "headline"))]
        own += self._of_cluster(item)
        own += self._of_gpus(one, item)
        if not (pods := number(allocatable.get("pods")) or 0):
            own.append(printable_reason("NoFreePods", "its kubelet takes no pods", "0", "1"))
        own += self._of_selector(labels)
        one.own_reasons = tuple(own)
        return Node(one, number(allocatable.get(GPU)) or 0, pods)

    def _has_agent(self, item: _Item) -> bool:
        ours = (f"{self._prefix}/{name}" for name in (_SUMMARY, _HEARTBEAT))
        return any(key in item.annotations for key in ours) or any(key in item.labels for key in self._labels[:2])

    def _no_summary(self, found: str) -> Reason:
        name = f"the annotation {self._prefix}/{_SUMMARY}"
        message = (
            f"{name} has {found}, wanted {_WANTED}" if found else f"it has no annotation {self._prefix}/{_SUMMARY}: no agent judged it"
        )
        return printable_reason("NoSummary", message, found or "no summary", _WANTED)

    def _slim(self, one: Candidate) -> Candidate:
        """Each value that many nodes have is kept once."""
        for name in _TEXTS:
            if type(value := getattr(one, name)) is str:
                setattr(one, name, intern(value))
        if not isinstance(one.inputs, Unread):
            one.inputs = self._same(one.inputs)
        if not isinstance(one.env, Unread):
            one.env = self._same(one.env)
        if not isinstance(one.numa_gpus, Unread):
            one.numa_gpus = self._known.setdefault(one.numa_gpus, one.numa_gpus)
        return one

    def _same(self, values: dict[str, Any]) -> dict[str, Any]:
        key = tuple((name, (value.why,) if isinstance(value, Unread) else value) for name, value in values.items())
        found: dict[str, Any] = self._known.setdefault(key, values)
        return found

    def _of_agent(self, one: Candidate, item: _Item, headline: str) -> Iterator[Reason]:
        """Its time, the worst verdict of summary, conditions and labels, and its boot."""
        one.clock, one.observed_at, one.valid_until = "heartbeat", None, None
        if (beat := _beat(text(item.annotations, f"{self._prefix}/{_HEARTBEAT}"))) is not None:
            one.observed_at, one.valid_until = beat, beat + HEARTBEAT_S
        one.single_node, one.single_why = self._worst(item, "Ready", READY, (one.single_node, headline))
        if self._request.nodes > 1:
            one.multi_node, one.multi_why = self._worst(item, "MultiNodeReady", MULTI_NODE_READY, (one.multi_node, headline))
        boot = text(part(item.status, "nodeInfo"), "bootID")
        if not boot or boot != one.boot_id:
            found, wanted = shown(one.boot_id) if one.boot_id else "no boot id", shown(boot) if boot else "no boot id"
            yield printable_reason("OtherBoot", f"its summary is of boot {found}, its kubelet of {wanted}", found, wanted)

    def _worst(self, item: _Item, condition: str, label: str, summary: "tuple[str | Unread, str]") -> "tuple[str | Unread, str]":
        """Verdict, and why it is no good one: of the worst the condition's message, else the summary's headline."""
        kind, key = f"{self._prefix}/{condition}", f"{self._prefix}/{label}"
        verdicts: list[tuple[str | Unread, str]] = [
            (_BY_STATUS.get(text(one, "status"), "unknown"), text(one, "message") or f"the condition {kind} is {text(one, 'status')}")
            for one in rows(item.status, "conditions")
            if one.get("type") == kind
        ] or [("unknown", f"it has no condition {kind}")]
        verdicts.append(summary)
        if key in item.labels:
            value = text(item.labels, key)
            verdicts.append((_BY_LABEL.get(value, "unknown"), f"the label {key} is {shown(value)}"))
        verdict, why = max(verdicts, key=lambda each: badness(each[0]))
        return verdict, visible(why[:_LONGEST]) if badness(verdict) > badness("degraded") else ""

    def _of_cluster(self, item: _Item) -> Iterator[Reason]:
        """Why no new pod is scheduled there."""
        found = [one for one in rows(item.status, "conditions") if one.get("type") == "Ready"]
        row = next((one for one in found if one.get("status") != "True"), found[0] if found else {})
        if (status := text(row, "status")) != "True":
            detail = text(row, "message")[:_LONGEST] or f"its condition Ready is {status}"
            message = f"Kubernetes says: {detail}" if row else "it has no condition Ready"
            yield printable_reason("NodeNotReady", message, status or "no condition", "True")
        elif item.metadata.get("deletionTimestamp"):
            yield printable_reason("NodeNotReady", "it is being deleted", "deleted", "a node that stays")
        taints = [one for one in rows(item.spec, "taints") if isinstance(one.get("key"), str)]
        if item.spec.get("unschedulable") is True and not tolerates(self._tolerations, UNSCHEDULABLE):
            taints = [one for one in taints if one["key"] != UNSCHEDULABLE["key"]]
            yield printable_reason("Cordoned", "it is cordoned", "cordoned", "schedulable")
        if away := untolerated(self._tolerations, taints):
            names = names_of([shown_taint(one) for one in away])
            yield printable_reason(
                "Tainted", f"it has {counted(len(away), 'taint')} that the job does not tolerate: {names}", names, "a toleration"
            )

    def _of_gpus(self, one: Candidate, item: _Item) -> Iterator[Reason]:
        """Why the device plug-in gives no whole GPUs, or not enough of them."""
        allocatable, wanted = item.allocatable, self._request.gpus_per_node
        free, count = number(allocatable.get(GPU, 0)), one.gpu_count
        if free is None:
            yield printable_reason("NoFreeGpus", f"its allocatable {GPU} is no quantity", "no quantity", str(wanted))
        elif not free:
            yield from self._without_gpus(one, item)
        elif isinstance(count, Unread):
            return
        elif free > count:
            message = f"{free} GPUs are allocatable, and the host has {count} for jobs: they are shared, by time slicing, MPS or MIG"
            yield printable_reason("Shared", message, str(free), f"at most {count}")
        elif free < wanted <= count:
            message = f"{free} of its {counted(count, 'GPU')} {are(free)} allocatable"
            yield printable_reason("NoFreeGpus", message, str(free), str(wanted))

    def _without_gpus(self, one: Candidate, item: _Item) -> Iterator[Reason]:
        allocatable, wanted = item.allocatable, str(self._request.gpus_per_node)
        slices = [name for name, size in allocatable.items() if name.startswith(_MIG) and number(size)]
        if number(allocatable.get(_SHARED)):
            yield printable_reason("Shared", f"its GPUs are allocatable as {_SHARED} alone", _SHARED, GPU)
        elif slices:
            if self._request.allow_mig or one.mig is not True:  # else the summary says it
                yield printable_reason(
                    "Mig", f"no whole GPU is allocatable, only {names_of(sorted(slices))}", names_of(sorted(slices)), GPU
                )
        elif item.name in self._dra_nodes():
            yield printable_reason("Dra", "its GPUs are handed out by Dynamic Resource Allocation, and are not counted here", "DRA", GPU)
        else:
            yield printable_reason("NoFreeGpus", f"no {GPU} is allocatable: its device plug-in offers none", "0", wanted)

    def _of_selector(self, labels: Mapping[str, Any]) -> Iterator[Reason]:
        if missed := [(key, value) for key, value in self._terms if labels.get(key) != value]:
            wanted = names_of([f"{key}={value}" for key, value in missed])
            found = names_of([f"{key}={text(labels, key)}" if key in labels else f"no {key}" for key, _ in missed])
            yield printable_reason("Selector", f"its labels are {found}, and the job selects {wanted}", found, wanted)


def _summary(annotation: str, node: str) -> "tuple[Mapping[str, Any] | None, str]":
    """Under the name of the node, whatever it says itself; else what was found, "" for no annotation."""
    if not annotation:
        return None, ""
    try:
        found = json.loads(annotation)
    except (ValueError, RecursionError):
        return None, "no JSON"
    if type(found) is not dict:
        return None, "JSON of another kind"
    version: Any = found.get("schema_version")
    if type(version) is not int or version != _VERSION:
        return None, f"schema_version {shown(version)}" if type(version) in (int, str) else "no schema_version"
    return {**found, "node": node}, ""


def _beat(heartbeat: str) -> "float | None":
    try:
        return moment(heartbeat)
    except (ValueError, OverflowError):
        return None


def _has_gpus(item: _Item) -> bool:
    offered = (*item.allocatable, *part(item.status, "capacity"))
    return item.labels.get(_PRESENT) == "true" or any(name in (GPU, _SHARED) or name.startswith(_MIG) for name in offered)
