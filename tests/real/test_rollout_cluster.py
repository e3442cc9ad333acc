"""docs/rollout.md, its half about Kubernetes: the commands as they stand, from a clone to a cluster, through an upgrade, and out again.

The control plane, kubectl and Helm are real. No container starts: kwok says that pods run. What their containers would do is done by a real
daemon and a real controller on this machine, with tokens bound to those pods, and on the other nodes by virtual agents.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading

import pytest

from hostagent import __version__
from tests.real.cluster import CONTROLLERS, GPU, HOSTNAME, MERGE, SCHEDULER, STRATEGIC, program, started
from tests.real.conftest import need_real
from tests.real.controlled import SOON_S, has, is_open, label, mark, whole
from tests.real.controllerrun import Agents, Controller
from tests.real.daemonrun import Daemon, eventually
from tests.real.kwokrun import MANAGED, kwok
from tests.real.manifests import kustomized, named
from tests.real.readinessrules import KEYS, NOT_READY
from tests.real.test_rollout_page import CLUSTER_BLOCKS as BLOCKS
from tests.real.test_rollout_page import ROOT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="files of root alone are obeyed: run 'sudo make test'")
IMAGE, NEXT = f"registry.example/gpu/hostagent:{__version__}", "99.0.0"
#: Nodes with a GPU: a real daemon judges a recorded host as the first. And those that join later, more than there were.
NODES, NEW = ["gpu-01", "gpu-02", "gpu-03"], ["gpu-04", "gpu-05", "gpu-06", "gpu-07"]
_LABELS = {"kubernetes.io/os": "linux", HOSTNAME: ""}
_TAPE = ROOT / "tests/hosts/hgx-h100-roce/tape.json"
_OF_OTHERS = {
    "metadata": {"labels": {"example.com/rack": "7"}, "annotations": {"example.com/owner": "ml"}},
    "spec": {"taints": [{"key": "example.com/team", "value": "ml", "effect": "NoSchedule"}]},
}
_CAPACITY = {"cpu": "64", "memory": "512Gi", "pods": "110"}
_STATUS = {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}], "capacity": _CAPACITY, "allocatable": _CAPACITY}
_TOOLS = {
    "kubectl": ("kubernetes-1.35/kubectl", "bash tests/real/install_kubernetes.sh"),
    "helm": ("cluster-tools/helm", "bash tests/real/install_cluster_tools.sh"),
}


def test_each_block_about_kubernetes_is_run_here():
    assert set(BLOCKS) == {*KUBECTL, *HELM}


class Site:
    """An administrator's clone, and the cluster that the page's commands reach."""

    def __init__(self, cluster, folder):
        self.cluster, self.clone, self._links = cluster, folder / "clone", folder / "links"
        shutil.copytree(ROOT / "daemonset", self.clone / "daemonset")
        self._links.mkdir()
        for name, (path, how) in _TOOLS.items():
            (self._links / name).symlink_to(program(name) if name == "kubectl" else need_real(path, how))
        command = self._links / "hostagent"
        command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m hostagent "$@"\n')
        command.chmod(0o755)
        self._config = cluster.kubeconfig(folder / "admin.conf")
        self.agents = Agents(cluster, [*NODES, *NEW])

    def run(self, name):
        """A block of the page, and what it prints."""
        return self.typed(BLOCKS[name])

    def typed(self, script):
        environment = {"PATH": f"{self._links}:{os.environ['PATH']}", "HOME": str(self.clone.parent), "KUBECONFIG": str(self._config)}
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=self.clone,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout

    def pods(self, name):
        """By node those that run, of the agent or of the controller."""
        answer = self.cluster.ask("GET", f"/api/v1/namespaces/hostagent/pods?labelSelector=app.kubernetes.io/name={name}")
        found = [
            one for one in answer.json()["items"] if one["status"].get("phase") == "Running" and "deletionTimestamp" not in one["metadata"]
        ]
        return {one["spec"]["nodeName"]: one for one in found}

    def image(self, pod):
        return pod["spec"]["containers"][0]["image"]

    def token(self, pod):
        """As the kubelet asks for it, for the pod's volume: of its account, bound to the pod."""
        name = pod["spec"]["serviceAccountName"]
        bound = {"kind": "Pod", "apiVersion": "v1", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        ask = {"spec": {"expirationSeconds": 3600, "audiences": [], "boundObjectRef": bound}}
        return self.cluster.admin("POST", f"/api/v1/namespaces/hostagent/serviceaccounts/{name}/token", ask)["status"]["token"]

    def nodes(self, *names):
        return {name: whole(self.cluster.get(name)) for name in names or NODES}

    def is_ready(self, name):
        return label(self.cluster.get(name)) == "true"

    def left(self):
        """Objects of any kind, wherever, with hostagent in the name or in the label that all of ours have."""
        kinds = ",".join(self.typed("kubectl api-resources --verbs=list -o name").split())
        labelled = self.typed(f"kubectl get {kinds} -A -l 'app.kubernetes.io/name in (hostagent, hostagent-controller)' -o name")
        named = [line for line in self.typed(f"kubectl get {kinds} -A -o name").splitlines() if "hostagent" in line]
        return {*labelled.split(), *(one for one in named if not one.startswith("event"))}  # events end after an hour


@pytest.fixture
def site(tmp_path):
    with started(tmp_path / "cluster", [SCHEDULER, CONTROLLERS]) as cluster, kwok(cluster):
        made = Site(cluster, tmp_path)
        cluster.ask("DELETE", "/api/v1/nodes/probe")
        made.typed("kubectl -n hostagent delete pods --all --force --grace-period=0 && kubectl delete -k daemonset/binding")
        for name in (*NODES, "cpu-01"):
            labels = {**_LABELS, HOSTNAME: name, **(GPU if name in NODES else {})}
            cluster.nodes([name], labels=labels, annotations=MANAGED)
        cluster.admin("PATCH", f"/api/v1/nodes/{NODES[1]}", _OF_OTHERS, kind=MERGE)
        other = {"status": {"conditions": [{"type": "example.com/Cooled", "status": "True", "reason": "Cold"}]}}
        cluster.admin("PATCH", f"/api/v1/nodes/{NODES[1]}/status", other, kind=STRATEGIC)
        eventually(lambda: all(_is_settled(cluster.get(name)["metadata"]) for name in NODES))
        yield made


def _is_settled(metadata):
    """The controller-manager has written all that it writes to a new node."""
    return "node.alpha.kubernetes.io/ttl" in metadata["annotations"] and "beta.kubernetes.io/os" in metadata["labels"]


class Mounted:
    """A ConfigMap as the kubelet mounts it: each change is a folder of its own, put in place by one link."""

    def __init__(self, site, folder):
        self._site, self._folder, self._count = site, folder, 0
        folder.mkdir()
        self.profile = folder / "profile.yaml"
        self.sync()
        self.profile.symlink_to("..data/profile.yaml")

    def sync(self):
        self._count += 1
        place = self._folder / f"..{self._count}"
        place.mkdir()
        data = self._site.cluster.admin("GET", "/api/v1/namespaces/hostagent/configmaps/hostagent-profile")["data"]
        for name, text in data.items():
            (place / name).write_text(text)
        (self._folder / "..new").symlink_to(place.name)
        (self._folder / "..new").rename(self._folder / "..data")


@contextlib.contextmanager
def container(site, name, node, made):
    """`made(pod)` is the process of a pod's container, and ends when the pod does, by SIGTERM."""
    pod, over = site.pods(name)[node], threading.Event()

    def ends_with_its_pod(process):
        while not over.wait(0.1):
            if site.pods(name).get(node, {}).get("metadata", {}).get("uid") != pod["metadata"]["uid"]:
                process.end(10)
                return

    with made(pod) as process:
        thread = threading.Thread(target=ends_with_its_pod, args=(process,))
        thread.start()
        try:
            yield process
            thread.join(20)  # each block that a process is for ends its pod
        finally:
            over.set()
            thread.join()
    assert process.process.returncode == 0


def daemon(site, folder, profile):
    """As the DaemonSet starts it, but for the host: a recorded one."""

    def made(pod):
        assert "--profile=/etc/hostagent/profile.yaml" in pod["spec"]["containers"][0]["args"]
        config = site.cluster.kubeconfig(folder / f"{pod['metadata']['name']}.conf", site.token(pod))
        return Daemon(folder, "--from", _TAPE, "--node-name", pod["spec"]["nodeName"], "--kubeconfig", config, "--profile", profile)

    return container(site, "hostagent", NODES[0], made)


def controller(site, folder):
    """As the Deployment starts it."""

    def made(pod):
        folder.mkdir(exist_ok=True)
        return Controller(folder, "--kubeconfig", site.cluster.kubeconfig(folder / "conf", site.token(pod)))

    return container(site, "hostagent-controller", next(iter(site.pods("hostagent-controller"))), made)


def each_gpu_node_has_an_agent(site):
    eventually(lambda: set(site.pods("hostagent")) == set(NODES))
    assert {site.image(pod) for pod in site.pods("hostagent").values()} == {IMAGE}


def the_profile_is_read_again(site, daemon, mounted):
    """Of a ConfigMap, without a restart: what it asks for is judged from the next pass on."""

    def version():
        """Where the profile of the last pass has it from."""
        return json.loads((daemon.state / "report.json").read_text())["profile"]["origin"]["driver.version"]

    assert version() == "any"
    mounted.sync()
    eventually(lambda: version() != "any", 60)
    assert site.is_ready(NODES[0])


def new_nodes_are_closed_until_proven(site):
    """They register with the taint. The agent tolerates it, a job does not, and the controller takes it over and away with the first verdict."""
    for name in NEW:
        metadata = {"name": name, "labels": {**_LABELS, HOSTNAME: name, **GPU}, "annotations": MANAGED}
        body = {"metadata": metadata, "spec": {"taints": [{"key": NOT_READY, "effect": "NoSchedule"}]}, "status": _STATUS}
        site.cluster.admin("POST", "/api/v1/nodes", body)
    site.cluster.pod("job", nodeSelector={HOSTNAME: NEW[0]})
    eventually(lambda: set(NEW) <= set(site.pods("hostagent")))
    eventually(lambda: all(mark(site.cluster.get(name)).startswith(NOT_READY) for name in NEW), SOON_S)
    site.agents.first_pass(*NEW)
    assert not site.cluster.node_of("job")
    site.agents.ready(*NEW)
    eventually(lambda: not any(has(site.cluster.get(name), key) for name in NEW for key in KEYS), SOON_S)
    eventually(lambda: site.cluster.node_of("job") == NEW[0])
    site.cluster.admin("DELETE", "/api/v1/namespaces/default/pods/job")


def one_is_closed(site):
    """The second, of which a GPU is gone."""
    site.agents.not_ready(NODES[1])
    eventually(lambda: all(has(site.cluster.get(NODES[1]), key) for key in KEYS), SOON_S)
    assert not any(has(site.cluster.get(name), key) for name in (NODES[0], NODES[2]) for key in KEYS)


def verdicts(site):
    """All that the nodes have of hostagent, with the times of transitions, but for heartbeats."""
    found = {}
    for name, node in site.nodes(*NODES, *NEW).items():
        listed = [{**one, "lastHeartbeatTime": None} for one in node["status"]["conditions"] if one["type"].startswith("hostagent.dev/")]
        marks = {key: value for key, value in node["metadata"]["annotations"].items() if not key.endswith("/heartbeat")}
        found[name] = (node["metadata"]["labels"], marks, node["spec"].get("taints"), sorted(listed, key=lambda one: one["type"]))
    return found


def nothing_is_left(site, before):
    for name, node in site.nodes().items():
        assert node == before[name]
    assert not site.left()
    assert not [name for name in (*NEW, "cpu-01") if "hostagent" in json.dumps(whole(site.cluster.get(name)))]


def newer(site):
    """The clone at a newer tag, and its image in the registry."""
    for path in (site.clone / "daemonset").rglob("*.yaml"):
        path.write_text(re.sub(rf"(hostagent:|[vV]ersion: \"?){re.escape(__version__)}", rf"\g<1>{NEXT}", path.read_text()))


def test_what_the_page_has_as_comments_in_the_kustomization_can_be_taken_in(tmp_path):
    text = re.search(r"site/kustomization.yaml <<'END'\n(.*?)END\n", BLOCKS["k8s-site"], re.DOTALL)[1]
    shutil.copytree(ROOT / "daemonset", tmp_path / "daemonset")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/kustomization.yaml").write_text(re.sub(r"^( *)# (?=- |components|patches|  - )", r"\1", text, flags=re.MULTILINE))
    (tmp_path / "site/profile.yaml").write_text("name: site\n")
    objects = named(kustomized(tmp_path / "site"))
    args = objects["apps/v1", "DaemonSet", "hostagent", "hostagent"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert {"--kubernetes-events", "--interval=120"} < set(args)
    assert ("apps/v1", "Deployment", "hostagent", "hostagent-controller") in objects


#: The blocks, in the order in which the tests type them.
KUBECTL = ("k8s-site", "k8s-apply", "k8s-profile", "k8s-controller", "k8s-upgrade", "k8s-remove")
HELM = ("k8s-site", "k8s-helm", "k8s-helm-upgrade", "k8s-helm-remove")


def test_kubectl_from_a_clone_to_a_cluster_and_out_again(site, tmp_path):
    before = site.nodes()
    assert "registry.example/gpu/hostagent" in site.run("k8s-site")
    assert not site.left()
    printed = site.run("k8s-apply")
    assert all(name in printed for name in NODES)
    assert {"namespace/hostagent", "daemonset.apps/hostagent"} < site.left()
    each_gpu_node_has_an_agent(site)
    mounted = Mounted(site, tmp_path / "mounted")
    with daemon(site, tmp_path, mounted.profile) as first:
        site.agents.ready(*NODES[1:])
        eventually(lambda: site.is_ready(NODES[0]), 60)
        assert set(site.nodes()[NODES[0]]["metadata"]["labels"]) > {"hostagent.dev/gpu-count", "hostagent.dev/fabric-class"}
        site.run("k8s-profile")
        the_profile_is_read_again(site, first, mounted)
        site.run("k8s-controller")
        eventually(lambda: site.pods("hostagent-controller"))
        with controller(site, tmp_path / "controller") as one:
            one.leads()
            one_is_closed(site)
            new_nodes_are_closed_until_proven(site)
            before_upgrade = verdicts(site)
            newer(site)
            site.run("k8s-upgrade")
    eventually(lambda: {site.image(pod).rpartition(":")[2] for pod in site.pods("hostagent").values()} == {NEXT})
    with daemon(site, tmp_path, mounted.profile) as again, controller(site, tmp_path / "newer") as one:
        eventually(lambda: again.answers("/readyz"), 60)
        one.leads()
        assert verdicts(site) == before_upgrade
        assert "taint=" not in one.said()
        printed = site.run("k8s-remove")
    assert "nothing of hostagent is left" in printed
    nothing_is_left(site, before)


@pytest.mark.full
def test_helm_from_a_clone_to_a_cluster_and_out_again(site, tmp_path):
    before = site.nodes()
    site.run("k8s-site")
    site.run("k8s-helm")
    each_gpu_node_has_an_agent(site)
    site.agents.ready(*NODES)
    newer(site)
    site.run("k8s-helm-upgrade")
    eventually(lambda: {site.image(pod).rpartition(":")[2] for pod in site.pods("hostagent").values()} == {NEXT})
    eventually(lambda: site.pods("hostagent-controller"))
    with controller(site, tmp_path / "controller") as one:
        one.leads()
        one_is_closed(site)
        new_nodes_are_closed_until_proven(site)
        assert is_open(site.cluster.get(NODES[2]))
        site.run("k8s-helm-remove")
    nothing_is_left(site, before)
