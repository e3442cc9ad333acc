"""The controller on a real cluster when agents, nodes and controllers go away: a silent node is closed, and opened again by its agent."""

import contextlib
import os
import time

import pytest

from tests.real.cluster import HOSTNAME, SCHEDULER
from tests.real.controlled import SOON_S, STALE_S, Fleet, conditions, has_all, is_open, is_silent, label, mark
from tests.real.controllerrun import LEASE, why
from tests.real.daemonrun import Daemon, eventually
from tests.real.readinessrules import MULTI_NOT_READY
from tests.real.test_daemon_loop import HEALTHY, recording

#: Seconds: between two heartbeats of virtual agents; `--stale-after` with real ones, which beat every 18 to 42 s.
_BEAT_S, _STALE_OF_DAEMONS_S = 3, 50
#: Seconds that the controller may take more than `--stale-after`; from an agent's verdict until its node is open.
_CLOSED_S, _OPEN_S = 10, 10
#: Seconds in which another controller takes over at the latest: the lease, twice the time between two tries, and what a busy machine needs.
_TAKEN_OVER_S = 15 + 2 * 2 + 5


@pytest.fixture
def lease(cluster):
    """No controller of an earlier test holds it, nor one of this test afterwards."""
    cluster.ask("DELETE", LEASE)
    yield
    cluster.ask("DELETE", LEASE)


def agent(cluster, folder, node):
    """The product's own, over a recorded host."""
    folder.mkdir(exist_ok=True)
    options = ("--kubeconfig", cluster.kubeconfig(folder / "kubeconfig", cluster.token(node)), "--node-name", node)
    return Daemon(folder, "--from", recording(folder, HEALTHY), *options, "--interval", 5, "--heartbeat", 30)


def to(node):
    """What a pod has that fits on this node alone."""
    return {"nodeSelector": {HOSTNAME: node}}


@pytest.mark.skipif(os.geteuid() != 0, reason="files of root alone are obeyed: run 'sudo make test'")
def test_a_killed_agent_closes_its_node_and_opens_it_again(cluster, tmp_path):
    """Two daemons; one is killed by kill -9: its node is closed to new pods, its running pod stays; the daemon is started: it is open."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(cluster.running(SCHEDULER))
        stack.callback(cluster.ask, "DELETE", "/api/v1/namespaces/default/pods?gracePeriodSeconds=0")
        fleet = stack.enter_context(Fleet(cluster, "killed", 2))
        dead, alive = fleet.names
        first, _ = (stack.enter_context(agent(cluster, tmp_path / name, name)) for name in fleet.names)
        running = stack.enter_context(fleet.controller(tmp_path, "--stale-after", _STALE_OF_DAEMONS_S))
        eventually(lambda: all(map(is_open, fleet.nodes().values())), 90)
        cluster.pod("running", **to(dead))
        eventually(lambda: cluster.node_of("running") == dead)
        uid = cluster.admin("GET", "/api/v1/namespaces/default/pods/running")["metadata"]["uid"]

        first.kill()
        eventually(lambda: is_silent(cluster.get(dead)), _STALE_OF_DAEMONS_S + _CLOSED_S)
        code, text = why(cluster, dead)
        assert (code, text.partition(" since ")[0]) == (1, f"{dead} is closed"), text
        assert "no heartbeat of hostagent" in text.splitlines()[0]
        cluster.pod("pinned", **to(dead))
        for number in range(4):
            cluster.pod(f"new-{number}", nodeSelector={"fleet": fleet.name})
        eventually(lambda: [cluster.node_of(f"new-{number}") for number in range(4)] == [alive] * 4)
        metadata = cluster.admin("GET", "/api/v1/namespaces/default/pods/running")["metadata"]
        assert (metadata["uid"], "deletionTimestamp" in metadata) == (uid, False)
        assert cluster.node_of("pinned") == ""
        assert is_open(cluster.get(alive))

        stack.enter_context(agent(cluster, tmp_path / dead, dead))
        eventually(lambda: label(cluster.get(dead)) == "true", 60)
        eventually(lambda: is_open(cluster.get(dead)), _OPEN_S)
        assert why(cluster, dead)[0] == 0
        eventually(lambda: cluster.node_of("pinned") == dead)
        assert running.metric("hostagent_controller_closings_total") == 1, "the other node stayed open all the time"


def test_a_node_made_anew_is_closed_for_want_of_a_verdict_and_not_for_silence(cluster, tmp_path):
    """Its agent is dead. One node is made anew after it was closed for silence, one before."""
    with Fleet(cluster, "anew", 4) as fleet:
        late, soon, *others = fleet.names
        fleet.agents.ready()
        with fleet.agents.beating(_BEAT_S), fleet.controller(tmp_path) as running:
            fleet.agents.stop(late, soon)
            stopped = time.monotonic()
            fleet.make(soon)
            eventually(lambda: has_all(cluster.get(soon)), SOON_S)
            eventually(lambda: is_silent(cluster.get(late)), stopped + STALE_S + _CLOSED_S - time.monotonic())
            fleet.make(late)
            eventually(lambda: has_all(cluster.get(late)), SOON_S)
            eventually(lambda: time.monotonic() > stopped + STALE_S + _CLOSED_S)
            for name in (soon, late):
                node = cluster.get(name)
                assert (conditions(node), label(node), label(node, "multi-node-ready"), mark(node, "closed")) == ({}, "", "", "")
                assert has_all(node)
                code, text = why(cluster, name)
                assert (code, "hostagent has not judged this node" in text) == (1, True), text
            assert running.metric("hostagent_controller_nodes", state="no_agent") == 2
            fleet.agents.start(late, soon)
            fleet.agents.first_pass(late, soon)
            fleet.agents.ready(late, soon)
            eventually(lambda: is_open(cluster.get(late)) and is_open(cluster.get(soon)), _OPEN_S)
            assert all(is_open(cluster.get(name)) for name in others)


def test_a_controller_that_is_killed_and_started_again(cluster, tmp_path, lease):
    """A new leader counts all silence afresh; what was closed stays closed, and is opened if its agent came back meanwhile."""
    with contextlib.ExitStack() as stack:
        fleet = stack.enter_context(Fleet(cluster, "restart", 4))
        dying, returns, dead, alive = fleet.names
        agents = fleet.agents
        agents.ready()
        stack.enter_context(agents.beating(_BEAT_S))
        first = stack.enter_context(fleet.controller(tmp_path / "1", is_elected=True))
        first.leads()
        agents.stop(dead, returns)
        eventually(lambda: is_silent(cluster.get(dead)) and is_silent(cluster.get(returns)), STALE_S + _CLOSED_S)
        agents.stop(dying)
        first.kill()
        agents.start(returns)
        agents.ready(returns)
        agents.stop(returns)  # a heartbeat that the new leader sees change would be proof of its own
        killed = time.monotonic()
        second = stack.enter_context(fleet.controller(tmp_path / "2", is_elected=True))
        eventually(lambda: second.is_leader, 40)
        leads = time.monotonic()
        eventually(lambda: is_open(cluster.get(returns)), _OPEN_S)
        agents.start(returns)
        while not is_silent(cluster.get(dying)):
            assert is_silent(cluster.get(dead))
            assert time.monotonic() < leads + STALE_S + _CLOSED_S
            time.sleep(0.1)
        assert time.monotonic() - leads > STALE_S - 1, "its time began with the new leader"
        assert leads - killed > 5, "the lease was waited for"
        agents.start(dying, dead)
        agents.ready(dying, dead)
        eventually(lambda: is_open(cluster.get(dying)) and is_open(cluster.get(dead)), _OPEN_S)
        assert second.metric("hostagent_controller_closings_total") == 1
        assert is_open(cluster.get(alive))


def test_one_of_two_controllers_writes(cluster, tmp_path, lease):
    """The leader is killed: the other one takes over, and sets each taint once. That one is stopped amid its writes, for longer than the
    lease, and goes on: it writes nothing more. The third one sets no taints: what is set after it leads is of the second one.
    """
    with contextlib.ExitStack() as stack:
        fleet = stack.enter_context(Fleet(cluster, "lead", 32))
        before, between, *many = fleet.names
        fleet.agents.ready()

        def tainted():
            return fleet.tainted() | fleet.tainted(MULTI_NOT_READY)

        def start(place, *options):
            options = ("--stale-after", 600, "--max-tainted", "100%", *options)
            return stack.enter_context(fleet.controller(tmp_path / place, *options, is_elected=True))

        first = start("1")
        first.leads()
        second = start("2")
        eventually(lambda: second.metric("hostagent_controller_is_leader") == 0)
        fleet.agents.not_ready(before)
        eventually(lambda: has_all(cluster.get(before)), SOON_S)
        assert (second.is_leader, second.metric("hostagent_controller_taints_total")) == (False, None)

        first.kill()
        fleet.agents.not_ready(between)
        assert eventually(lambda: second.is_leader, _TAKEN_OVER_S) > 5, "the lease was waited for"
        eventually(lambda: has_all(cluster.get(between)), SOON_S)
        second.leads()
        assert has_all(cluster.get(before))
        assert second.metric("hostagent_controller_taints_total", action="add") == 2, "those of one node"

        third = start("3", "--taints", "off")
        eventually(lambda: third.metric("hostagent_controller_is_leader") == 0)
        second.pause()
        fleet.agents.not_ready(*many)  # all are waiting to be written to when it goes on
        second.resume()
        eventually(lambda: tainted() - {before, between}, SOON_S)
        second.pause()
        fleet.agents.ready(before)
        eventually(lambda: third.is_leader, _TAKEN_OVER_S)
        done = tainted()
        second.resume()
        resumed = time.monotonic()
        while time.monotonic() < resumed + 8:
            assert tainted() == done
            time.sleep(0.1)
        assert (second.metric("hostagent_controller_is_leader"), third.is_leader) == (0, True)
        assert "event=lead-ended" in second.said()
