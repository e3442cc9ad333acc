"""The controller's taints, on a real API server: from a verdict and back, beside those of others, and handed to a rule and back."""

import contextlib
import time

import pytest

from tests.real.cluster import MERGE, apply, objects
from tests.real.cluster import ROOT as TREE
from tests.real.controlled import SOON_S, STALE_S, Busy, Fleet, has, is_closed, label, mark, of_others
from tests.real.daemonrun import eventually
from tests.real.readinessrules import KEYS, MULTI_NOT_READY, NOT_READY, RULES, ReadinessController, apply_crd, remove_crd, rule

FOREIGN = {"key": "example.com/maintenance", "value": "rack-7", "effect": "NoSchedule"}
#: Nothing is silent in a test that lasts shorter.
_NEVER = ("--stale-after", 600)
_EVENTS = "/api/v1/namespaces/default/events"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/hostagent/leases"


@pytest.fixture
def kind(cluster):
    """The kind NodeReadinessRule, gone afterwards with all rules."""
    apply_crd(cluster)
    yield cluster
    with ReadinessController(cluster):
        remove_crd(cluster)


def taints(cluster, name):
    return [(one["key"], one["effect"], one.get("value", "")) for one in cluster.taints(name)]


def ours(node):
    return {key for key in KEYS if has(node, key)}


def test_a_verdict_becomes_a_taint_and_back(cluster, tmp_path):
    """Each within 5 s; degraded is ready. A cordon, a foreign taint, and whatever else is on the node stay as they are."""
    verdicts = (
        (("not_ready", "not_ready"), set(KEYS)),
        (("degraded", "degraded"), set()),
        (("ready", "not_ready"), {MULTI_NOT_READY}),
        (("unknown", "unknown"), set(KEYS)),
        (("ready", "ready"), set()),
    )
    with Fleet(cluster, "turns", 3, taints=[FOREIGN], annotations={"example.com/owner": "team"}) as fleet:
        name = fleet.names[0]
        cluster.admin("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}}, kind=MERGE)
        fleet.agents.ready()
        with fleet.controller(tmp_path, *_NEVER) as controller, fleet.watched() as history:
            for (single, multi), wanted in verdicts:
                fleet.agents.verdict(name, single=single, multi=multi)
                eventually(lambda wanted=wanted: ours(cluster.get(name)) == wanted, SOON_S)
                node = cluster.get(name)
                assert set(filter(None, mark(node).split(","))) == wanted
                assert bool(mark(node, "why")) == bool(wanted)
            versions = [version.node for version in history.of(name)]
            assert all(of_others(one) == of_others(versions[0]) for one in versions)
            assert versions[0]["spec"]["unschedulable"]
            eventually(lambda: controller.metric("hostagent_controller_taints_total", action="add") == 4, SOON_S)
            eventually(lambda: controller.metric("hostagent_controller_taints_total", action="remove") == 4, SOON_S)
        assert not any(ours(one) for other in fleet.names[1:] for one in [cluster.get(other)])


def test_a_taint_of_our_key_is_adopted_or_left(cluster, tmp_path):
    """With NoSchedule it is adopted as it is, and goes with a verdict; with another effect it stays, is reported, and ours is beside it."""
    with Fleet(cluster, "adopts", 3) as fleet:
        adopted, opened, beside = fleet.names
        for name in (adopted, opened):
            cluster.taint(name, [{"key": NOT_READY, "value": "boot", "effect": "NoSchedule"}])
        cluster.taint(beside, [{"key": NOT_READY, "value": "hands", "effect": "PreferNoSchedule"}])
        fleet.agents.ready(opened)
        fleet.agents.not_ready(adopted, beside, multi="ready")
        with fleet.controller(tmp_path, *_NEVER) as controller:
            eventually(lambda: fleet.tainted() == {adopted, beside}, SOON_S)
            eventually(lambda: mark(cluster.get(adopted)) == NOT_READY, SOON_S)
            assert taints(cluster, adopted) == [(NOT_READY, "NoSchedule", "boot")]
            eventually(lambda: controller.metric("hostagent_controller_taints_total", action="adopt") == 1, SOON_S)
            foreign = (NOT_READY, "PreferNoSchedule", "hands")
            assert taints(cluster, beside) == [foreign, (NOT_READY, "NoSchedule", "")]
            eventually(lambda: "effect PreferNoSchedule" in fleet.events("OtherEffect").get(beside, ""), SOON_S)
            fleet.agents.ready()
            eventually(lambda: not fleet.tainted(), SOON_S)
            assert taints(cluster, beside) == [foreign]
            assert not mark(cluster.get(adopted))


def gaps(versions):
    """Seconds of each time without our taint, which has to have an end."""
    found, began = [], None
    for version in versions:
        if has(version.node) and began is not None:
            found.append(version.at - began)
            began = None
        elif not has(version.node) and began is None:
            began = version.at
    assert began is None
    return found


def test_a_rule_takes_over_gives_back_and_takes_over_again(kind, tmp_path):
    """Towards a rule without a gap; back within 5 s. Only its key, on the nodes that it selects; and nothing else ever changes."""
    with Fleet(kind, "handed", 6, taints=[FOREIGN], annotations={"example.com/owner": "team"}) as fleet, contextlib.ExitStack() as stack:
        bad, good, other, *_ = fleet.names
        fleet.agents.ready()
        fleet.agents.not_ready(bad, other)
        kind.admin("PATCH", f"/api/v1/nodes/{other}", {"metadata": {"labels": {"example.com/ruled": "no"}}}, kind=MERGE)
        history = stack.enter_context(fleet.watched())
        busy = stack.enter_context(Busy(fleet))
        controller = stack.enter_context(fleet.controller(tmp_path, *_NEVER))
        eventually(lambda: fleet.tainted() == fleet.tainted(MULTI_NOT_READY) == {bad, other}, SOON_S)
        tainted_at = time.monotonic()

        ruling = stack.enter_context(ReadinessController(kind))
        expression = {"key": "example.com/ruled", "operator": "NotIn", "values": ["no"]}
        selector = {"matchLabels": {"fleet": "handed"}, "matchExpressions": [expression]}
        kind.admin("POST", RULES, rule("handed", nodeSelector=selector))
        eventually(lambda: mark(kind.get(bad)) == MULTI_NOT_READY, SOON_S)
        fleet.agents.not_ready(good)
        eventually(lambda: ours(kind.get(good)) == set(KEYS), SOON_S)
        eventually(lambda: mark(kind.get(good)) == MULTI_NOT_READY, SOON_S)
        eventually(lambda: [(one.node, one.verb) for one in ruling.writes] == [(good, "added")], SOON_S)
        assert mark(kind.get(other)) == ",".join(KEYS)

        busy.goes_on()
        before = time.monotonic()
        assert {name: has(node) for name, node in fleet.nodes().items() if has(node)} == dict.fromkeys((bad, good, other), True)
        kind.admin("DELETE", f"{RULES}/handed")
        eventually(lambda: kind.ask("GET", f"{RULES}/handed").status_code == 404, SOON_S)
        eventually(lambda: all(mark(kind.get(name)) == ",".join(KEYS) and has(kind.get(name)) for name in (bad, good)), SOON_S)
        kind.remove_taint(good, NOT_READY)  # node-readiness-controller may clean twice, by a cache that is behind
        eventually(lambda: has(kind.get(good)), SOON_S)
        assert controller.metric("hostagent_controller_taints_total", action="remove") in (None, 0)
        busy.goes_on()
        returned = {name: len(history.of(name)) for name in (bad, good)}
        kind.admin("POST", RULES, rule("handed-again", nodeSelector=selector))
        eventually(lambda: all(mark(kind.get(name)) == MULTI_NOT_READY for name in (bad, good)), SOON_S)
        busy.goes_on()
        busy.end()
        for name in fleet.names:
            versions = history.of(name)
            busy.check(name, versions)
            first = of_others(versions[0].node, but=(*KEYS, busy.KEY))
            assert all(of_others(version.node, but=(*KEYS, busy.KEY)) == first for version in versions)
        steady = [version for name in (bad, other) for version in history.of(name) if tainted_at < version.at < before]
        assert len(steady) > 10
        assert all(has(version.node) for version in steady)
        assert all(has(version.node) for version in history.of(other) if version.at > tainted_at)
        for name in (bad, good):
            lengths = gaps(version for version in history.of(name) if version.at > before)
            assert lengths
            assert max(lengths) < SOON_S
            assert all(has(version.node) for version in history.of(name)[returned[name] - 1 :]), "no gap towards the second rule"


def test_rules_that_cannot_be_read_leave_taints_alone(cluster, tmp_path):
    """403: no taint is set or removed, silent agents are still reported. With the right, of a kind that is not there (404): there are no rules."""
    name = "hostagent-no-rules"
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    apply(cluster, "overlays/controller")
    found = next(one for one in objects(TREE / "daemonset/overlays/controller") if one["kind"] == "ClusterRole")
    some = {**found, "metadata": {"name": name}, "rules": [one for one in found["rules"] if one["apiGroups"] == [""]]}
    cluster.admin("POST", roles, some)
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "hostagent"}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    cluster.admin("POST", f"{roles[:-1]}bindings", {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects})
    assert cluster.ask("GET", RULES).status_code == 404, "the kind is not there"
    with Fleet(cluster, "forbidden", 8) as fleet:
        mended, failing, silent, *_ = fleet.names
        fleet.agents.ready()
        fleet.agents.not_ready(mended)
        with fleet.controller(tmp_path / "before", *_NEVER):
            eventually(lambda: fleet.tainted() == {mended}, SOON_S)
        with fleet.agents.beating(2), fleet.controller(tmp_path, account=name) as controller:
            fleet.agents.ready(mended)
            fleet.agents.not_ready(failing)
            fleet.agents.stop(silent)
            eventually(lambda: fleet.closed() == {silent}, STALE_S + 10)
            assert fleet.tainted() == fleet.tainted(MULTI_NOT_READY) == {mended}
            assert mark(cluster.get(mended))
            assert "rules of node-readiness-controller cannot be read" in controller.get("/readyz").text
            cluster.admin("PUT", f"{roles}/{name}", {**some, "rules": found["rules"]})
            eventually(lambda: fleet.tainted() == fleet.tainted(MULTI_NOT_READY) == {failing, silent}, 10)
            assert "cannot be read" not in controller.get("/readyz").text


def test_taints_on_looks_at_no_rule(kind, tmp_path):
    kind.admin("POST", RULES, rule("ignored", nodeSelector={"matchLabels": {"fleet": "ignored"}}))
    with Fleet(kind, "ignored", 3) as fleet:
        fleet.agents.ready()
        fleet.agents.not_ready(fleet.names[0])
        with fleet.controller(tmp_path / "auto", *_NEVER):
            eventually(lambda: fleet.tainted(MULTI_NOT_READY) == {fleet.names[0]}, SOON_S)
            assert not fleet.tainted()
        with fleet.controller(tmp_path / "on", *_NEVER, "--taints", "on"):
            eventually(lambda: fleet.tainted() == {fleet.names[0]}, SOON_S)


def test_taints_off_and_one_taint_alone(cluster, tmp_path):
    """`off` sets and removes none, and still closes for silence; without the taint for several nodes, the one that was set goes."""
    with Fleet(cluster, "off", 3) as fleet:
        bad, mended, good = fleet.names
        fleet.agents.ready()
        fleet.agents.not_ready(mended)
        with fleet.controller(tmp_path / "on", *_NEVER):
            eventually(lambda: fleet.tainted() == {mended}, SOON_S)
        fleet.agents.not_ready(bad)
        fleet.agents.ready(mended)
        with fleet.controller(tmp_path / "off", "--taints", "off"), fleet.agents.beating(1):
            fleet.agents.stop(good)
            eventually(lambda: is_closed(cluster.get(good)), STALE_S + 10)
            assert fleet.tainted() == fleet.tainted(MULTI_NOT_READY) == {mended}
        fleet.agents.start(good)
        fleet.agents.ready(good)
        fleet.agents.not_ready(mended)
        with fleet.controller(tmp_path / "single", *_NEVER, "--multi-node-taint", "off"):
            eventually(lambda: fleet.tainted() == {bad, mended}, SOON_S)
            eventually(lambda: not fleet.tainted(MULTI_NOT_READY), SOON_S)
            assert {mark(cluster.get(name)) for name in (bad, mended)} == {NOT_READY}
            assert not mark(cluster.get(good), "closed")


def test_a_dry_run_writes_nothing(cluster, tmp_path):
    """No node, Event or Lease; what would be done is counted, within the limits, and logged."""

    def written():
        listed = [*fleet.nodes().values(), *cluster.admin("GET", _EVENTS)["items"], *cluster.admin("GET", _LEASES)["items"]]
        return sorted((one["metadata"]["uid"], one["metadata"]["resourceVersion"]) for one in listed)

    with Fleet(cluster, "dry", 4) as fleet:
        fleet.agents.ready()
        fleet.agents.not_ready(fleet.names[0])
        before = written()
        with fleet.controller(tmp_path, "--dry-run", "--max-tainted", "100%", is_elected=True) as controller:
            eventually(lambda: controller.metric("hostagent_controller_stopped", limit="silent") == 1, STALE_S + 10)
            eventually(lambda: controller.metric("hostagent_controller_taints_total", action="would_add") == 4, SOON_S)
            assert controller.metric("hostagent_controller_closings_total", action="would_close") == 2
            assert controller.metric("hostagent_controller_taints_total") == 4
            assert controller.metric("hostagent_controller_is_leader") == 0
            assert controller.metric("hostagent_controller_nodes") == 4
            log = controller.said()
            assert all(word in log for word in ("would_close", "would_add", fleet.names[0], fleet.names[1]))
            assert controller.end() == 0
        assert written() == before
        assert label(cluster.get(fleet.names[1])) == "true"
