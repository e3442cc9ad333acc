"""The process that owns the demo cluster: its programs end with it, however it ends.

It plays one part of a kubelet, which kwok does not: while a pod of hostagent is there a process of hostagent runs, with a token that is
bound to that pod. A process that ends by itself is not started again before its pod is another one.
"""

import base64
import json
import os
import platform
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import requests

from tests.real.cluster import Part, program, server_flags
from tests.real.conftest import CACHE
from tests.real.daemonrun import port

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
KWOK = Path(CACHE, "cluster-tools/kwok")
NODES = ("gpu-1", "gpu-2", "gpu-3", "gpu-4")
HEALTHY = ROOT / "tests/hosts/hgx-h100-ubuntu2404/tape.json"
#: Seconds: short, so that a silent agent shows soon. A healthy one is heard of each 50 s at most: a heartbeat and two intervals.
INTERVAL, HEARTBEAT, STALE_AFTER = 10, 30, 75
#: Tokens are not renewed.
_TOKEN_S = 30 * 86400
#: What is compared after a removal, as `kubectl get nodes -o custom-columns-file=FILE` reads it.
_COLUMNS = """NAME LABELS ANNOTATIONS TAINTS CONDITIONS
.metadata.name .metadata.labels .metadata.annotations .spec.taints .status.conditions[*].type
"""
_SPACE = "/api/v1/namespaces/hostagent"


def say(line: str) -> None:
    """On standard output, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _healthy() -> Any:
    """A recorded host with eight H100. Its NVLink ends at the host, as of every HGX board: there NVML names no cluster."""
    made = json.loads(HEALTHY.read_text(encoding="utf-8"))
    for question, answer in made["answers"].items():
        if question.startswith("nvml device") and question.endswith(" fabric"):
            answer["json"]["cluster_uuid"] = "0" * 32
    return made


class Api:
    """The API server, as its administrator."""

    def __init__(self, folder: Path) -> None:
        self.server, self.token = f"https://127.0.0.1:{port()}", secrets.token_urlsafe(32)
        self.ca = folder / "certs/apiserver.crt"
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers = {"Authorization": f"Bearer {self.token}"}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer as JSON; None for none, and where the object is not there."""
        try:
            answer = self._session.request(method, self.server + path, json=body, verify=str(self.ca), timeout=10)
            return answer.json() if answer.ok else None
        except (requests.RequestException, OSError, ValueError):
            return None

    def is_up(self) -> bool:
        try:
            return self._session.get(f"{self.server}/readyz", verify=str(self.ca), timeout=5).ok
        except (requests.RequestException, OSError):
            return False

    def kubeconfig(self, path: Path, token: str) -> Path:
        """One file that needs no other."""
        cluster = {"server": self.server, "certificate-authority-data": base64.b64encode(self.ca.read_bytes()).decode()}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "demo-cluster",
            "contexts": [{"name": "demo-cluster", "context": {"cluster": "demo-cluster", "user": "demo-cluster"}}],
            "clusters": [{"name": "demo-cluster", "cluster": cluster}],
            "users": [{"name": "demo-cluster", "user": {"token": token}}],
        }
        path.write_text(json.dumps(document, indent=1))
        return path

    def token_of(self, pod: Any) -> str:
        """Of its service account, bound to it; "" where there is none."""
        bound = {"kind": "Pod", "apiVersion": "v1", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        spec = {"audiences": [], "expirationSeconds": _TOKEN_S, "boundObjectRef": bound}
        path = f"{_SPACE}/serviceaccounts/{pod['spec']['serviceAccountName']}/token"
        made = self.ask("POST", path, {"spec": spec})
        return str(made["status"]["token"]) if made else ""


class Running(NamedTuple):
    """A process of hostagent, and where its pid stands."""

    part: Part
    pid: Path


class Supervisor:
    """Of the cluster below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.api = Api(folder)
        self.parts: dict[str, Part] = {}
        #: By the uid of their pods.
        self.running: dict[str, Running] = {}

    def begin(self) -> None:
        """Until every node has a verdict and the controller writes."""
        say("etcd, kube-apiserver")
        self._control_plane()
        say(f"kube-scheduler, kube-controller-manager, kwok; nodes {', '.join(NODES)} with 8 GPUs each")
        self._nodes()
        for overlay in ("observe", "controller"):
            say(f"kubectl apply -k daemonset/overlays/{overlay}")
            self.kubectl("apply", "-k", ROOT / "daemonset/overlays" / overlay)
        say("agents and controller: the first verdicts")
        self._until(self._is_ready, "no verdict of each node")

    def follow(self) -> NoReturn:
        """A process for each pod of hostagent, until this one ends."""
        while True:
            self.look()
            time.sleep(0.5)

    def look(self) -> None:
        """End the processes of pods that are gone or going; start those of new ones."""
        found = self.api.ask("GET", f"{_SPACE}/pods")
        if found is None:
            return
        running = [pod for pod in found["items"] if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]]
        pods = {pod["metadata"]["uid"]: pod for pod in running}
        for uid in self.running.keys() - pods.keys():
            gone = self.running.pop(uid)
            gone.part.end()
            gone.pid.unlink(missing_ok=True)
        for uid in pods.keys() - self.running.keys():
            self._start(pods[uid])
        for one in self.running.values():
            if one.part.process.poll() is not None:
                one.pid.unlink(missing_ok=True)  # another process may have that pid soon

    def end(self) -> None:
        """All that runs."""
        for part in (*(one.part for one in self.running.values()), *reversed(self.parts.values())):
            part.end()

    def kubectl(self, *words: object) -> str:
        argv = [program("kubectl"), "--kubeconfig", self.folder / "kubeconfig", *words]
        return subprocess.run(list(map(str, argv)), check=True, stdout=subprocess.PIPE, text=True).stdout

    def _part(self, name: str, *options: object) -> None:
        self.parts[name] = Part([KWOK if name == "kwok" else program(name), *options], self.folder / "logs" / f"{name}.log")

    def _control_plane(self) -> None:
        folder = self.folder
        (folder / "tokens.csv").write_text(f'{self.api.token},admin,admin,"system:masters"\n')
        subprocess.run(["openssl", "genrsa", "-out", folder / "sa.key", "2048"], check=True, capture_output=True)
        # Sockets in a folder that its user alone may enter: etcd has no authentication here.
        sockets = ("--listen-client-urls=unix://etcd:0", "--advertise-client-urls=unix://etcd:0", "--listen-peer-urls=unix://etcd:1")
        self._part("etcd", "--data-dir=etcd", *sockets, "--unsafe-no-fsync")
        self._part("kube-apiserver", *server_flags(folder, "unix://etcd:0", int(self.api.server.rpartition(":")[2])))
        self._until(self.api.is_up, "the API server does not answer")
        self.api.kubeconfig(folder / "kubeconfig", self.api.token)

    def _nodes(self) -> None:
        config, alone = f"--kubeconfig={self.folder / 'kubeconfig'}", ("--leader-elect=false", "--secure-port=0")
        keys = ("--service-account-private-key-file=sa.key", "--root-ca-file=certs/apiserver.crt")
        self._part("kube-scheduler", config, *alone)
        self._part("kube-controller-manager", config, *alone, *keys)
        stages = ("--manage-all-nodes", "--node-lease-duration-seconds=40", f"--config={HERE / 'stages.yaml'}")
        self._part("kwok", config, *stages)
        capacity = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
        machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
        host = _healthy()
        boot = host["answers"]["host"]["json"]["boot_id"]
        for name in NODES:
            kubelets = {
                f"{beta}kubernetes.io/{key}": value for beta in ("", "beta.") for key, value in (("os", "linux"), ("arch", machine))
            }
            labels = {"kubernetes.io/hostname": name, "nvidia.com/gpu.present": "true", **kubelets}
            status = {"capacity": capacity, "allocatable": capacity, "nodeInfo": {"kubeletVersion": "kwok", "bootID": boot}}
            self.api.ask("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "status": status})
            (self.folder / name).mkdir()
            (self.folder / name / "host.json").write_text(json.dumps(host))
        self._until(lambda: all(map(self._is_settled, NODES)), "the nodes do not become ready")
        (self.folder / "columns").write_text(_COLUMNS)
        before = self.kubectl("get", "nodes", "-o", f"custom-columns-file={self.folder / 'columns'}")
        (self.folder / "nodes-before").write_text(before)

    def _is_settled(self, name: str) -> bool:
        """It has all that Kubernetes writes to a new node."""
        node = self.api.ask("GET", f"/api/v1/nodes/{name}") or {"metadata": {}, "spec": {}, "status": {}}
        ready = [one["status"] for one in node["status"].get("conditions", []) if one["type"] == "Ready"]
        return ready == ["True"] and "taints" not in node["spec"] and bool(node["metadata"].get("annotations"))

    def _is_ready(self) -> bool:
        self.look()
        found = self.api.ask("GET", "/api/v1/nodes?labelSelector=hostagent.dev/ready=true,hostagent.dev/multi-node-ready=true")
        lease = self.api.ask("GET", "/apis/coordination.k8s.io/v1/namespaces/hostagent/leases/hostagent-controller")
        if not found or not lease or not lease["spec"].get("holderIdentity"):
            return False
        are_open = all("taints" not in one["spec"] for one in found["items"])  # before their first verdict they were closed
        return are_open and len(found["items"]) == len(NODES)

    def _start(self, pod: Any) -> None:
        """Of a pod that is gone meanwhile nothing; it is looked at again."""
        is_agent = pod["spec"]["serviceAccountName"] == "hostagent"
        name = pod["spec"]["nodeName"] if is_agent else pod["metadata"]["name"]
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        token = self.api.token_of(pod)
        profile = self.api.ask("GET", f"{_SPACE}/configmaps/hostagent-profile")
        if not token or not profile:
            return
        (folder / "profile.yaml").write_text(profile["data"]["profile.yaml"])
        cluster = ("--kubeconfig", self.api.kubeconfig(folder / "token.kubeconfig", token), "--listen", "")
        host = ("--from", folder / "host.json", "--profile", folder / "profile.yaml", "--state-dir", folder / "state")
        agent = ("daemon", "--node-name", name, *host, "--interval", INTERVAL, "--heartbeat", HEARTBEAT)
        words = agent if is_agent else ("controller", "--stale-after", STALE_AFTER)
        part = Part([sys.executable, "-m", "hostagent", *words, *cluster], folder / "agent.log")
        self.running[pod["metadata"]["uid"]] = Running(part, folder / "agent.pid")
        (folder / "agent.pid").write_text(f"{part.process.pid}\n")

    def _until(self, is_so: Callable[[], bool], problem: str, within_s: float = 120) -> None:
        ends = time.monotonic() + within_s
        while not is_so():
            ended = [name for name, part in self.parts.items() if part.process.poll() is not None]
            if ended or time.monotonic() > ends:
                raise SystemExit(f"{f'{ended[0]} has ended' if ended else problem}\n{self.parts[(ended or list(self.parts))[-1]].tail}")
            time.sleep(0.2)


def supervise(folder: Path) -> NoReturn:
    """Lines to standard output until all is ready, the last one empty."""
    os.umask(0o077)
    (folder / "logs").mkdir()
    os.chdir(folder)
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = ",".join(filter(None, (os.environ.get("NO_PROXY", ""), "127.0.0.1")))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    supervisor = Supervisor(folder)
    try:
        supervisor.begin()
        say("")
        os.dup2(2, 1)  # `up` reads no further
        supervisor.follow()
    finally:
        supervisor.end()
