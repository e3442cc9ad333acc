"""The stand-in for node-readiness-controller meets its contract on a real API server."""

import time

import pytest

from tests.real import controlled
from tests.real.cluster import MERGE, STRATEGIC
from tests.real.controlled import Busy, Fleet
from tests.real.controllerrun import Agents
from tests.real.daemonrun import eventually
from tests.real.readinessrules import FINALIZER, MULTI_NOT_READY, NOT_READY, RULES, ReadinessController, apply_crd, remove_crd, rule

FOREIGN = {"key": "example.com/maintenance", "effect": "NoSchedule"}
#: Seconds: the real one needs 0.2 to 0.3, this machine may be busy.
_SOON_S = 5


@pytest.fixture(scope="module")
def kind(cluster):
    """The kind is served, and gone afterwards: other tests of this cluster may want none."""
    apply_crd(cluster)
    yield cluster
    remove_crd(cluster)


@pytest.fixture
def place(kind):
    """Makes rules; on leaving they go, by a stand-in of its own if the test's has ended."""
    names = []

    def make(body):
        names.append(body["metadata"]["name"])
        return kind.admin("POST", RULES, body)

    yield make
    with ReadinessController(kind):
        for name in names:
            kind.ask("DELETE", f"{RULES}/{name}")
        eventually(lambda: all(kind.ask("GET", f"{RULES}/{name}").status_code == 404 for name in names), 30)


def keys(cluster, node):
    return [(one["key"], one["effect"]) for one in cluster.taints(node)]


def has(cluster, node):
    return controlled.has(cluster.get(node))


def condition(cluster, node, status, kind="hostagent.dev/Ready"):
    one = {"type": kind, "$patch": "delete"} if status is None else {"type": kind, "status": status}
    cluster.admin("PATCH", f"/api/v1/nodes/{node}/status", {"status": {"conditions": [one]}}, kind=STRATEGIC)


def test_a_taint_follows_the_condition(kind, place):
    names = ("follows-1", "follows-2")
    kind.nodes(names, taints=[FOREIGN])
    kind.nodes(["follows-no-gpu"], labels={})
    agents = Agents(kind, names)
    agents.ready()
    with ReadinessController(kind):
        for one in (rule("follows"), rule("follows-multi", MULTI_NOT_READY, "hostagent.dev/MultiNodeReady")):
            place(one)
            path = f"{RULES}/{one['metadata']['name']}"
            eventually(lambda path=path: kind.admin("GET", path)["metadata"].get("finalizers"), _SOON_S)
        took = []
        for status, wanted in (("False", True), ("True", False), ("Unknown", True), ("True", False), (None, True)):
            condition(kind, "follows-1", status)
            took.append(eventually(lambda wanted=wanted: has(kind, "follows-1") == wanted, _SOON_S))
        assert sorted(took)[2] < 1, took
        agents.ready("follows-1", multi="not_ready")
        eventually(lambda: keys(kind, "follows-1")[1:] == [(MULTI_NOT_READY, "NoSchedule")], _SOON_S)
        assert keys(kind, "follows-1")[0] == keys(kind, "follows-2")[0] == (FOREIGN["key"], "NoSchedule")
        assert len(keys(kind, "follows-2")) == 1
        assert keys(kind, "follows-no-gpu") == []


def test_a_rule_goes_after_its_taints(kind, place):
    kind.nodes(["goes"], taints=[{"key": NOT_READY, "effect": "NoSchedule", "value": "foreign"}])
    place(rule("goes"))
    with ReadinessController(kind) as controller:
        eventually(lambda: kind.admin("GET", f"{RULES}/goes")["metadata"].get("finalizers") == [FINALIZER], _SOON_S)
        condition(kind, "goes", "False")
        time.sleep(0.5)
        assert kind.taints("goes")[0]["value"] == "foreign", "it is adopted as it is"
        assert not [one for one in controller.writes if one.node == "goes"]
    assert "deletionTimestamp" in kind.admin("DELETE", f"{RULES}/goes")["metadata"]
    assert has(kind, "goes")
    time.sleep(0.3)
    assert kind.ask("GET", f"{RULES}/goes").ok, "the finalizer holds it"
    with ReadinessController(kind) as controller:
        eventually(lambda: kind.ask("GET", f"{RULES}/goes").status_code == 404, _SOON_S)
        assert not has(kind, "goes")
        assert [one.verb for one in controller.writes if one.node == "goes"] == ["cleaned"]


def test_dry_run_and_bootstrap_only(kind, place):
    kind.nodes(["dry"])
    made = place(rule("dry", dryRun=True))
    expression = {"matchExpressions": [{"key": "role", "operator": "In", "values": ["first"]}]}
    kind.nodes(["first"], labels={"role": "first"})
    boot = place(rule("first", enforcementMode="bootstrap-only", nodeSelector=expression))
    with ReadinessController(kind):
        eventually(lambda: has(kind, "first"), _SOON_S)
        condition(kind, "first", "True")
        eventually(lambda: not has(kind, "first"), _SOON_S)
        assert f"readiness.k8s.io/bootstrap-completed-{boot['metadata']['uid']}" in kind.get("first")["metadata"]["annotations"]
        condition(kind, "first", "False")
        time.sleep(0.5)
        assert not has(kind, "first")
        assert not has(kind, "dry")
        kind.taint("dry", [{"key": NOT_READY, "effect": "NoSchedule"}])
        kind.admin("DELETE", f"{RULES}/{made['metadata']['name']}")
        eventually(lambda: not has(kind, "dry"), _SOON_S)  # the real one looks at the taint alone, too


def test_taints_of_another_writer_survive(kind, place):
    place(rule("busy", nodeSelector={"matchLabels": {"fleet": "busy"}}))
    with Fleet(kind, "busy", 1) as fleet, ReadinessController(kind), fleet.watched() as history, Busy(fleet) as busy:
        (name,) = fleet.names
        for status in ("False", "True") * 15 + ("False",):
            condition(kind, name, status)
            eventually(lambda status=status: has(kind, name) == (status == "False"), _SOON_S)
        busy.end()
        busy.check(name, history.of(name))
        assert busy.made[name] > 10


def test_the_kind_holds_its_contract(kind, place):
    taint = {"key": "hostagent.dev/not-ready", "effect": "NoSchedule"}
    assert kind.ask("POST", RULES, rule("bad", taint=taint)).status_code == 422
    assert kind.ask("POST", RULES, rule("bad", enforcementMode="bootstrap-only", conditionPolicy="anyOf")).status_code == 422
    place(rule("fixed", dryRun=True))
    for change in ({"enforcementMode": "bootstrap-only"}, {"taint": {"value": "other"}}, {"nodeSelector": {"matchLabels": {"a": "b"}}}):
        assert kind.ask("PATCH", f"{RULES}/fixed", {"spec": change}, kind=MERGE).status_code == 422
    assert kind.ask("PATCH", f"{RULES}/fixed", {"spec": {"dryRun": False}}, kind=MERGE).ok
