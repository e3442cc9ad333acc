"""A real API server over a real etcd on ports of this machine, for tests: started once, shared by all, ended with the tests.

It is asked as an administrator by a static token; the daemon under test has a real token that is bound to a pod of a node (TokenRequest).
The scheduler and the controller-manager run where a test asks for them. Each program can be paused, ended and started again.
"""

import base64
import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import requests
import yaml

from tests.real.conftest import need_real

ROOT = Path(__file__).parents[2]
#: The administrator's token, and the header that carries it.
ADMIN = "admin-of-the-tests"
AS_ADMIN = {"Authorization": f"Bearer {ADMIN}"}
_ACCOUNT = "system:serviceaccount:hostagent:hostagent"
SERVER, SCHEDULER, CONTROLLERS = "kube-apiserver", "kube-scheduler", "kube-controller-manager"
#: The media types of a PATCH.
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
#: What GPU feature discovery writes: the controller selects nodes by it.
GPU = {"nvidia.com/gpu.present": "true"}
#: The kubelet's label of each node: pods select one by it.
HOSTNAME = "kubernetes.io/hostname"
_CAPACITY = {"cpu": "64", "memory": "512Gi", "pods": "110"}
#: Ten thousand nodes of 30 kB, written again every few minutes, come near the default of 2 GiB.
_ETCD_QUOTA = "--quota-backend-bytes=8589934592"
#: Connections are kept, by thread.
_kept = threading.local()


def program(name: str) -> str:
    """`name` of the control plane: where envtest looks for it, else what install_kubernetes.sh built."""
    named = os.environ.get("TEST_ASSET_" + name.upper().replace("-", "_"), "")
    assets = os.environ.get("KUBEBUILDER_ASSETS", "")
    given = named or (os.path.join(assets, name) if assets else "")
    return need_real(given or f"kubernetes-1.35/{name}", "bash tests/real/install_kubernetes.sh")


class Part:
    """One program of the control plane. It ends with the thread that starts it: PR_SET_PDEATHSIG counts threads, not processes."""

    def __init__(self, argv: Iterable[Any], log: Path) -> None:
        self.argv, self.log = ["setpriv", "--pdeathsig", "KILL", *map(str, argv)], log
        self.start()

    def start(self) -> None:
        """Also after `end`."""
        with self.log.open("ab") as stream:
            self.process = subprocess.Popen(self.argv, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL)

    def end(self) -> None:
        """By SIGKILL."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """It takes connections, and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    @property
    def tail(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-2000:]


class Cluster(NamedTuple):
    """Where it answers, the file with the authority of its certificate, and its programs by name."""

    url: str
    ca: str
    folder: str
    parts: "dict[str, Part]"

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str = ADMIN,
        kind: str = "application/json",
        headers: "Mapping[str, str] | None" = None,
        within_s: float = 20,
    ) -> requests.Response:
        """`headers`: more of them, such as `acting_as`."""
        if not hasattr(_kept, "session"):
            _kept.session = requests.Session()
        sent = {"Authorization": f"Bearer {token}", "Content-Type": kind, **(headers or {})}
        data = None if body is None else json.dumps(body)
        request: Callable[[], requests.Response] = functools.partial(
            _kept.session.request, method, self.url + path, data=data, headers=sent, verify=self.ca, timeout=within_s
        )
        try:
            return request()
        except requests.ConnectionError:
            if method != "GET":
                raise
        return request()  # a server that was stopped closes the connections that were kept

    def admin(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        answer = self.ask(method, path, body, **more)
        assert answer.ok, (method, path, answer.status_code, answer.text)
        return answer.json()

    def node(self, name: str, **more: Any) -> Any:
        """A new node of that name."""
        self.ask("DELETE", f"/api/v1/nodes/{name}")
        self.admin("POST", "/api/v1/nodes", {"metadata": {"name": name, **more.get("metadata", {})}, "spec": more.get("spec", {})})
        status = {"status": more.get("status", {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]})}
        return self.admin("PATCH", f"/api/v1/nodes/{name}/status", status, kind=STRATEGIC)

    def nodes(
        self,
        names: Iterable[str],
        *,
        ready: str = "True",
        labels: Mapping[str, str] = GPU,
        annotations: "Mapping[str, str] | None" = None,
        taints: "Iterable[Mapping[str, str]] | None" = (),
    ) -> None:
        """New nodes that pods fit on, and that have their name as the kubelet's label, too; `ready`: its condition. `taints`: all that they have; None leaves the one that the API
        server adds to each new node (node.kubernetes.io/not-ready), which the controller-manager takes away.
        """
        kubelet = {"type": "Ready", "status": ready, "reason": "KubeletReady" if ready == "True" else "KubeletNotReady"}
        status = {"conditions": [kubelet], "capacity": _CAPACITY, "allocatable": _CAPACITY}

        def make(name: str) -> None:
            metadata = {"labels": {HOSTNAME: name, **labels}, "annotations": dict(annotations or {})}
            one = {"metadata": {"name": name, **metadata}, "status": status}
            if self.ask("POST", "/api/v1/nodes", one).status_code == 409:
                self.ask("DELETE", f"/api/v1/nodes/{name}")
                self.admin("POST", "/api/v1/nodes", one)
            if taints is not None:
                self.taint(name, taints)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(make, names))

    def taint(self, name: str, taints: "Iterable[Mapping[str, str]]") -> Any:
        """All taints of a node, whatever it had."""
        listed = [dict(one) for one in taints]
        return self.admin("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": listed or None}}, kind=MERGE)

    def remove_taint(self, name: str, key: str) -> None:
        """Whatever its value and effect; what others write meanwhile stays."""
        while True:
            node = self.get(name)
            others = [one for one in node["spec"].get("taints", []) if one["key"] != key]
            body = {"metadata": {"resourceVersion": node["metadata"]["resourceVersion"]}, "spec": {"taints": others or None}}
            answer = self.ask("PATCH", f"/api/v1/nodes/{name}", body, kind=MERGE)
            if answer.status_code != 409:
                answer.raise_for_status()
                return

    def taints(self, name: str) -> "list[dict[str, str]]":
        """Of a node, as they are now."""
        return list(self.get(name)["spec"].get("taints", []))

    def pod(self, name: str, **spec: Any) -> Any:
        """A new pod of namespace default, for the scheduler; `spec`: such as nodeName, nodeSelector, tolerations."""
        body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "job", "image": "none"}], **spec}}
        return self.admin("POST", "/api/v1/namespaces/default/pods", body)

    def node_of(self, pod: str) -> str:
        """The node that a pod of namespace default is bound to; "" while it is Pending, and where there is no such pod."""
        answer = self.ask("GET", f"/api/v1/namespaces/default/pods/{pod}")
        return str(answer.json()["spec"].get("nodeName", "")) if answer.ok else ""

    def get(self, name: str) -> Any:
        return self.admin("GET", f"/api/v1/nodes/{name}")

    def token(self, node: str, *, bound: str = "Pod", seconds: int = 3600) -> str:
        """Of the daemon's service account: bound to a pod of `node`, to the `Node`, or to nothing ("")."""
        ask: dict[str, Any] = {"spec": {"expirationSeconds": seconds, "audiences": []}}
        if bound == "Pod":
            path, pod = "/api/v1/namespaces/hostagent/pods", f"hostagent-{node}-{os.urandom(3).hex()}"
            spec = {"nodeName": node, "serviceAccountName": "hostagent", "containers": [{"name": "daemon", "image": "none"}]}
            made = self.admin("POST", path, {"metadata": {"name": pod}, "spec": spec})
            ask["spec"]["boundObjectRef"] = {"kind": "Pod", "apiVersion": "v1", "name": pod, "uid": made["metadata"]["uid"]}
        elif bound:
            ask["spec"]["boundObjectRef"] = {"kind": "Node", "apiVersion": "v1", "name": node, "uid": self.get(node)["metadata"]["uid"]}
        return self._token("hostagent", "hostagent", ask)

    def token_of(self, namespace: str, account: str, *, seconds: int = 3600) -> str:
        """Of any service account, bound to nothing; the account is made where there is none."""
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        self.ask("POST", accounts, {"metadata": {"name": account}})
        return self._token(namespace, account, {"spec": {"expirationSeconds": seconds, "audiences": []}})

    def _token(self, namespace: str, account: str, ask: Any) -> str:
        answer = self.admin("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", ask)
        return str(answer["status"]["token"])

    def kubeconfig(self, path: Path, token: str = ADMIN, server: str = "") -> Path:
        """For `token`, readable by root alone."""
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "tests",
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
            "clusters": [{"name": "tests", "cluster": {"server": server or self.url, "certificate-authority": self.ca}}],
            "users": [{"name": "tests", "user": {"token": token}}],
        }
        path.write_text(json.dumps(document))
        path.chmod(0o600)
        return path

    @contextlib.contextmanager
    def running(self, *names: str) -> "Iterator[None]":
        """With `SCHEDULER`, `CONTROLLERS`, or both."""
        folder = Path(self.folder)
        config = self.kubeconfig(folder / "admin.kubeconfig")
        try:
            for name in names:
                self.parts[name] = Part([program(name), "--kubeconfig", config, *_MORE[name]], folder / f"{name}.log")
            yield
        finally:
            for name in names:
                if name in self.parts:
                    self.parts.pop(name).end()

    @contextlib.contextmanager
    def paused(self, name: str = SERVER) -> "Iterator[None]":
        """One program is stopped (SIGSTOP): connections stay open and silent."""
        self.parts[name].pause()
        try:
            yield
        finally:
            self.parts[name].resume()

    @contextlib.contextmanager
    def ended(self, name: str = SERVER) -> "Iterator[None]":
        """One program is killed, and on leaving started again, on the same port and with the same data."""
        self.parts[name].end()
        try:
            yield
        finally:
            self.parts[name].start()
            self.wait_ready()

    def wait_ready(self, within_s: float = 60) -> None:
        """Until the API server works."""
        ends = time.monotonic() + within_s
        while time.monotonic() < ends:
            for one in self.parts.values():
                assert one.process.poll() is None, one.tail
            with contextlib.suppress(OSError, requests.RequestException, ssl.SSLError):
                if self.ask("GET", "/readyz").ok:
                    return
            time.sleep(0.1)
        raise AssertionError(self.parts[SERVER].tail)


#: Pods need no account that is there.
_NO_ACCOUNTS = "--disable-admission-plugins=ServiceAccount"
#: No pod is evicted and no node marked because no kubelet writes: an hour of grace.
_MORE = {
    SCHEDULER: ("--leader-elect=false", "--secure-port=0"),
    CONTROLLERS: ("--leader-elect=false", "--secure-port=0", "--node-monitor-grace-period=1h", "--node-startup-grace-period=1h"),
}


def acting_as(user: str, groups: Iterable[str] = (), **extra: str) -> "dict[str, str]":
    """Headers by which the administrator acts as another user. Keys of `extra` may have any characters. One group at most: a header
    stands once.
    """
    listed = list(groups)
    assert len(listed) <= 1
    named = {f"Impersonate-Extra-{quote(key, safe='')}": value for key, value in extra.items()}
    return {"Impersonate-User": user, **({"Impersonate-Group": listed[0]} if listed else {}), **named}


def acting_as_agent(node: str) -> "dict[str, str]":
    """As the daemon's account in a pod of `node`: the policy of daemonset/base is evaluated as for its token."""
    return acting_as(_ACCOUNT, **{"authentication.kubernetes.io/node-name": node})


def objects(folder: Path) -> Iterator[Any]:
    """What a kustomization of resources alone holds, in its order; `tests.real.manifests.rendered` takes any."""
    document = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert not document.keys() - {"apiVersion", "kind", "sortOptions", "resources"}, folder
    for name in document["resources"]:
        path = folder / name
        yield from objects(path) if path.is_dir() else yaml.safe_load_all(path.read_text())


def apply(cluster: Cluster, folder: str) -> None:
    """What a kustomization below daemonset holds, in its order."""
    for one in objects(ROOT / "daemonset" / folder):
        group, version = one["apiVersion"].rpartition("/")[::2]
        place = f"/apis/{group}/{version}" if group else f"/api/{version}"
        space = f"/namespaces/{one['metadata']['namespace']}" if "namespace" in one["metadata"] else ""
        kind = one["kind"].lower()
        plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
        answer = cluster.ask("POST", f"{place}{space}/{plural}", one)
        assert answer.status_code in (201, 409), answer.text


def apply_base(cluster: Cluster) -> None:
    """The daemon's account, policy and right; then wait until the policy is in force."""
    apply(cluster, "binding")
    cluster.node("probe")
    token, ends = cluster.token("probe"), time.monotonic() + 30
    while _may_label(cluster, token, str(time.monotonic_ns())):
        assert time.monotonic() < ends, "the policy is not in force after 30 s"
        time.sleep(0.1)


def _may_label(cluster: Cluster, token: str, value: str) -> bool:
    foreign = {"metadata": {"labels": {"example.com/foreign": value}}}
    return cluster.ask("PATCH", "/api/v1/nodes/probe/status", foreign, token=token, kind="application/strategic-merge-patch+json").ok


@contextlib.contextmanager
def started(folder: Path, more: Iterable[str] = (), *, flags: Iterable[str] = (), server: str = "") -> "Iterator[Cluster]":
    """A control plane of its own, ended on leaving. `more`: `SCHEDULER`, `CONTROLLERS`. `flags`: more of the API server's. `server`: another
    one than that of the tests' control plane.
    """
    etcd_port, peer_port, api_port = _ports(3)
    owner = os.getpid()
    folder.mkdir(parents=True, exist_ok=True)
    tokens = folder / "tokens.csv"
    tokens.write_text(f'{ADMIN},admin,admin,"system:masters"\n')
    tokens.chmod(0o600)
    subprocess.run(["openssl", "genrsa", "-out", str(folder / "sa.key"), "2048"], check=True, capture_output=True)
    etcd, server = program("etcd"), server or program(SERVER)
    peer, client = f"http://127.0.0.1:{peer_port}", f"http://127.0.0.1:{etcd_port}"
    cluster = Cluster(f"https://127.0.0.1:{api_port}", str(folder / "certs" / "apiserver.crt"), str(folder), {})
    try:
        options = ["--data-dir", folder / "etcd", "--listen-client-urls", client, "--advertise-client-urls", client, "--unsafe-no-fsync"]
        peers = ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
        cluster.parts["etcd"] = Part([etcd, *options, *peers, _ETCD_QUOTA], folder / "etcd.log")
        cluster.parts[SERVER] = Part([server, *server_flags(folder, client, api_port), _NO_ACCOUNTS, *flags], folder / "apiserver.log")
        cluster.wait_ready()
        apply_base(cluster)
        with cluster.running(*more):
            yield cluster
    finally:
        if os.getpid() == owner:  # a fork of the tests' process that ends comes here, too
            for one in cluster.parts.values():
                one.end()
            shutil.rmtree(folder / "etcd", ignore_errors=True)


def server_flags(folder: Path, etcd: str, port: int) -> list[str]:
    """Of an API server on loopback, with the files tokens.csv and sa.key of `folder`; its certificates come below that."""
    key = folder / "sa.key"
    return [
        f"--etcd-servers={etcd}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={folder / 'certs'}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
    ]


def _ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        lines = [held.enter_context(socket.socket()) for _ in range(count)]
        for line in lines:
            line.bind(("127.0.0.1", 0))
        return [line.getsockname()[1] for line in lines]


def claims(token: str) -> Any:
    """What a token says of its bearer."""
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
