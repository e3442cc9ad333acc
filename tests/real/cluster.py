"""A real API server over a real etcd on ports of this machine, for tests: started once, shared by all, ended with the tests.

It is asked as an administrator by a static token; the daemon under test has a real token that is bound to a pod of a node (TokenRequest).
"""

import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import requests
import yaml

from tests.real.conftest import need_real

ROOT = Path(__file__).parents[2]
_ADMIN = "admin-of-the-tests"
_ACCOUNT = "system:serviceaccount:hostagent:hostagent"


def program(name: str) -> str:
    """`name` of the control plane: where envtest looks for it, else what install_kubernetes.sh built."""
    named = os.environ.get("TEST_ASSET_" + name.upper().replace("-", "_"), "")
    assets = os.environ.get("KUBEBUILDER_ASSETS", "")
    given = named or (os.path.join(assets, name) if assets else "")
    return need_real(given or f"kubernetes-1.35/{name}", "bash tests/real/install_kubernetes.sh")


class Cluster(NamedTuple):
    """Where it answers, and the file with the authority of its certificate."""

    url: str
    ca: str
    folder: str

    def ask(self, method: str, path: str, body: Any = None, *, token: str = _ADMIN, kind: str = "application/json") -> requests.Response:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        data = None if body is None else json.dumps(body)
        return requests.request(method, self.url + path, data=data, headers=headers, verify=self.ca, timeout=20)

    def admin(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        answer = self.ask(method, path, body, **more)
        assert answer.ok, (method, path, answer.status_code, answer.text)
        return answer.json()

    def node(self, name: str, **more: Any) -> Any:
        """A new node of that name."""
        self.ask("DELETE", f"/api/v1/nodes/{name}")
        self.admin("POST", "/api/v1/nodes", {"metadata": {"name": name, **more.get("metadata", {})}, "spec": more.get("spec", {})})
        status = {"status": more.get("status", {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]})}
        return self.admin("PATCH", f"/api/v1/nodes/{name}/status", status, kind="application/strategic-merge-patch+json")

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
        answer = self.admin("POST", "/api/v1/namespaces/hostagent/serviceaccounts/hostagent/token", ask)
        return str(answer["status"]["token"])

    def kubeconfig(self, path: Path, token: str, server: str = "") -> Path:
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


def objects(folder: Path) -> Iterator[Any]:
    """What a kustomization holds, in its order."""
    for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
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
def started(folder: Path) -> Any:
    """A control plane of its own, ended on leaving."""
    etcd_port, peer_port, api_port = _ports(3)
    folder.mkdir(parents=True, exist_ok=True)
    tokens, key = folder / "tokens.csv", folder / "sa.key"
    tokens.write_text(f'{_ADMIN},admin,admin,"system:masters"\n')
    tokens.chmod(0o600)
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    etcd, server = program("etcd"), program("kube-apiserver")
    peer, client = f"http://127.0.0.1:{peer_port}", f"http://127.0.0.1:{etcd_port}"
    running = []
    try:
        options = ["--data-dir", folder / "etcd", "--listen-client-urls", client, "--advertise-client-urls", client, "--unsafe-no-fsync"]
        peers = ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
        running.append(_start([etcd, *options, *peers], folder / "etcd.log"))
        running.append(_start([server, *_flags(folder, client, api_port, tokens, key)], folder / "apiserver.log"))
        cluster = Cluster(f"https://127.0.0.1:{api_port}", str(folder / "certs" / "apiserver.crt"), str(folder))
        _wait_ready(cluster, running, folder)
        apply_base(cluster)
        yield cluster
    finally:
        for one in running:
            one.kill()
            one.wait()
        shutil.rmtree(folder / "etcd", ignore_errors=True)


def _flags(folder: Path, etcd: str, port: int, tokens: Path, key: Path) -> list[str]:
    return [
        f"--etcd-servers={etcd}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={folder / 'certs'}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--disable-admission-plugins=ServiceAccount",
        f"--token-auth-file={tokens}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
    ]


def _start(argv: list[Any], log: Path) -> "subprocess.Popen[bytes]":
    """It ends when this process does, however that ends."""
    with log.open("wb") as stream:
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *map(str, argv)], stdout=stream, stderr=stream, stdin=subprocess.DEVNULL)


def _wait_ready(cluster: Cluster, running: Any, folder: Path) -> None:
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        assert all(one.poll() is None for one in running), (folder / "apiserver.log").read_text()[-2000:]
        with contextlib.suppress(OSError, requests.RequestException, ssl.SSLError):
            if cluster.ask("GET", "/readyz").ok:
                return
        time.sleep(0.1)
    raise AssertionError((folder / "apiserver.log").read_text()[-2000:])


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
