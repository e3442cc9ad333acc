"""The gate's questions to a real API server: counts, pods by node and all at once, rights, and slices of GPUs."""

import contextlib
import os
import time

import pytest

from hostagent.core.errors import HostagentError
from hostagent.gate import Request
from hostagent.gate.backends import kubernetes
from hostagent.gate.backends.kubernetes import Kubernetes
from hostagent.kube.access import access_to
from hostagent.kube.api import Api
from tests.kubenodes import GPU, PREFIX, node, stamp

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="files of root alone are obeyed: run 'sudo make test'")]
NODES, PODS = "/api/v1/nodes", "/api/v1/namespaces/default/pods"


@pytest.fixture
def made(cluster):
    """Nodes that only these tests select, and pods on them; both gone after the test."""
    nodes, pods = [], []

    def make(name, taken=0, phase="", **spec):
        one = node(name)
        one["metadata"]["annotations"][f"{PREFIX}/heartbeat"] = stamp(time.time())
        one["metadata"]["labels"]["of"] = "gate-kube"
        cluster.admin("POST", NODES, one)
        nodes.append(name)
        cluster.taint(name, ())
        if taken:
            resources = {"requests": {GPU: str(taken)}, "limits": {GPU: str(taken)}}
            container = {"name": "c", "image": "none", "resources": resources}
            pods.append(f"on-{name}")
            cluster.pod(f"on-{name}", nodeName=name, containers=[container], **spec)
        if phase:
            cluster.admin("PATCH", f"{PODS}/on-{name}/status", {"status": {"phase": phase}}, kind="application/merge-patch+json")

    yield make
    for name in pods:
        cluster.ask("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})
    for name in nodes:
        cluster.ask("DELETE", f"{NODES}/{name}")


@pytest.fixture
def asking(cluster, tmp_path):
    """A `Kubernetes` over the real server, for these nodes; `token` of another account than the administrator's."""
    with contextlib.ExitStack() as closing:

        def ask(nodes=1, gpus=8, token="", **request):
            path = cluster.kubeconfig(tmp_path / "kubeconfig", *([token] if token else []))
            access = access_to(str(path), "tests")
            wanted = Request(nodes, gpus, node_selector=("of=gate-kube",), **request)
            found = Kubernetes(lambda: Api(access, "hostagent/1"), wanted, PREFIX, False)
            closing.callback(found.close)
            return found

        yield ask


def candidates(found):
    return [one for page in found.pages() for one in page]


def free(found):
    return {name: one.gpus for name, one in found.free(candidates(found)).items()}


def test_the_clock_is_the_servers(asking):
    assert abs(asking().now - time.time()) < 5


def test_every_node_of_the_cluster_is_counted(asking, made, cluster):
    for name in ("gk-a", "gk-b", "gk-c"):
        made(name)
    found = asking()
    before = found.not_examined()
    assert len(candidates(found)) == 3
    assert (before, found.not_examined()) == (len(cluster.admin("GET", NODES)["items"]), before - 3)


def test_nodes_are_judged_as_they_are_on_the_server(asking, made):
    made("gk-a")
    (one,) = candidates(asking(nodes=2))
    assert (one.single_node, one.multi_node, one.own_reasons, one.gpu_count) == ("ready", "ready", (), 8)


def test_pods_that_have_not_ended_take_gpus_by_node_and_in_one_list_alike(asking, made, monkeypatch):
    made("gk-a", 3)
    made("gk-b", 8, "Succeeded")
    made("gk-c", 2, "Running")
    made("gk-d")
    by_node = free(asking())
    monkeypatch.setattr(kubernetes, "_ONE_BY_ONE", 0)
    assert by_node == free(asking()) == {"gk-a": 5, "gk-b": 8, "gk-c": 6, "gk-d": 8}


def bound(cluster, name, *rules):
    """The token of an account with these rules."""
    api = "/apis/rbac.authorization.k8s.io/v1"
    role = {"metadata": {"name": name}, "rules": [*rules]}
    given = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }
    cluster.ask("POST", f"{api}/clusterroles", role)
    cluster.ask("POST", f"{api}/clusterrolebindings", given)
    return cluster.token_of("default", name)


OF_NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
OF_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


def refusal(call):
    with pytest.raises(HostagentError) as raised:
        call()
    return raised.value.next_step


def test_an_account_without_rights_gets_the_rule_that_is_missing(asking, made, cluster):
    made("gk-a", 1)
    nothing, nodes_alone = bound(cluster, "gk-nothing"), bound(cluster, "gk-nodes", OF_NODES)
    of_nodes = refusal(lambda: candidates(asking(token=nothing)))
    of_pods = refusal(lambda: free(asking(token=nodes_alone)))
    assert ('resources: ["nodes"], verbs: ["list"]' in of_nodes, 'resources: ["pods"], verbs: ["list"]' in of_pods) == (True, True)


def test_two_rules_are_all_that_is_needed(asking, made, cluster):
    made("gk-a", 1)
    found = asking(token=bound(cluster, "gk-both", OF_NODES, OF_PODS))
    assert (free(found), found.not_examined() > 0) == ({"gk-a": 7}, True)


def test_slices_of_gpus_say_that_they_are_handed_out_by_dra(asking, made, cluster):
    made("gk-a")
    allocatable = {"status": {"allocatable": {GPU: None}, "capacity": {GPU: None}}}
    cluster.admin("PATCH", f"{NODES}/gk-a/status", allocatable, kind="application/merge-patch+json")
    pool = {"name": "gk-a", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "nodeName": "gk-a", "pool": pool, "devices": [{"name": "gpu-0"}]}
    path = "/apis/resource.k8s.io/v1/resourceslices"
    cluster.admin("POST", path, {"metadata": {"name": "gk-a"}, "spec": spec})
    try:
        (one,) = candidates(asking())
    finally:
        cluster.ask("DELETE", f"{path}/gk-a")
    assert [reason.code for reason in one.own_reasons] == ["Dra"]
