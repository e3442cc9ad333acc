"""Small clusters for the gate: GPU nodes with what can be wrong with them, the pods on them, and requests.

No agent runs. What one writes comes from the daemon's own modules (`said.words`, `nodestatus.body`), over a made summary. No kubelet runs:
pods are bound, not started. The oracle here shares no code with the gate.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hostagent.daemon import build_message, debounce
from hostagent.daemon.conditions import TYPES, Measured
from hostagent.kube.nodestatus import body
from tests import gate_summaries
from tests.real.cluster import GPU, MERGE, Cluster
from tests.real.controllerrun import PREFIX

GPUS = "nvidia.com/gpu"
#: Of each node its name: kubernetes.io/hostname may be another, or missing.
NODE = "example.com/node"
CORDON, NOT_READY, UNREACHABLE = (f"node.kubernetes.io/{name}" for name in ("unschedulable", "not-ready", "unreachable"))
CLOSED, MULTI_CLOSED = (f"readiness.k8s.io/hostagent-{name}" for name in ("not-ready", "multi-node-not-ready"))
#: Where the pods of others are.
NAMESPACES = ("others-a", "others-b")
#: Its pods take one GPU more.
WRAPPED = "gate-wrapped"
JOBS = "/apis/batch/v1/namespaces/jobs/jobs"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
_SINGLE = ("Ready", "DriverReady", "ToolkitReady")
_REASONS = {"ready": "Ready", "degraded": "Degraded", "not_ready": "GpuXid", "unknown": "CouldNotRead"}
_BADNESS = ("ready", "degraded", "unknown", "not_ready")


@dataclass
class Taint:
    """Of a node."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def is_tolerated(self, tolerations: "list[str]") -> bool:
        """By one of KEY[=VALUE][:EFFECT].

        >>> [Taint("a/b", "c").is_tolerated([one]) for one in ("a/b", "a/b=c:NoSchedule", "a/b=d", "a/b:NoExecute")]
        [True, True, False, False]
        """
        for one in tolerations:
            rest, _, effect = one.partition(":")
            key, has_value, value = rest.partition("=")
            if key == self.key and effect in ("", self.effect) and (not has_value or value == self.value):
                return True
        return False


@dataclass
class Holder:
    """A pod on a node. `takes`: the GPUs that it holds, as the scheduler counts."""

    spec: "dict[str, Any]"
    takes: int
    phase: str = "Running"
    is_ending: bool = False

    @property
    def counts(self) -> bool:
        """Whether it is one of the node's pods, for the scheduler."""
        return self.phase not in ("Succeeded", "Failed")


@dataclass
class Ask:
    """A request."""

    nodes: int
    gpus: int
    tolerations: "list[str]" = field(default_factory=list)
    selector: "dict[str, str]" = field(default_factory=dict)
    product: str = ""
    exclude: "list[str]" = field(default_factory=list)
    only: "list[str]" = field(default_factory=list)
    may_differ: "list[str]" = field(default_factory=list)
    is_all: bool = False

    @property
    def argv(self) -> "list[str]":
        pairs = [("--toleration", one) for one in self.tolerations]
        pairs += [("--node-selector", f"{key}={value}") for key, value in self.selector.items()]
        pairs += [("--product", self.product)] if self.product else []
        pairs += [(f"--{name}", one) for name in ("exclude", "only") for one in getattr(self, name)]
        pairs += [("--may-differ", one) for one in self.may_differ]
        flat = [part for pair in pairs for part in pair]
        return ["--nodes", str(self.nodes), "--gpus-per-node", str(self.gpus), *flat, *(["--all"] if self.is_all else [])]


@dataclass
class Host:
    """A GPU node as it is, healthy until flaws (tests/real/gateflaws.py) change it. `codes`: of the gate, whatever is asked for."""

    name: str
    labels: "dict[str, str]"
    now: float
    flaws: "list[str]" = field(default_factory=list)
    codes: "set[str]" = field(default_factory=set)
    changes: "dict[str, Any]" = field(default_factory=dict)
    inputs: "dict[str, Any]" = field(default_factory=dict)
    #: The verdicts for one node and for several, by who has them.
    single: "dict[str, str]" = field(default_factory=lambda: dict.fromkeys(("summary", "condition", "label"), "ready"))
    multi: "dict[str, str]" = field(default_factory=lambda: dict.fromkeys(("summary", "condition", "label"), "ready"))
    without: "set[str]" = field(default_factory=set)
    summary: "str | None" = None
    heartbeat: "str | None" = None
    boot: str = "b1"
    has_own_labels: bool = True
    kubelet: str = "True"
    is_cordoned: bool = False
    taints: "list[Taint]" = field(default_factory=list)
    allocatable: "dict[str, str]" = field(default_factory=lambda: {"cpu": "64", "memory": "512Gi", "pods": "110", GPUS: "8"})
    holders: "list[Holder]" = field(default_factory=list)
    #: Of the jobs that the tests place.
    placed: int = 0
    jobs: int = 0

    def group(self, ask: "Ask | None" = None) -> str:
        """Its class, "" for none; `ask`: without the inputs in which nodes may differ."""
        alike = dict.fromkeys(ask.may_differ if ask else (), "any")
        inputs = {**gate_summaries.INPUTS, **self.inputs, **alike}
        found = gate_summaries.classes(inputs)["class"]
        return found if isinstance(found, str) else ""

    @property
    def free(self) -> int:
        return int(self.allocatable.get(GPUS, "0")) - sum(one.takes for one in self.holders if one.counts) - self.placed

    @property
    def has_room(self) -> bool:
        """For one more pod, whatever it asks for."""
        return int(self.allocatable["pods"]) > sum(one.counts for one in self.holders) + self.jobs

    @property
    def all_taints(self) -> "list[Taint]":
        """With those that the controller-manager sets; pods tolerate its NoExecute taints for some minutes by themselves."""
        own = {"False": [Taint(NOT_READY)], "Unknown": [Taint(UNREACHABLE)]}.get(self.kubelet, [])
        return [*self.taints, *own, *([Taint(CORDON)] if self.is_cordoned else [])]

    def refusing(self, ask: Ask) -> "list[Taint]":
        """The taints that keep the pods of `ask` away."""
        return [one for one in self.all_taints if one.effect != "PreferNoSchedule" and not one.is_tolerated(ask.tolerations)]

    def takes(self, ask: Ask) -> bool:
        """Whether the scheduler binds one pod of `ask` to it."""
        fits = self.free >= ask.gpus and self.has_room and ask.selector.items() <= self.labels.items()
        return fits and not self.refusing(ask)

    def gate_codes(self, ask: Ask) -> "set[str]":
        """All that may be said against it that the scheduler does not know."""
        found = set(self.codes)
        single, multi = (max((one[by] for by in one), key=_BADNESS.index) for one in (self.single, self.multi))
        found |= {"not_ready": {"NotReady"}, "unknown": {"Unknown"}}.get(single, set())
        if ask.nodes > 1 and multi in ("not_ready", "unknown"):
            found.add("MultiNodeNotReady")
        if ask.nodes > 1 and not self.group(ask):
            found.add("NotInClass")
        if self.kubelet != "True":
            found.add("NodeNotReady")
        product = self.changes.get("gpus.product", "NVIDIA-H100-80GB-HBM3")
        if ask.product and ask.product.lower() != product.lower():
            found.add("Product")
        if self.name in ask.exclude or (ask.only and self.name not in ask.only):
            found.add("Excluded")
        return found

    def scheduler_codes(self, ask: Ask) -> "set[str]":
        """Which of the gate's codes say what the scheduler finds."""
        found = set()
        if refusing := self.refusing(ask):
            found |= {"Cordoned" if one.key == CORDON else "Tainted" for one in refusing}
        if self.free < ask.gpus:
            found |= {"NoFreeGpus"}
        if not self.has_room:
            found.add("NoFreePods")
        if not ask.selector.items() <= self.labels.items():
            found.add("Selector")
        return found

    def is_eligible(self, ask: Ask) -> bool:
        return self.takes(ask) and not self.gate_codes(ask)

    def document(self) -> "dict[str, Any]":
        """The node, for the API server."""
        said_of_it = self._words()
        labels = {**GPU, "kubernetes.io/os": "linux", NODE: self.name, **self.labels}
        if self.has_own_labels:
            labels |= {name: value for name, value in said_of_it["metadata"].get("labels", {}).items() if value is not None}
        conditions = [one for one in said_of_it["status"]["conditions"] if one.get("type", "").partition("/")[2] not in self.without]
        kubelet = {"type": "Ready", "status": self.kubelet, "reason": "KubeletReady" if self.kubelet == "True" else "KubeletNotReady"}
        taints = [{"key": one.key, "effect": one.effect, **({"value": one.value} if one.value else {})} for one in self.taints]
        annotations = {name: value for name, value in said_of_it["metadata"]["annotations"].items() if value is not None}
        return {
            "metadata": {"name": self.name, "labels": labels, "annotations": annotations},
            "spec": {"unschedulable": self.is_cordoned, "taints": taints},
            "status": {
                "conditions": [kubelet, *conditions],
                "nodeInfo": {"bootID": self.boot, "kubeletVersion": "v1.35.0", "operatingSystem": "linux", "architecture": "amd64"},
                "capacity": self.allocatable,
                "allocatable": self.allocatable,
            },
        }

    def _words(self) -> "dict[str, Any]":
        verdict = {"verdict.single_node": self.single["summary"], "verdict.multi_node": self.multi["summary"]}
        whole = gate_summaries.summary(self.name, {**verdict, **self.changes}, self.inputs)
        measured = (self.single["condition"], self.multi["condition"])
        state = debounce.at_once("b1", tuple(_measured(kind, measured[kind not in _SINGLE]) for kind in TYPES), self.now)
        patch = body(build_message.words(state, whole, until=False), PREFIX, self.now)
        words = {"ready": "true", "degraded": "true", "not_ready": "false", "unknown": "unknown"}
        labels, annotations = patch["metadata"]["labels"], patch["metadata"]["annotations"]
        labels |= {f"{PREFIX}/ready": words[self.single["label"]], f"{PREFIX}/multi-node-ready": words[self.multi["label"]]}
        for name, value in (("summary", self.summary), ("heartbeat", self.heartbeat)):
            if value is not None:
                annotations[f"{PREFIX}/{name}"] = value or None
        return patch

    def described(self) -> str:
        """In a line, for a test that fails."""
        pods = ", ".join(f"{one.takes}{'' if one.phase == 'Running' else f' {one.phase}'}" for one in self.holders)
        taints = ", ".join(f"{one.key}={one.value}:{one.effect}" for one in self.all_taints)
        return f"{self.name}: {', '.join(self.flaws) or 'healthy'}; free {self.free}, pods [{pods}], taints [{taints}], class {self.group() or 'none'}"


def _measured(kind: Any, verdict: Any) -> Measured:
    message = "Every check that counts passes" if verdict == "ready" else "GPU 4 has fallen off the bus (0000:4e:00.0)"
    return Measured(kind, verdict, _REASONS[verdict], message)


@dataclass
class Drawn:
    """One cluster, and what it is asked for in turn."""

    seed: int
    hosts: "list[Host]"
    asks: "list[Ask]"

    def described(self, ask: Ask) -> str:
        """For a test that fails."""
        rows = (
            f"  {one.described()}; gate {sorted(one.gate_codes(ask))}, scheduler {sorted(one.scheduler_codes(ask))}, labels {one.labels}"
            for one in self.hosts
        )
        return "\n".join((f"seed {self.seed}: hostagent gate {' '.join(ask.argv)}", *rows))


def pod_spec(requests: "dict[str, str]", **more: Any) -> "dict[str, Any]":
    """Of one container that takes `requests`."""
    tolerations = [{"operator": "Exists"}]
    return {"containers": [container("job", requests)], "tolerations": tolerations, **more}


def container(name: str, requests: "dict[str, str]", **more: Any) -> "dict[str, Any]":
    extended = {key: value for key, value in requests.items() if key == GPUS}
    return {"name": name, "image": "none", "resources": {"requests": requests, "limits": extended}, **more}


def gpus(count: int) -> "dict[str, str]":
    return {GPUS: str(count)}


# -- on the server


def prepare(cluster: Cluster) -> None:
    """What all of them need."""
    for name in (*NAMESPACES, "jobs", "probes"):
        cluster.admin("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    wrapped = {"metadata": {"name": WRAPPED}, "handler": "wrapped", "overhead": {"podFixed": gpus(1)}}
    cluster.admin("POST", "/apis/node.k8s.io/v1/runtimeclasses", wrapped)


def objects(one: Drawn) -> "Iterator[tuple[str, dict[str, Any], Holder | None]]":
    """Path and document of each, nodes first."""
    for host in one.hosts:
        yield "/api/v1/nodes", host.document(), None
    for host in one.hosts:
        if "DRA" in host.flaws:
            yield SLICES, resource_slice(host.name), None
        for number, holder in enumerate(host.holders):
            metadata: dict[str, Any] = {"name": f"{host.name}-{number}"}
            if holder.is_ending:
                metadata["finalizers"] = ["example.com/held"]
            space = NAMESPACES[number % len(NAMESPACES)]
            yield f"/api/v1/namespaces/{space}/pods", {"metadata": metadata, "spec": {**holder.spec, "nodeName": host.name}}, holder


def resource_slice(node: str) -> "dict[str, Any]":
    devices = [{"name": f"gpu-{number}"} for number in range(8)]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {"metadata": {"name": f"{node}-gpu"}, "spec": {"driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "devices": devices}}


def make(cluster: Cluster, one: Drawn) -> None:
    """All of it, one after the other: a connection that is kept is as fast as several."""
    for path, document, holder in objects(one):
        made = cluster.admin("POST", path, document)
        if path == "/api/v1/nodes" and made["spec"].get("taints", []) != document["spec"]["taints"]:
            cluster.taint(document["metadata"]["name"], document["spec"]["taints"])  # the server adds not-ready to each new node
        if holder is None:
            continue
        where = f"{path}/{document['metadata']['name']}"
        if holder.phase != "Pending":
            cluster.admin("PATCH", f"{where}/status", {"status": {"phase": holder.phase}}, kind=MERGE)
        if holder.is_ending:
            cluster.ask("DELETE", where, {"gracePeriodSeconds": 0})


def remove(cluster: Cluster, one: Drawn) -> None:
    """Nodes and their pods, slices and jobs."""
    cluster.admin("DELETE", f"{JOBS}?propagationPolicy=Orphan")  # its controller would make their pods again
    for space in (*NAMESPACES, "jobs"):
        remove_pods(cluster, space)
    cluster.admin("DELETE", SLICES)
    for host in one.hosts:
        cluster.ask("DELETE", f"/api/v1/nodes/{host.name}")


def remove_pods(cluster: Cluster, space: str) -> None:
    """At once, whatever holds them."""
    pods = f"/api/v1/namespaces/{space}/pods"
    for pod in cluster.admin("GET", pods)["items"]:
        if pod["metadata"].get("finalizers"):
            cluster.ask("PATCH", f"{pods}/{pod['metadata']['name']}", {"metadata": {"finalizers": None}}, kind=MERGE)
    cluster.admin("DELETE", pods, {"gracePeriodSeconds": 0})
