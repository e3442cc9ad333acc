"""What the daemon's identity may change: its own words on its own node, judged by a real API server with the shipped policy."""

import copy
import random

import pytest

PREFIX = "hostagent.dev"
MERGE = "application/strategic-merge-patch+json"
NODE = "watched"
OWN = {"type": f"{PREFIX}/Ready", "status": "True", "reason": "Ready", "message": "m"}
FOREIGN = [
    {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is ready"},
    {"type": "KernelDeadlock", "status": "False", "reason": "None", "message": "no deadlock"},
]
STATUS = {
    "conditions": [*FOREIGN, OWN],
    "capacity": {"cpu": "8", "nvidia.com/gpu": "8"},
    "allocatable": {"cpu": "7", "nvidia.com/gpu": "8"},
    "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
    "images": [{"names": ["a:1"], "sizeBytes": 7}],
    "nodeInfo": {
        **dict.fromkeys(("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion"), "x"),
        **dict.fromkeys(("kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"), "x"),
    },
    "volumesInUse": ["v1"],
}
METADATA = {
    "labels": {"example.com/zone": "a", f"{PREFIX}/ready": "true", f"{PREFIX}/coverage": "full"},
    "annotations": {"example.com/note": "n", f"{PREFIX}/heartbeat": "h", f"{PREFIX}/closed": "silent"},
    "finalizers": ["example.com/kept"],
}


def meta(**parts):
    return {"metadata": parts}


def status(**parts):
    return {"status": parts}


def condition(**parts):
    return status(conditions=[parts])


MARKS = tuple(f"{PREFIX}/{name}" for name in ("closed", "tainted", "why"))
REFUSED = {
    "a foreign label added": meta(labels={"example.com/new": "x"}),
    "a foreign label changed": meta(labels={"example.com/zone": "b"}),
    "a foreign label removed": meta(labels={"example.com/zone": None}),
    "a label of Kubernetes": meta(labels={"kubernetes.io/hostname": "x"}),
    "a label that only begins like ours": meta(labels={f"{PREFIX}.example.com/ready": "x"}),
    "a role": meta(labels={"node-role.kubernetes.io/control-plane": ""}),
    "an isolating label": meta(labels={"node-restriction.kubernetes.io/x": "y"}),
    "a foreign annotation added": meta(annotations={"example.com/new": "x"}),
    "a foreign annotation changed": meta(annotations={"example.com/note": "x"}),
    "a foreign annotation removed": meta(annotations={"example.com/note": None}),
    "a mark of the controller added": meta(annotations={f"{PREFIX}/tainted": "x"}),
    "a mark of the controller changed": meta(annotations={f"{PREFIX}/closed": "x"}),
    "a mark of the controller removed": meta(annotations={f"{PREFIX}/closed": None}),
    "all annotations replaced": meta(annotations={"$patch": "replace", f"{PREFIX}/heartbeat": "x"}),
    "a finalizer added": meta(finalizers=["example.com/other"]),
    "a finalizer removed": {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/kept"]}},
    "an owner": meta(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]),
    "a foreign condition's status": condition(type="Ready", status="False"),
    "a foreign condition's reason": condition(type="Ready", reason="Other"),
    "a foreign condition's message": condition(type="Ready", message="other"),
    "a foreign condition's heartbeat": condition(type="Ready", lastHeartbeatTime="2026-01-01T00:00:00Z"),
    "a foreign condition's transition": condition(type="KernelDeadlock", lastTransitionTime="2026-01-01T00:00:00Z"),
    "a foreign condition added": condition(type="MemoryPressure", status="True"),
    "a condition without prefix": condition(type="hostagent", status="True"),
    "a condition that only begins like ours": condition(type=f"{PREFIX}.example.com/Ready", status="True"),
    "a foreign condition removed": condition(**{"$patch": "delete", "type": "KernelDeadlock"}),
    "all conditions replaced": status(conditions=[{"$patch": "replace"}, OWN]),
    "foreign conditions in another order": status(**{"$setElementOrder/conditions": [{"type": "KernelDeadlock"}, {"type": "Ready"}]}),
    "allocatable": status(allocatable={"nvidia.com/gpu": "1"}),
    "allocatable added": status(allocatable={"example.com/x": "1"}),
    "allocatable removed": status(allocatable={"cpu": None}),
    "capacity": status(capacity={"cpu": "99"}),
    "addresses": status(addresses=[{"type": "InternalIP", "address": "10.0.0.2"}]),
    "images": status(images=[{"names": ["b:1"], "sizeBytes": 1}]),
    "nodeInfo": status(nodeInfo={"kubeletVersion": "v9"}),
    "daemonEndpoints": status(daemonEndpoints={"kubeletEndpoint": {"Port": 1}}),
    "volumesInUse": status(volumesInUse=["v1", "v2"]),
    "volumesAttached": status(volumesAttached=[{"name": "v", "devicePath": "/dev/sdz"}]),
    "phase": status(phase="Terminated"),
    "runtime handlers": status(runtimeHandlers=[{"name": "nvidia"}]),
    "features": status(features={"supplementalGroupsPolicy": True}),
    "own words and one foreign label": {**condition(**OWN), **meta(labels={f"{PREFIX}/ready": "false", "example.com/zone": "b"})},
}
ACCEPTED = {
    "an own condition changed": condition(type=f"{PREFIX}/Ready", status="False", reason="GpuXid", message="x"),
    "an own condition added": condition(type=f"{PREFIX}/MultiNodeReady", status="Unknown"),
    "an own condition removed": condition(**{"$patch": "delete", "type": f"{PREFIX}/Ready"}),
    "an own label added": meta(labels={f"{PREFIX}/gpu-count": "8"}),
    "an own label changed": meta(labels={f"{PREFIX}/ready": "false"}),
    "an own label removed": meta(labels={f"{PREFIX}/coverage": None}),
    "an own annotation changed": meta(annotations={f"{PREFIX}/heartbeat": "i"}),
    "an own annotation removed": meta(annotations={f"{PREFIX}/heartbeat": None}),
    "nothing": {},
}
WITHOUT_EFFECT = {
    "a taint": {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}},
    "unschedulable": {"spec": {"unschedulable": True}},
    "the provider's id": {"spec": {"providerID": "x"}},
    "config, which the server drops": status(config={"error": "x"}),
}
OTHER_REQUESTS = {
    "reading its node": ("GET", f"/api/v1/nodes/{NODE}", None),
    "reading its status": ("GET", f"/api/v1/nodes/{NODE}/status", None),
    "listing nodes": ("GET", "/api/v1/nodes", None),
    "watching nodes": ("GET", "/api/v1/nodes?watch=1&timeoutSeconds=1", None),
    "a patch of the node itself": ("PATCH", f"/api/v1/nodes/{NODE}", meta(labels={f"{PREFIX}/ready": "x"})),
    "a new node": ("POST", "/api/v1/nodes", {"metadata": {"name": "new"}}),
    "deleting its node": ("DELETE", f"/api/v1/nodes/{NODE}", None),
    "its node's proxy": ("GET", f"/api/v1/nodes/{NODE}/proxy/", None),
    "pods": ("GET", "/api/v1/namespaces/hostagent/pods", None),
    "secrets": ("GET", "/api/v1/namespaces/hostagent/secrets", None),
    "leases": ("GET", f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODE}", None),
    "events": ("POST", "/api/v1/namespaces/default/events", {}),
    "tokens": ("POST", "/api/v1/namespaces/hostagent/serviceaccounts/hostagent/token", {"spec": {"audiences": []}}),
    "its own policy": ("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/hostagent-own-words", None),
}


@pytest.fixture
def node(cluster):
    """As others made it, with words of ours."""
    cluster.ask("PATCH", f"/api/v1/nodes/{NODE}", meta(finalizers=None), kind=MERGE)
    cluster.node(NODE, metadata=copy.deepcopy(METADATA), status=copy.deepcopy(STATUS))
    yield cluster.get(NODE)
    cluster.ask("PATCH", f"/api/v1/nodes/{NODE}", meta(finalizers=None), kind=MERGE)


@pytest.fixture(scope="module")
def token(cluster):
    cluster.node(NODE)
    return cluster.token(NODE)


def patch(cluster, body, token, name=NODE, kind=MERGE):
    return cluster.ask("PATCH", f"/api/v1/nodes/{name}/status", body, token=token, kind=kind)


def foreign(node):
    """The node without what is ours, and without what the server itself moves."""
    rest = copy.deepcopy(node)
    for name in ("managedFields", "resourceVersion"):
        rest["metadata"].pop(name, None)
    for name in ("labels", "annotations"):
        rest["metadata"][name] = {key: value for key, value in rest["metadata"].get(name, {}).items() if not is_own(key)}
    rest["status"]["conditions"] = [one for one in rest["status"]["conditions"] if not one["type"].startswith(f"{PREFIX}/")]
    return rest


def is_own(key):
    """Marks of the controller are not the daemon's."""
    return key.startswith(f"{PREFIX}/") and key not in MARKS


@pytest.mark.parametrize("what", REFUSED)
def test_refused(cluster, node, token, what):
    answer = patch(cluster, REFUSED[what], token)
    assert answer.status_code in (403, 422), answer.text
    assert cluster.get(NODE)["metadata"]["resourceVersion"] == node["metadata"]["resourceVersion"]


@pytest.mark.parametrize("what", ACCEPTED)
def test_accepted(cluster, node, token, what):
    answer = patch(cluster, ACCEPTED[what], token)
    assert answer.ok, answer.text
    assert foreign(cluster.get(NODE)) == foreign(node)


@pytest.mark.parametrize("what", WITHOUT_EFFECT)
def test_without_effect(cluster, node, token, what):
    patch(cluster, WITHOUT_EFFECT[what], token)
    assert foreign(cluster.get(NODE)) == foreign(node)


@pytest.mark.parametrize("what", OTHER_REQUESTS)
@pytest.mark.usefixtures("node")
def test_other_requests(cluster, token, what):
    method, path, body = OTHER_REQUESTS[what]
    assert cluster.ask(method, path, body, token=token, kind=MERGE if method == "PATCH" else "application/json").status_code == 403


@pytest.mark.usefixtures("node")
class TestWhoAsks:
    def test_a_pod_of_another_node_may_not(self, cluster):
        cluster.node("other")
        own = condition(type=f"{PREFIX}/Ready", status="False")
        assert patch(cluster, own, cluster.token("other")).status_code in (403, 422)
        assert patch(cluster, own, cluster.token("other"), name="other").ok

    def test_a_token_that_names_no_node_may_not(self, cluster):
        assert patch(cluster, condition(type=f"{PREFIX}/Ready", status="False"), cluster.token(NODE, bound="")).status_code in (403, 422)

    def test_a_token_that_is_bound_to_the_node_may(self, cluster):
        assert patch(cluster, condition(type=f"{PREFIX}/Ready", status="False"), cluster.token(NODE, bound="Node")).ok

    def test_a_node_that_is_made_anew_is_the_own_one_still(self, cluster, token):
        cluster.ask("PATCH", f"/api/v1/nodes/{NODE}", meta(finalizers=None), kind=MERGE)
        cluster.node(NODE)
        assert patch(cluster, condition(type=f"{PREFIX}/Ready", status="False"), token).ok

    def test_a_merge_patch_that_drops_the_conditions_of_others_is_refused(self, cluster, token):
        assert patch(cluster, status(conditions=[OWN]), token, kind="application/merge-patch+json").status_code in (403, 422)

    def test_a_json_patch_that_removes_one_is_refused(self, cluster, token):
        remove = [{"op": "remove", "path": "/status/conditions/0"}]
        assert patch(cluster, remove, token, kind="application/json-patch+json").status_code in (403, 422)

    def test_a_put_is_refused(self, cluster, token):
        body = cluster.get(NODE)
        assert cluster.ask("PUT", f"/api/v1/nodes/{NODE}/status", body, token=token).status_code == 403

    def test_server_side_apply_changes_own_words_alone(self, cluster, token):
        kind = "application/apply-patch+yaml"
        head = {"apiVersion": "v1", "kind": "Node"}
        path = f"/api/v1/nodes/{NODE}/status?fieldManager=x&force=true"
        own = {**head, "metadata": {"name": NODE}, **status(conditions=[OWN])}
        other = {**head, "metadata": {"name": NODE, "labels": {"example.com/zone": "b"}}}
        assert cluster.ask("PATCH", path, own, token=token, kind=kind).ok
        assert cluster.ask("PATCH", path, other, token=token, kind=kind).status_code in (403, 422)


def test_whatever_is_patched_changes_own_words_alone(cluster, node, token):
    """Several of the patches above at once, in one request: refused, or nothing that is another's differs afterwards."""
    draw = random.Random(7)
    parts = [*REFUSED.values(), *ACCEPTED.values(), *WITHOUT_EFFECT.values()]
    accepted = 0
    for _ in range(150):
        whole = {}
        for one in draw.sample(parts if draw.random() < 0.5 else list(ACCEPTED.values()), draw.randint(1, 4)):
            merge(whole, one)
        accepted += patch(cluster, whole, token).ok
        assert foreign(cluster.get(NODE)) == foreign(node), whole
    assert accepted > 20


def merge(whole, part):
    for key, value in part.items():
        if isinstance(value, dict) and isinstance(whole.get(key), dict):
            merge(whole[key], value)
        elif isinstance(value, list) and isinstance(whole.get(key), list):
            whole[key] = [*whole[key], *(one for one in value if one not in whole[key])]
        else:
            whole[key] = copy.deepcopy(value)
