"""The API server is away for two minutes: the controller lives, closes nothing because of it, and afterwards notices silence as before."""

import contextlib
import time

import pytest

from tests.real.cluster import started
from tests.real.controlled import Fleet, is_open, is_silent
from tests.real.daemonrun import eventually

#: Seconds: `--stale-after`, what the controller may take more, and between two heartbeats.
_STALE_S, _CLOSED_S, _BEAT_S = 20, 10, 4
#: Seconds that the server is away; and after its return, until agents write that waited out a pause after failures.
_AWAY_S, _PAUSE_S = 120, 8


def away_by(cluster, how):
    """SIGSTOP: connections stay open and silent; SIGKILL: they break, and new ones are refused."""
    return cluster.paused() if how == "stopped" else cluster.ended()


def are_open(fleets):
    """No node has a taint or mark of the controller, or a condition AgentSilent: fails at once, which is a way to wait for it."""
    assert not [node for fleet in fleets for node in fleet.nodes().values() if not is_open(node)]
    return True


@pytest.mark.parametrize("how", ["stopped", "ended"])
def test_an_api_server_that_is_away_closes_nothing(tmp_path, how):
    """Two fleets, each with a controller: with a lease, whose loss ends all that it knows of time; and without one. Of each three agents:
    one writes during the outage, too; one not until some seconds after it; one as the first, until it is killed.
    """
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(started(tmp_path / "cluster"))
        fleets = [stack.enter_context(Fleet(cluster, name, 3)) for name in ("leased", "alone")]
        for fleet in fleets:
            fleet.agents.ready()
            stack.enter_context(fleet.agents.beating(_BEAT_S))
        controllers = [
            stack.enter_context(fleet.controller(tmp_path, "--stale-after", _STALE_S, is_elected=fleet is fleets[0])) for fleet in fleets
        ]
        controllers[0].leads()
        are_open(fleets)

        for fleet in fleets:
            fleet.agents.stop(fleet.names[1])
        with away_by(cluster, how):
            back = time.monotonic() + _AWAY_S
            while time.monotonic() < back:
                for one in controllers:
                    assert one.get("/livez", timeout=5).text == "ok\n"
                    assert one.process.poll() is None
                time.sleep(1)
            assert not controllers[0].is_leader
            assert all(fleet.agents.by_name[fleet.names[0]].failures for fleet in fleets)

        returned = time.monotonic()
        eventually(lambda: are_open(fleets) and time.monotonic() > returned + _PAUSE_S)
        for fleet in fleets:
            fleet.agents.start(fleet.names[1])
            fleet.agents.heartbeat(fleet.names[1])
        for one in controllers:
            one.leads()
        for fleet in fleets:
            fleet.agents.stop(fleet.names[2])
        eventually(lambda: all(is_silent(cluster.get(fleet.names[2])) for fleet in fleets), _STALE_S + _CLOSED_S)
        assert all(is_open(cluster.get(name)) for fleet in fleets for name in fleet.names[:2])
        assert [one.metric("hostagent_controller_closings_total") for one in controllers] == [1, 1]
