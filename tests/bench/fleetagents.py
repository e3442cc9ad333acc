"""Virtual agents of a large cluster: the product's own `Sink` for each node, over a few kept connections.

Each request has the identity of the daemon's account in a pod of its node (impersonation), so the admission policy is evaluated. A virtual
agent judges nothing: its verdict comes from the benchmark, and all the rest of what it writes is a recorded host's.
"""

import contextlib
import heapq
import http.client
import itertools
import json
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hostagent.daemon import build_message, debounce
from hostagent.daemon.conditions import TYPES, Measured
from hostagent.engine.report.node_status import NodeWords
from hostagent.kube.pacing import next_heartbeat
from hostagent.kube.sink import Pace, Reply, Sink
from tests.real.cluster import AS_ADMIN, GPU, STRATEGIC, Cluster, acting_as_agent
from tests.real.controllerrun import ACCEPT, PREFIX, reply, summary

#: Seconds, the daemon's defaults: between two heartbeats, and between two passes.
HEARTBEAT_S, INTERVAL_S = 300.0, 60.0


class Connection:
    """One kept connection to the API server, as administrator. For one thread."""

    def __init__(self, cluster: Cluster) -> None:
        address = urlsplit(cluster.url)
        self._line = http.client.HTTPSConnection(
            str(address.hostname), address.port, timeout=20, context=ssl.create_default_context(cafile=cluster.ca)
        )

    def ask(self, method: str, path: str, data: "bytes | None" = None, **headers: str) -> "tuple[int, bytes, float]":
        """Status, body, and what the server asks to wait in seconds. Raises OSError or HTTPException."""
        try:
            self._line.request(method, path, data, {**AS_ADMIN, "Content-Type": "application/json", **headers})
            answer = self._line.getresponse()
            return answer.status, answer.read(), float(answer.headers.get("Retry-After", 0))
        except (OSError, http.client.HTTPException):
            self._line.close()
            raise


class Write(NamedTuple):
    """One PATCH. ``at``: monotonic seconds of its answer; ``problem``: "" where it succeeded."""

    at: float
    took_s: float
    problem: str


class Turn(NamedTuple):
    """A change of a node to ready or not ready. ``at``: monotonic seconds."""

    node: str
    at: float
    is_ready: bool


@dataclass
class VirtualAgent:
    """One node's agent. ``sink``: None while it does not run; ``epoch``: a due time of an earlier one counts no more."""

    node: str
    sink: "Sink | None" = None
    state: "debounce.State | None" = None
    words: "NodeWords | None" = None
    is_ready: bool = True
    epoch: int = 0
    is_busy: bool = False
    waits_since: "float | None" = None  # a verdict that is not written yet


def last_heartbeat(node: str, wall: float) -> float:
    """When an agent that has run for long has written last before `wall`: seconds since the epoch."""
    at = wall - 3 * HEARTBEAT_S
    while (following := next_heartbeat(node, at, HEARTBEAT_S, random.random())) < wall:
        at = following
    return at


def words_of(node: str, state: debounce.State, verdict: str) -> NodeWords:
    """Labels, annotations and conditions of a recorded host under the name `node`."""
    whole = {**summary(), "node": node, "verdict": {"single_node": verdict, "multi_node": verdict}}
    return build_message.words(state, whole, until=False)


def _measured(*, is_ready: bool) -> "tuple[Measured, ...]":
    bad = ("Ready", "MultiNodeReady")
    return tuple(
        Measured(kind, "ready", "Ready", "Every check that counts passes")
        if is_ready or kind not in bad
        else Measured(kind, "not_ready", "GpuXid", "GPU 4 has fallen off the bus (0000:4e:00.0)")
        for kind in TYPES
    )


class VirtualAgents:
    """All of a cluster. `run` starts the threads; everything else may be called by any thread."""

    def __init__(self, cluster: Cluster, names: Iterable[str], threads: int = 16) -> None:
        self._cluster, self._count = cluster, threads
        self.by_name = {name: VirtualAgent(name) for name in names}
        self.writes: list[Write] = []
        self.turns: list[Turn] = []  # when a pass found them
        self.verdicts: list[Turn] = []  # when the API server had them
        self.is_filling = False  # the writes count as of the last heartbeat before now: so agents write that have run for long
        self.longest_wait_s = 0.0  # from the pass that found a verdict to the answer of the PATCH that carries it
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._guard = threading.Condition()
        self._is_over = False
        self._local = threading.local()

    @contextlib.contextmanager
    def run(self) -> Iterator[None]:
        """With threads that write what is due."""
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self._count)]
        for one in threads:
            one.start()
        try:
            yield
        finally:
            with self._guard:
                self._is_over = True
                self._guard.notify_all()
            for one in threads:
                one.join(25)

    def at(self, when: float, act: Callable[[], None]) -> None:
        """`act` by one of the threads at that monotonic time."""
        with self._guard:
            heapq.heappush(self._due, (when, next(self._numbers), act))
            self._guard.notify()

    def start(self, agent: VirtualAgent, *, is_ready: "bool | None" = None) -> None:
        """A new process of an agent, after its first pass: a new sink. `is_ready`: None for the verdict that it had (told.json)."""
        with self._guard:
            agent.sink = Sink(self, agent.node, Pace(PREFIX, HEARTBEAT_S, random.random), time.monotonic())
        self.judge(agent, is_ready=agent.is_ready if is_ready is None else is_ready)

    def stop(self, agent: VirtualAgent) -> None:
        """It writes no more, until `start`."""
        with self._guard:
            agent.sink, agent.epoch = None, agent.epoch + 1

    def judge(self, agent: VirtualAgent, *, is_ready: bool) -> None:
        """A pass with that verdict."""
        with self._guard:
            sink = agent.sink
            if sink is None:
                agent.is_ready = is_ready
                return
            if agent.words is None or agent.is_ready != is_ready:
                if agent.words is not None:
                    self.turns.append(Turn(agent.node, time.monotonic(), is_ready))
                agent.waits_since, agent.is_ready = time.monotonic(), is_ready
                agent.state = debounce.at_once("boot", _measured(is_ready=is_ready), time.time(), agent.state)
                agent.words = words_of(agent.node, agent.state, "ready" if is_ready else "not_ready")
            sink.offer(agent.words, float(int(time.time())))
            agent.epoch += 1
            if not agent.is_busy:
                self._plan(agent)

    def waiting(self) -> int:
        """Agents that are away, or have a verdict to write."""
        with self._guard:
            return sum(one.sink is None or one.waits_since is not None for one in self.by_name.values())

    def _plan(self, agent: VirtualAgent) -> None:
        """Under the guard."""
        assert agent.sink is not None
        now, epoch = time.monotonic(), agent.epoch
        heapq.heappush(self._due, (now + agent.sink.due(now), next(self._numbers), lambda: self._write(agent, epoch)))
        self._guard.notify()

    def _work(self) -> None:
        while True:
            with self._guard:
                while not self._is_over and not (self._due and self._due[0][0] <= time.monotonic()):
                    self._guard.wait(min(1.0, max(0.0, self._due[0][0] - time.monotonic())) if self._due else 1.0)
                if self._is_over:
                    return
                act = heapq.heappop(self._due)[2]
            act()

    def _write(self, agent: VirtualAgent, epoch: int) -> None:
        with self._guard:
            sink = agent.sink
            if sink is None or epoch != agent.epoch or agent.is_busy or agent.words is None:
                return
            agent.is_busy = True
            offered = agent.words
            sink.offer(offered, float(int(time.time() - random.uniform(0, INTERVAL_S if agent.waits_since is None else 2))))
        now, wall = time.monotonic(), time.time()
        age_s = wall - last_heartbeat(agent.node, wall) if self.is_filling else 0.0
        answer = sink.write(now - age_s, wall - age_s)
        done = time.monotonic()
        with self._guard:
            agent.is_busy = False
            self.writes.append(Write(done, answer.took_s, answer.problem))
            if not answer.problem and agent.words is offered and agent.waits_since is not None:
                self.longest_wait_s = max(self.longest_wait_s, done - agent.waits_since)
                agent.waits_since = None
                self.verdicts.append(Turn(agent.node, done, agent.is_ready))
            if agent.sink is not None:
                self._plan(agent)

    def patch_node_status(self, name: str, body: "dict[str, Any]") -> Reply:
        """As `hostagent.kube.client.PatchClient`; never raises."""
        if not hasattr(self._local, "connection"):
            self._local.connection = Connection(self._cluster)
        began = time.monotonic()
        headers = {"Accept": ACCEPT, **acting_as_agent(name), "Content-Type": STRATEGIC, "User-Agent": "hostagent/0"}
        path, data = f"/api/v1/nodes/{name}/status?fieldManager=hostagent", json.dumps(body).encode()
        try:
            code, text, wait_s = self._local.connection.ask("PATCH", path, data, **headers)
            return reply(code, text, wait_s, time.monotonic() - began)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Reply("", {}, f"the API server was not reached: {error!r}", took_s=time.monotonic() - began)


def make_nodes(cluster: Cluster, names: Iterable[str], threads: int = 6) -> None:
    """GPU nodes of about 20 kB JSON: 85 labels, 50 images, 6 conditions."""
    template, left = json.dumps(gpu_node("NAME")), iter(list(names))
    guard, problems = threading.Lock(), []

    def work() -> None:
        connection = Connection(cluster)
        while True:
            with guard:
                name = next(left, "")
            if not name:
                return
            code, text, _ = connection.ask("POST", "/api/v1/nodes", template.replace("NAME", name).encode())
            if code != 201:
                problems.append(text)

    running = [threading.Thread(target=work) for _ in range(threads)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert not problems, problems[0]


def gpu_node(name: str) -> "dict[str, Any]":
    """As a GPU cluster has them, without a word of an agent."""
    labels = {f"feature.node.kubernetes.io/cpu-cpuid.FEATURE{number:03}": "true" for number in range(60)}
    labels |= {f"nvidia.com/gpu.property-{number:02}": "NVIDIA-H100-80GB-HBM3" for number in range(20)}
    labels |= {**GPU, "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "example.com/pool": "a"}
    digest = "0123456789abcdef" * 4
    images = [
        {
            "names": [
                f"registry.example.com/team/application-{number:02}@sha256:{digest}",
                f"registry.example.com/team/application-{number:02}:1",
            ],
            "sizeBytes": 1000000000 + number,
        }
        for number in range(50)
    ]
    pressures = ("MemoryPressure", "DiskPressure", "PIDPressure", "KernelDeadlock", "ReadonlyFilesystem")
    at = {"lastHeartbeatTime": "2026-11-01T00:00:00Z", "lastTransitionTime": "2026-11-01T00:00:00Z"}
    conditions = [{"type": one, "status": "False", "reason": f"No{one}", "message": f"the node has no {one}", **at} for one in pressures]
    conditions.append({"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status", **at})
    capacity = {"cpu": "192", "memory": "2113425328Ki", "pods": "110", "nvidia.com/gpu": "8", "ephemeral-storage": "7Ti", "rdma/hca": "8"}
    info = dict.fromkeys(("machineID", "systemUUID", "bootID"), "a2ac87d0f27c4e6d8a4f13ab9d0d9b6e")
    info |= dict.fromkeys(("kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion"), "6.8.0-generic")
    return {
        "metadata": {"name": name, "labels": labels, "annotations": {f"example.com/note-{number}": "x" * 60 for number in range(10)}},
        "spec": {"providerID": f"example://{name}"},
        "status": {
            "conditions": conditions,
            "images": images,
            "capacity": capacity,
            "allocatable": capacity,
            "nodeInfo": {**info, "operatingSystem": "linux", "architecture": "amd64"},
        },
    }
