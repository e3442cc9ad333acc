"""The controller on a real cluster when agents, nodes and controllers go away: a silent node is closed, and opened again by its agent."""

import contextlib
import os
import time

import pytest

from tests.real.cluster import GPU, SCHEDULER
from tests.real.controllerrun import LEASE, OURS, Agents, Controller, config, seen, why
from tests.real.daemonrun import Daemon, eventually
from tests.real.test_daemon_loop import HEALTHY, recording

#: Seconds: `--stale-after` with virtual agents and between their heartbeats; with real ones, which beat every 18 to 42 s.
_STALE_S, _BEAT_S = 15, 3
_STALE_OF_DAEMONS_S = 50
#: Seconds that the controller may take more than `--stale-after`; from an agent's verdict until its node is open; from one until a taint.
_CLOSED_S, _OPEN_S, _TAINTED_S = 10, 10, 5
#: Seconds in which another controller takes over at the latest: the lease, twice the time between two tries, and what a busy machine needs.
_TAKEN_OVER_S = 15 + 2 * 2 + 5


@pytest.fixture
def lease(cluster):
    """No controller of an earlier test holds it, nor one of this test afterwards."""
    cluster.ask("DELETE", LEASE)
    yield
    cluster.ask("DELETE", LEASE)


def place(cluster, pool, *names):
    """Nodes of a pool of their own, which the controller of the test selects, with agents: all are ready."""
    cluster.nodes(names, labels={**GPU, "pool": pool})
    agents = Agents(cluster, names)
    agents.ready()
    return agents


def controller(cluster, folder, pool, *options, stale_s=_STALE_S):
    return Controller(
        folder, "--kubeconfig", config(cluster, folder), "--node-selector", f"pool={pool}", "--stale-after", stale_s, *options
    )


def agent(cluster, folder, node):
    """The product's own, over a recorded host."""
    folder.mkdir(exist_ok=True)
    options = ("--kubeconfig", cluster.kubeconfig(folder / "kubeconfig", cluster.token(node)), "--node-name", node)
    return Daemon(folder, "--from", recording(folder, HEALTHY), *options, "--interval", 5, "--heartbeat", 30)


def tainted(cluster, pool):
    """The nodes of a pool that have a taint of the controller."""
    listed = cluster.admin("GET", f"/api/v1/nodes?labelSelector=pool={pool}")["items"]
    return {one["metadata"]["name"] for one in listed if any(taint["key"] in OURS for taint in one["spec"].get("taints", []))}


@contextlib.contextmanager
def gone(cluster, *nodes):
    """Afterwards the nodes are deleted, and the pods of namespace default."""
    try:
        yield
    finally:
        for node in nodes:
            cluster.ask("DELETE", f"/api/v1/nodes/{node}")
        cluster.ask("DELETE", "/api/v1/namespaces/default/pods?gracePeriodSeconds=0")


@pytest.mark.skipif(os.geteuid() != 0, reason="files of root alone are obeyed: run 'sudo make test'")
def test_a_killed_agent_closes_its_node_and_opens_it_again(cluster, tmp_path):
    """Two daemons; one is killed by kill -9: its node is closed to new pods, its running pod stays; the daemon is started: it is open."""
    dead, alive, pool = "killed-1", "killed-2", {"pool": "killed"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(gone(cluster, dead, alive))
        stack.enter_context(cluster.running(SCHEDULER))
        for name in (dead, alive):
            cluster.nodes([name], labels={**GPU, **pool, "name": name})
        first, _ = (stack.enter_context(agent(cluster, tmp_path / name, name)) for name in (dead, alive))
        options = ("--no-leader-elect",)
        running = stack.enter_context(controller(cluster, tmp_path / "controller", "killed", *options, stale_s=_STALE_OF_DAEMONS_S))
        eventually(lambda: seen(cluster, dead).is_open and seen(cluster, alive).is_open, 90)
        cluster.pod("running", nodeSelector={"name": dead})
        eventually(lambda: cluster.node_of("running") == dead)
        uid = cluster.admin("GET", "/api/v1/namespaces/default/pods/running")["metadata"]["uid"]

        first.kill()
        eventually(lambda: seen(cluster, dead).is_silent, _STALE_OF_DAEMONS_S + _CLOSED_S)
        code, text = why(cluster, dead)
        assert (code, text.splitlines()[0][:34]) == (1, "killed-1 is closed: silent since 2"), text
        cluster.pod("pinned", nodeSelector={"name": dead})
        for number in range(4):
            cluster.pod(f"new-{number}", nodeSelector=pool)
        eventually(lambda: [cluster.node_of(f"new-{number}") for number in range(4)] == [alive] * 4)
        metadata = cluster.admin("GET", "/api/v1/namespaces/default/pods/running")["metadata"]
        assert (metadata["uid"], "deletionTimestamp" in metadata) == (uid, False)
        assert cluster.node_of("pinned") == ""
        assert seen(cluster, alive).is_open

        stack.enter_context(agent(cluster, tmp_path / dead, dead))
        eventually(lambda: seen(cluster, dead).labels["ready"] == "true", 60)
        eventually(lambda: seen(cluster, dead).is_open, _OPEN_S)
        assert why(cluster, dead)[0] == 0
        eventually(lambda: cluster.node_of("pinned") == dead)
        assert running.metric("hostagent_controller_closings_total") == 1, "the other node stayed open all the time"


def test_a_node_made_anew_is_closed_for_want_of_a_verdict_and_not_for_silence(cluster, tmp_path):
    """Its agent is dead. One node is made anew after it was closed for silence, one before."""
    late, soon, others = "anew-late", "anew-soon", ("anew-3", "anew-4")
    labels = {**GPU, "pool": "anew"}
    agents = place(cluster, "anew", late, soon, *others)
    options = ("--no-leader-elect",)
    with gone(cluster, late, soon, *others), agents.beating(_BEAT_S), controller(cluster, tmp_path, "anew", *options) as running:
        running.leads()
        agents.stop(late, soon)
        stopped = time.monotonic()
        cluster.nodes([soon], labels=labels)
        eventually(lambda: seen(cluster, soon).is_tainted, _TAINTED_S)
        eventually(lambda: seen(cluster, late).is_silent, stopped + _STALE_S + _CLOSED_S - time.monotonic())
        cluster.nodes([late], labels=labels)
        eventually(lambda: seen(cluster, late).is_tainted, _TAINTED_S)
        eventually(lambda: time.monotonic() > stopped + _STALE_S + _CLOSED_S)
        for name in (soon, late):
            found = seen(cluster, name)
            assert (found.conditions, found.labels, found.marks.get("closed"), found.is_tainted) == ({}, {}, None, True)
            code, text = why(cluster, name)
            assert (code, "no verdict since" in text) == (1, True), text
        assert running.metric("hostagent_controller_nodes", state="no_agent") == 2
        agents.start(late, soon)
        agents.first_pass(late, soon)
        agents.ready(late, soon)
        eventually(lambda: seen(cluster, late).is_open and seen(cluster, soon).is_open, _OPEN_S)
        assert all(seen(cluster, name).is_open for name in others)


def test_a_controller_that_is_killed_and_started_again(cluster, tmp_path, lease):
    """A new leader counts all silence afresh; what was closed stays closed, and is opened if its agent came back meanwhile."""
    dying, returns, dead, alive = names = ("restart-dying", "restart-returns", "restart-dead", "restart-alive")
    agents = place(cluster, "restart", *names)
    with gone(cluster, *names), agents.beating(_BEAT_S), controller(cluster, tmp_path / "1", "restart") as first:
        first.leads()
        agents.stop(dead, returns)
        eventually(lambda: seen(cluster, dead).is_silent and seen(cluster, returns).is_silent, _STALE_S + _CLOSED_S)
        agents.stop(dying)
        first.kill()
        agents.start(returns)
        agents.ready(returns)
        agents.stop(returns)  # a heartbeat that the new leader sees change would be proof of its own
        killed = time.monotonic()
        with controller(cluster, tmp_path / "2", "restart") as second:
            eventually(lambda: second.is_leader, 40)
            leads = time.monotonic()
            eventually(lambda: seen(cluster, returns).is_open, _OPEN_S)
            agents.start(returns)
            while not seen(cluster, dying).is_silent:
                assert seen(cluster, dead).is_silent
                assert time.monotonic() < leads + _STALE_S + _CLOSED_S
                time.sleep(0.1)
            assert time.monotonic() - leads > _STALE_S - 1, "its time began with the new leader"
            assert leads - killed > 5, "the lease was waited for"
            agents.start(dying, dead)
            agents.ready(dying, dead)
            eventually(lambda: seen(cluster, dying).is_open and seen(cluster, dead).is_open, _OPEN_S)
            assert second.metric("hostagent_controller_closings_total") == 1
            assert seen(cluster, alive).is_open


def test_one_of_two_controllers_writes(cluster, tmp_path, lease):
    """The leader is killed: the other one takes over, and sets each taint once. That one is stopped amid its writes, for longer than the
    lease, and goes on: it writes nothing more. The third one sets no taints: what is set after it leads is of the second one.
    """
    before, between, many = "lead-before", "lead-between", [f"lead-{number}" for number in range(30)]
    names = (before, between, *many)
    agents = place(cluster, "lead", *names)
    options = ("--max-tainted", "100%")
    with contextlib.ExitStack() as stack:
        stack.enter_context(gone(cluster, *names))
        first = stack.enter_context(controller(cluster, tmp_path / "1", "lead", *options, stale_s=600))
        first.leads()
        second = stack.enter_context(controller(cluster, tmp_path / "2", "lead", *options, stale_s=600))
        eventually(lambda: second.metric("hostagent_controller_is_leader") == 0)
        agents.not_ready(before)
        eventually(lambda: seen(cluster, before).is_tainted, _TAINTED_S)
        assert (second.is_leader, second.metric("hostagent_controller_taints_total")) == (False, None)

        first.kill()
        agents.not_ready(between)
        assert eventually(lambda: second.is_leader, _TAKEN_OVER_S) > 5, "the lease was waited for"
        eventually(lambda: seen(cluster, between).is_tainted, _TAINTED_S)
        second.leads()
        assert seen(cluster, before).is_tainted
        assert second.metric("hostagent_controller_taints_total", action="add") == 2, "those of one node"

        third = stack.enter_context(controller(cluster, tmp_path / "3", "lead", "--taints", "off", stale_s=600))
        eventually(lambda: third.metric("hostagent_controller_is_leader") == 0)
        second.pause()
        agents.not_ready(*many)  # all are waiting to be written to when it goes on
        second.resume()
        eventually(lambda: tainted(cluster, "lead") - {before, between}, _TAINTED_S)
        second.pause()
        agents.ready(before)
        eventually(lambda: third.is_leader, _TAKEN_OVER_S)
        done = tainted(cluster, "lead")
        second.resume()
        resumed = time.monotonic()
        while time.monotonic() < resumed + 8:
            assert tainted(cluster, "lead") == done
            time.sleep(0.1)
        assert (second.metric("hostagent_controller_is_leader"), third.is_leader) == (0, True)
        assert "event=lead-ended" in second.said()
