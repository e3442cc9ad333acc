"""What the controller's account may do: each request that the controller makes, and no other, with the shipped roles on a real API server.

Known limit: taints are in the spec of a node, and RBAC has no right for a part of an object. So `patch` of nodes, which the controller needs,
would also let its account cordon a node or change any label; that the controller does not is shown by the tests of what it writes.
"""

import pytest

from tests.real.cluster import MERGE, STRATEGIC, apply
from tests.real.controllerrun import PREFIX, config
from tests.real.readinessrules import NOT_READY, RULES, apply_crd, remove_crd

NODE = "of-the-controller"
_NODE = f"/api/v1/nodes/{NODE}"
_EVENTS = "/api/v1/namespaces/default/events"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
_OWN = f"{_LEASES.format('hostagent')}/hostagent-controller"


def event(namespace="default", name="made-by-the-controller"):
    return {"metadata": {"name": name, "namespace": namespace}, "involvedObject": {"kind": "Node", "name": NODE, "uid": NODE}}


def lease(name="hostagent-controller"):
    return {"metadata": {"name": name}, "spec": {"holderIdentity": "x", "leaseDurationSeconds": 15}}


TAINT = {"spec": {"taints": [{"key": NOT_READY, "effect": "NoSchedule"}]}, "metadata": {"annotations": {f"{PREFIX}/tainted": NOT_READY}}}
CLOSE = {
    "metadata": {"labels": {f"{PREFIX}/ready": "unknown"}, "annotations": {f"{PREFIX}/closed": "silent"}},
    "status": {"conditions": [{"type": f"{PREFIX}/Ready", "status": "Unknown", "reason": "AgentSilent"}]},
}
#: In this order: the patches are of what was created before.
DONE = {
    "a node is read": ("GET", _NODE, None),
    "nodes are listed": ("GET", "/api/v1/nodes?limit=1", None),
    "nodes are watched": ("GET", "/api/v1/nodes?watch=1&timeoutSeconds=1", None),
    "a node is tainted and marked": ("PATCH", _NODE, TAINT),
    "a silent node is closed": ("PATCH", f"{_NODE}/status", CLOSE),
    "rules are listed": ("GET", RULES, None),
    "rules are watched": ("GET", f"{RULES}?watch=1&timeoutSeconds=1", None),
    "an Event is made": ("POST", _EVENTS, event()),
    "an Event counts on": ("PATCH", f"{_EVENTS}/made-by-the-controller", {"count": 2}),
    "the lease is made": ("POST", _LEASES.format("hostagent"), lease()),
    "the lease is read": ("GET", _OWN, None),
}
REFUSED = {
    "a new node": ("POST", "/api/v1/nodes", {"metadata": {"name": "new"}}),
    "a node deleted": ("DELETE", _NODE, None),
    "all nodes deleted": ("DELETE", "/api/v1/nodes", None),
    "a node replaced": ("PUT", _NODE, {"metadata": {"name": NODE}}),
    "a status replaced": ("PUT", f"{_NODE}/status", {"metadata": {"name": NODE}}),
    "a status read": ("GET", f"{_NODE}/status", None),
    "a node's proxy": ("GET", f"{_NODE}/proxy/", None),
    "pods": ("GET", "/api/v1/pods", None),
    "a pod deleted": ("DELETE", "/api/v1/namespaces/default/pods/x", None),
    "an eviction": ("POST", "/api/v1/namespaces/default/pods/x/eviction", {}),
    "secrets": ("GET", "/api/v1/secrets", None),
    "secrets of its namespace": ("GET", "/api/v1/namespaces/hostagent/secrets", None),
    "config maps": ("GET", "/api/v1/namespaces/hostagent/configmaps", None),
    "a token": ("POST", "/api/v1/namespaces/hostagent/serviceaccounts/hostagent/token", {"spec": {"audiences": []}}),
    "Events read": ("GET", _EVENTS, None),
    "an Event deleted": ("DELETE", f"{_EVENTS}/made-by-the-controller", None),
    "an Event elsewhere": ("POST", "/api/v1/namespaces/hostagent/events", event("hostagent")),
    "leases listed": ("GET", _LEASES.format("hostagent"), None),
    "its lease deleted": ("DELETE", _OWN, None),
    "another lease of its namespace": ("GET", f"{_LEASES.format('hostagent')}/other", None),
    "a node's lease": ("GET", f"{_LEASES.format('kube-node-lease')}/{NODE}", None),
    "a lease elsewhere": ("POST", _LEASES.format("kube-node-lease"), lease()),
    "the scheduler's lease": ("PUT", f"{_LEASES.format('kube-system')}/kube-scheduler", lease("kube-scheduler")),
    "a rule made": ("POST", RULES, {}),
    "a rule changed": ("PATCH", f"{RULES}/x", {}),
    "a rule deleted": ("DELETE", f"{RULES}/x", None),
    "its own role": ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/hostagent-controller", None),
    "the agents' policy": ("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/hostagent-own-words", None),
}


@pytest.fixture(scope="module")
def token(cluster, tmp_path_factory):
    cluster.node(NODE)
    apply_crd(cluster)
    config(cluster, tmp_path_factory.mktemp("account"))
    yield cluster.token_of("hostagent", "hostagent-controller")
    remove_crd(cluster)
    for path in (_OWN, f"{_EVENTS}/made-by-the-controller", _NODE):
        cluster.ask("DELETE", path)


def asked(cluster, token, method, path, body):
    kind = (STRATEGIC if path.endswith("/status") else MERGE) if method == "PATCH" else "application/json"
    return cluster.ask(method, path, body, token=token, kind=kind)


def test_what_the_controller_does_is_accepted(cluster, token):
    for what, request in DONE.items():
        answer = asked(cluster, token, *request)
        assert answer.ok, (what, answer.text)
    held = cluster.ask("GET", _OWN, token=token).json()
    assert asked(cluster, token, "PUT", _OWN, {**held, "spec": {**held["spec"], "holderIdentity": "y"}}).ok


@pytest.mark.parametrize("what", REFUSED)
def test_nothing_else_is(cluster, token, what):
    assert asked(cluster, token, *REFUSED[what]).status_code == 403


def test_the_agents_account_gains_nothing(cluster, token):
    """The rights of the controller are not in the identity of the DaemonSet."""
    apply(cluster, "binding")
    agent = cluster.token(NODE)
    for method, path, body in (DONE["nodes are listed"], DONE["a node is tainted and marked"], DONE["the lease is read"]):
        assert asked(cluster, agent, method, path, body).status_code == 403
