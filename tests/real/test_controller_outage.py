"""The API server is away for two minutes: the controller lives, closes nothing because of it, and afterwards notices silence as before."""

import contextlib
import time

import pytest

from tests.real.cluster import GPU, started
from tests.real.controllerrun import Agents, Controller, config, seen
from tests.real.daemonrun import eventually

#: Seconds: `--stale-after`, what the controller may take more, and between two heartbeats.
_STALE_S, _CLOSED_S, _BEAT_S = 20, 10, 4
#: Seconds that the server is away; and after its return, until agents write that waited out a pause after failures.
_AWAY_S, _PAUSE_S = 120, 8
#: Pools of nodes, each with a controller: with a lease, whose loss ends all that it knows of time; and without one.
_POOLS = {"leased": (), "alone": ("--no-leader-elect",)}
#: Agents of each pool: `tries` writes during the outage, too; `waits` not until some seconds after it; `dies` as `tries`, until it is killed.
_AGENTS = ("tries", "waits", "dies")


def away_by(cluster, how):
    """SIGSTOP: connections stay open and silent; SIGKILL: they break, and new ones are refused."""
    return cluster.paused() if how == "stopped" else cluster.ended()


def of(kind):
    return [f"{pool}-{kind}" for pool in _POOLS]


def are_open(cluster, names):
    """No node has a taint or mark of the controller, or a condition AgentSilent; `names`, which is a way to wait for them."""
    assert not {name: found for name in names if not (found := seen(cluster, name)).is_open}
    return True


@pytest.mark.parametrize("how", ["stopped", "ended"])
def test_an_api_server_that_is_away_closes_nothing(tmp_path, how):
    names = [name for kind in _AGENTS for name in of(kind)]
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(started(tmp_path / "cluster"))
        for name in names:
            cluster.nodes([name], labels={**GPU, "pool": name.partition("-")[0]})
        agents = Agents(cluster, names)
        agents.ready()
        stack.enter_context(agents.beating(_BEAT_S))
        given = ("--kubeconfig", config(cluster, tmp_path / "account"), "--stale-after", _STALE_S)
        controllers = [
            stack.enter_context(Controller(tmp_path / pool, *given, "--node-selector", f"pool={pool}", *options))
            for pool, options in _POOLS.items()
        ]
        for one in controllers:
            one.leads()
        are_open(cluster, names)

        agents.stop(*of("waits"))
        with away_by(cluster, how):
            back = time.monotonic() + _AWAY_S
            while time.monotonic() < back:
                for one in controllers:
                    assert one.get("/livez", timeout=5).text == "ok\n"
                    assert one.process.poll() is None
                time.sleep(1)
            assert not controllers[0].is_leader
            assert all(agents.by_name[name].failures for name in of("tries"))

        returned = time.monotonic()
        eventually(lambda: are_open(cluster, names) and time.monotonic() > returned + _PAUSE_S)
        agents.start(*of("waits"))
        agents.heartbeat(*of("waits"))
        for one in controllers:
            one.leads()
        others = [name for name in names if name not in of("dies")]
        agents.stop(*of("dies"))
        eventually(lambda: are_open(cluster, others) and all(seen(cluster, name).is_silent for name in of("dies")), _STALE_S + _CLOSED_S)
        assert [one.metric("hostagent_controller_closings_total") for one in controllers] == [1, 1]
