"""The controller stops before it closes a cluster, and closes nothing by mistake, on a real API server."""

import time

from tests.real.cluster import MERGE
from tests.real.controlled import SOON_S, STALE_S, Fleet, has, is_closed, label, mark
from tests.real.controllerrun import Agents
from tests.real.daemonrun import eventually
from tests.real.readinessrules import KEYS, MULTI_NOT_READY

#: Seconds in which a dead agent is noticed.
_CLOSES_S = STALE_S + 10
_STATES = ("ready", "not_ready", "unknown", "silent", "no_agent")


def states(controller):
    """Nodes by state, of one reading."""
    return {state: controller.metric("hostagent_controller_nodes", state=state) for state in _STATES}


def is_stopped(controller, limit):
    return controller.metric("hostagent_controller_stopped", limit=limit) == 1


def test_of_three_nodes_one_stays(cluster, tmp_path):
    """One or two dead are closed, the third is not; when one is back, the third follows."""
    with Fleet(cluster, "three", 3) as fleet, fleet.controller(tmp_path) as controller, fleet.agents.beating(1):
        first, *others = fleet.names
        fleet.agents.ready()
        fleet.agents.stop(first)
        eventually(lambda: fleet.closed() == fleet.tainted() == {first}, _CLOSES_S)
        fleet.agents.stop(*others)
        eventually(lambda: is_stopped(controller, "silent"), _CLOSES_S)
        eventually(lambda: len(fleet.tainted()) == 2, SOON_S)
        (left_open,) = set(others) - fleet.closed()
        assert label(cluster.get(left_open)) == "true"
        assert not has(cluster.get(left_open))
        eventually(lambda: "agent is silent" in fleet.events("SilentLimit").get(left_open, ""), SOON_S)
        eventually(lambda: states(controller)["silent"] == 3, SOON_S)
        fleet.agents.start(first)
        fleet.agents.ready(first)
        eventually(lambda: first not in fleet.tainted(), SOON_S)
        eventually(lambda: fleet.closed() == fleet.tainted() == set(others), SOON_S)
        eventually(lambda: not is_stopped(controller, "silent"), SOON_S)
        eventually(lambda: states(controller) == {"ready": 1, "not_ready": 0, "unknown": 0, "silent": 2, "no_agent": 0}, SOON_S)


def test_of_a_hundred_nodes_a_fifth_is_closed_for_silence(cluster, tmp_path):
    """20 of 30 that are silent at once. Those that are back are opened though the limit is reached, and others take their places."""
    with Fleet(cluster, "silent", 100) as fleet:
        fleet.agents.ready()
        with fleet.controller(tmp_path) as controller, fleet.agents.beating(5):
            silent, back = fleet.names[40:70], set()
            fleet.agents.stop(*silent)
            eventually(lambda: states(controller)["silent"] == 30, _CLOSES_S)
            eventually(lambda: len(fleet.tainted()) == 20 and is_stopped(controller, "silent"), SOON_S)
            for _ in range(2):
                closed = fleet.closed()
                assert len(closed) == 20
                assert closed == fleet.tainted()
                assert closed <= set(silent) - back
                returning = sorted(closed)[:5]
                back |= set(returning)
                fleet.agents.start(*returning)
                fleet.agents.ready(*returning)
                eventually(lambda returning=returning: not fleet.tainted() & set(returning), SOON_S)
                eventually(lambda: len(fleet.closed()) == len(fleet.tainted()) == 20, SOON_S)
            assert set() < set(fleet.events("SilentLimit")) < set(silent)
            eventually(lambda: states(controller) == {"ready": 80, "not_ready": 0, "unknown": 0, "silent": 20, "no_agent": 0}, SOON_S)
            eventually(lambda: not is_stopped(controller, "silent"), SOON_S)


def test_of_a_hundred_nodes_half_is_tainted(cluster, tmp_path):
    """50 of 60 that are not ready at once. Those that are ready again are opened though the limit is reached; then others follow."""
    with Fleet(cluster, "verdicts", 100) as fleet:
        fleet.agents.ready()
        with fleet.controller(tmp_path, "--stale-after", 600) as controller:
            bad = set(fleet.names[20:80])
            fleet.agents.not_ready(*sorted(bad))
            eventually(lambda: len(fleet.tainted()) == 50 and is_stopped(controller, "tainted"), SOON_S)
            tainted = fleet.tainted()
            assert tainted < bad
            assert tainted == fleet.tainted(MULTI_NOT_READY)
            eventually(lambda: fleet.events("TaintLimit"), SOON_S)
            ((named, text),) = fleet.events("TaintLimit").items()
            assert named in bad - tainted
            assert "50 of 100 nodes are tainted or silent" in text
            eventually(lambda: states(controller) == {"ready": 40, "not_ready": 60, "unknown": 0, "silent": 0, "no_agent": 0}, SOON_S)
            mended = sorted(tainted)[:4]
            fleet.agents.ready(*mended)
            eventually(lambda: not fleet.tainted() & set(mended), SOON_S)
            eventually(lambda: len(fleet.tainted()) == 50, SOON_S)
            assert tainted - set(mended) < fleet.tainted() < bad
            eventually(lambda: is_stopped(controller, "tainted"), SOON_S)
            fleet.agents.ready()
            eventually(lambda: not fleet.tainted() | fleet.tainted(MULTI_NOT_READY), SOON_S)
            eventually(lambda: not is_stopped(controller, "tainted"), SOON_S)


def test_without_agents_nothing_is_closed(cluster, tmp_path):
    """A node without verdict is tainted, in its first pass too, once half of the nodes have one."""
    with Fleet(cluster, "agents", 6) as fleet, fleet.controller(tmp_path) as controller:
        eventually(lambda: is_stopped(controller, "no-agent"), SOON_S)
        one, other, third, begins, *bare = fleet.names
        fleet.agents.ready(other)
        fleet.agents.not_ready(one)
        fleet.agents.first_pass(begins)
        eventually(lambda: fleet.tainted() == {one}, SOON_S)
        eventually(lambda: states(controller) == {"ready": 1, "not_ready": 1, "unknown": 0, "silent": 0, "no_agent": 4}, SOON_S)
        eventually(lambda: is_stopped(controller, "no-agent"), SOON_S)
        assert fleet.tainted() == {one}
        assert ["fewer than half" in text for text in fleet.events("NoAgent").values()] == [True]
        fleet.agents.ready(third, one)
        eventually(lambda: fleet.tainted() == fleet.tainted(MULTI_NOT_READY) == {begins, *bare}, SOON_S)
        eventually(lambda: not is_stopped(controller, "no-agent"), SOON_S)
        assert "hostagent has not judged this node" in mark(cluster.get(bare[0]), "why")
        fleet.agents.ready(begins)
        eventually(lambda: fleet.tainted() == set(bare), SOON_S)


def test_an_agent_that_begins_gets_no_new_taint(cluster, tmp_path):
    """A node with a summary in its first pass; one without is tainted meanwhile, and a verdict ends the wait."""
    with Fleet(cluster, "begins", 4) as fleet:
        fleet.agents.ready()
        with fleet.controller(tmp_path, "--stale-after", 600), fleet.watched() as history:
            kept, bare, failing, tainted = fleet.names
            fleet.agents.not_ready(tainted)
            eventually(lambda: fleet.tainted() == {tainted}, SOON_S)
            fleet.agents.first_pass(kept, failing, tainted, keeps_summary=True)
            eventually(lambda: label(history.of(kept)[-1].node) == "unknown", SOON_S)
            fleet.agents.first_pass(bare)
            eventually(lambda: fleet.tainted() == {bare, tainted}, SOON_S)
            time.sleep(10)
            assert fleet.tainted() == {bare, tainted}, "a taint that is there stays"
            fleet.agents.ready(kept, bare, tainted)
            fleet.agents.not_ready(failing)
            eventually(lambda: fleet.tainted() == {failing}, SOON_S)
            assert not any(has(version.node, key) for version in history.of(kept) for key in KEYS)


def test_clocks_and_odd_heartbeats_close_nothing(cluster, tmp_path):
    """A clock one day ahead and heartbeats that are no time, for longer than the limit of silence; and that clock keeps no dead node open."""
    with Fleet(cluster, "clocks", 4) as fleet:
        ahead, odd, *_ = fleet.names
        fleet.agents.by_name[ahead].ahead_s = 86400
        fleet.agents.ready()
        words = Agents(cluster, [odd])
        words.ready()
        fleet.agents.stop(odd)
        with fleet.controller(tmp_path), fleet.watched() as history, fleet.agents.beating(1):
            ends, number = time.monotonic() + _CLOSES_S, 0
            while time.monotonic() < ends:
                number += 1
                words.heartbeat(text=f"no time {number % 2}")
                time.sleep(1)
            for name in fleet.names:
                assert not any(is_closed(version.node) or has(version.node) for version in history.of(name))
            fleet.agents.stop(ahead)
            eventually(lambda: ahead in fleet.closed() & fleet.tainted(), _CLOSES_S)


def test_a_label_edited_by_hand_ends_with_the_agents_next_write(cluster, tmp_path):
    def edit(name, value):
        cluster.admin("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": {"hostagent.dev/ready": value}}}, kind=MERGE)

    with Fleet(cluster, "edited", 3) as fleet:
        good, bad, gone = fleet.names
        fleet.agents.ready()
        fleet.agents.not_ready(bad, multi="ready")
        with fleet.controller(tmp_path, "--stale-after", 600):
            eventually(lambda: fleet.tainted() == {bad}, SOON_S)
            edit(good, "false")
            edit(bad, "true")
            edit(gone, None)
            eventually(lambda: fleet.tainted() == {good, gone}, SOON_S)
            fleet.agents.heartbeat()
            eventually(lambda: fleet.tainted() == {bad}, 10)
