"""`hostagent controller` as its Deployment starts it, and virtual agents, for tests.

A virtual agent is no process. The daemon's own modules make what it writes, and it is sent with the daemon's identity, so the policy of
daemonset/base is evaluated.
"""

import contextlib
import functools
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from hostagent.daemon import build_message, debounce
from hostagent.daemon.conditions import TYPES, Measured
from hostagent.engine.report.node_status import NodeWords
from hostagent.kube.nodestatus import body
from hostagent.kube.sink import Reply
from tests.real.cluster import STRATEGIC, Cluster, acting_as_agent, apply
from tests.real.daemonrun import Service, eventually, port

_ROOT = Path(__file__).parents[2]
_TAPE = _ROOT / "tests/hosts/hgx-h100-roce/tape.json"
#: Of the names that hostagent writes; and what an agent asks to be answered with.
PREFIX = "hostagent.dev"
ACCEPT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
#: The controller's; and what its account may read, of each role one path.
LEASE = "/apis/coordination.k8s.io/v1/namespaces/hostagent/leases/hostagent-controller"
_READ = ("/api/v1/nodes?limit=1", LEASE)
_SINGLE = ("Ready", "DriverReady", "ToolkitReady")
_REASONS = {"ready": "Ready", "degraded": "Degraded", "not_ready": "GpuXid", "unknown": "CouldNotRead"}


def config(cluster: Cluster, folder: Path, account: str = "hostagent-controller") -> Path:
    """A kubeconfig for a service account of namespace hostagent, once the rights of daemonset/overlays/controller are in force."""
    folder.mkdir(parents=True, exist_ok=True)
    apply(cluster, "overlays/controller")
    token = cluster.token_of("hostagent", account)
    if account == "hostagent-controller":
        eventually(lambda: all(cluster.ask("GET", path, token=token).status_code != 403 for path in _READ), 30)
    return cluster.kubeconfig(folder / "kubeconfig", token)


class Controller(Service):
    """`hostagent controller` with `options`, such as "--kubeconfig", config(cluster, folder), "--stale-after", 20."""

    def __init__(self, folder: Path, *options: object, environment: "dict[str, str] | None" = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        chosen = port()
        listen = () if "--listen" in options else ("--listen", f"127.0.0.1:{chosen}")
        space = () if "--namespace" in options else ("--namespace", "hostagent")
        super().__init__(folder, ["controller", *listen, *space, *options], chosen, environment)

    def metric(self, name: str, **labels: str) -> "float | None":
        """The sum of the samples of that name that have those labels; None where there is none, and where it does not answer."""
        with contextlib.suppress(requests.RequestException):
            return sample(self.get("/metrics", timeout=3).text, name, **labels)
        return None

    @property
    def is_leader(self) -> bool:
        """By its metrics."""
        return self.metric("hostagent_controller_is_leader") == 1

    def leads(self, within_s: float = 40) -> float:
        """Wait until it is leader and has read all nodes: how many seconds that took."""
        return eventually(lambda: self.is_leader and self.metric("hostagent_controller_settled") == 1, within_s)

    def pause(self) -> None:
        """By SIGSTOP."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)


def why(cluster: Cluster, node: str) -> "tuple[int, str]":
    """`hostagent kubernetes why`, as an administrator: exit code and text."""
    asked = ["kubernetes", "why", node, "--kubeconfig", str(cluster.kubeconfig(Path(cluster.folder) / "why.kubeconfig"))]
    done = subprocess.run([sys.executable, "-m", "hostagent", *asked], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def sample(text: str, name: str, **labels: str) -> "float | None":
    """As `Controller.metric`, of a text in the format of Prometheus.

    >>> sample('a_nodes{state="ready"} 3\\na_nodes{state="silent"} 1\\na_leader 1', "a_nodes", state="ready")
    3.0
    """
    found = [
        float(match[3])
        for match in map(_SAMPLE.fullmatch, text.splitlines())
        if match and match[1] == name and labels.items() <= dict(_LABEL.findall(match[2] or "")).items()
    ]
    return sum(found) if found else None


@functools.cache
def summary() -> "dict[str, Any]":
    """Of a recorded 8-GPU host."""
    argv = [sys.executable, "-m", "hostagent", "check", "--from", _TAPE, "--format", "summary"]
    return dict(json.loads(subprocess.run(list(map(str, argv)), capture_output=True, check=False, cwd=_ROOT).stdout))


def reply(code: int, text: bytes, wait_s: float, took_s: float) -> Reply:
    """Of the API server's answer to a PATCH, as `hostagent.kube.client.PatchClient` makes it. Raises ValueError where it is no JSON."""
    found = json.loads(text)
    if code == 200:
        return Reply(found["metadata"]["uid"], found["metadata"].get("labels", {}), took_s=took_s)
    problem = f"the API server answers {code}: {found.get('message')}"
    return Reply("", {}, problem, wait_s, code == 404, took_s, code in (400, 413, 422))


class AgentClient:
    """What `hostagent.kube.sink.Sink` writes through: each request as the daemon's account in a pod of the node that it names."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def patch_node_status(self, name: str, body: "dict[str, Any]") -> Reply:
        """As `hostagent.kube.client.PatchClient`; `Reply.took_s` is the time of the whole request."""
        began, path = time.monotonic(), f"/api/v1/nodes/{name}/status?fieldManager=hostagent"
        try:
            answer = self.cluster.ask("PATCH", path, body, kind=STRATEGIC, headers={"Accept": ACCEPT, **acting_as_agent(name)})
            return reply(answer.status_code, answer.content, float(answer.headers.get("Retry-After", 0)), time.monotonic() - began)
        except (requests.RequestException, ValueError) as error:
            return Reply("", {}, f"the API server was not reached: {error}", took_s=time.monotonic() - began)


@dataclass
class Agent:
    """One node's: what it wrote last. ``ahead_s``: of its clock, against the others."""

    node: str
    is_alive: bool = True
    ahead_s: float = 0.0
    judged_at: int = 0
    state: "debounce.State | None" = None
    words: "NodeWords | None" = None
    failures: int = 0


class Agents:
    """One for each of `names`. Methods without names mean all that are alive. A write that fails raises, but for the heartbeats of `beating`."""

    def __init__(self, cluster: Cluster, names: Iterable[str]) -> None:
        self.client = AgentClient(cluster)
        self.by_name = {name: Agent(name) for name in names}

    def ready(self, *names: str, multi: str = "ready") -> None:
        self.verdict(*names, single="ready", multi=multi)

    def not_ready(self, *names: str, multi: str = "not_ready") -> None:
        self.verdict(*names, single="not_ready", multi=multi)

    def verdict(self, *names: str, single: Any, multi: Any) -> None:
        """As after a pass: ready, degraded, not_ready, unknown."""

        def write(one: Agent) -> None:
            now = self._pass(one)
            found = tuple(_measured(kind, single if kind in _SINGLE else multi) for kind in TYPES)
            one.state = debounce.at_once("boot", found, now, one.state)
            whole = {**summary(), "node": one.node, "verdict": {"single_node": single, "multi_node": multi}}
            one.words = build_message.words(one.state, whole, until=False)
            self._write(one)

        self._each(names, write)

    def first_pass(self, *names: str, keeps_summary: bool = False) -> None:
        """As the daemon begins in a boot of which it has no state: Unknown FirstPass, no heartbeat, and the summary removed.
        `keeps_summary`: the annotation stays, as with an agent that does not remove it.
        """

        def write(one: Agent) -> None:
            one.state = debounce.first("boot", time.time() + one.ahead_s)
            one.words = build_message.first_words(one.state)
            if keeps_summary:
                one.words = NodeWords(one.words.conditions, one.words.removed, one.words.labels, {})
            self._write(one, judged_at=0)

        self._each(names, write)

    def heartbeat(self, *names: str, text: str = "") -> None:
        """The same words, after another pass. `text`: what the annotation says in place of the time."""

        def write(one: Agent) -> None:
            self._pass(one)
            self._write(one, heartbeat=text)

        self._each(names, write)

    def stop(self, *names: str) -> None:
        """As kill -9: they write no more."""
        for name in names or self.by_name:
            self.by_name[name].is_alive = False

    def start(self, *names: str) -> None:
        """They may write again; they write nothing yet."""
        for name in names or self.by_name:
            self.by_name[name].is_alive = True

    @contextlib.contextmanager
    def beating(self, period_s: float) -> Any:
        """With heartbeats of all that are alive and have written, each every `period_s`, spread over it. What fails is tried again
        in the next period, and counted in `Agent.failures`.
        """
        over = threading.Event()
        thread = threading.Thread(target=self._beat, args=(period_s, over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(25)

    def _beat(self, period_s: float, over: threading.Event) -> None:
        def write(one: Agent) -> None:
            try:
                if one.is_alive and one.words:
                    self._pass(one)
                    self._write(one)
            except AssertionError:
                one.failures += 1

        began = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            while not over.is_set():
                for number, one in enumerate(self.by_name.values()):
                    if over.wait(max(0.0, began + period_s * number / len(self.by_name) - time.monotonic())):
                        return
                    pool.submit(write, one)
                began = max(began + period_s, time.monotonic() - period_s)
                over.wait(began - time.monotonic() if began > time.monotonic() else 0.01)

    def _each(self, names: Iterable[str], write: "Callable[[Agent], None]") -> None:
        chosen = [self.by_name[name] for name in names] or [one for one in self.by_name.values() if one.is_alive]
        assert all(one.is_alive for one in chosen), "a stopped agent writes nothing: start it"
        if len(chosen) == 1:
            write(chosen[0])
            return
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, chosen))

    @staticmethod
    def _pass(one: Agent) -> float:
        """The time of a new pass; the annotation has whole seconds, and has to change."""
        one.judged_at = max(int(time.time() + one.ahead_s), one.judged_at + 1)
        return float(one.judged_at)

    def _write(self, one: Agent, *, judged_at: "int | None" = None, heartbeat: str = "") -> None:
        assert one.words, "it has written nothing yet"
        patch = body(one.words, PREFIX, one.judged_at if judged_at is None else judged_at)
        if heartbeat:
            patch["metadata"]["annotations"][f"{PREFIX}/heartbeat"] = heartbeat
        reply = self.client.patch_node_status(one.node, patch)
        assert not reply.problem, f"{one.node}: {reply.problem}"


def _measured(kind: Any, verdict: Any) -> Measured:
    message = "Every check that counts passes" if verdict == "ready" else "GPU 4 has fallen off the bus (0000:4e:00.0)"
    return Measured(kind, verdict, _REASONS[verdict], message)
