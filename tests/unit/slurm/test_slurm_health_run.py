"""One run of health, on a simulated cluster."""

import os
import time
from dataclasses import replace

import pytest

from hostagent.slurm.client import SlurmError
from hostagent.slurm.programs.health import Run, run
from hostagent.slurm.programs.spool import Marker, Spool
from tests.unit.slurm.slurmparts import OURS, Cluster, node, verdict


@pytest.fixture
def spool(tmp_path):
    return Spool.open(str(tmp_path / "state"), "n1")


@pytest.fixture
def clock(monkeypatch):
    """The time in seconds; a test sets it."""
    times = [1000.0]
    monkeypatch.setattr(time, "time", lambda: times[0])
    return times


def once(spool, cluster, word="not_ready", *, said=None, is_dry=False, scope="single", **more):
    lines = [] if said is None else said
    run(Run(spool, scope, cluster, lambda: verdict(word, **more), lambda: 60.0, is_dry, lines.append))
    return lines


def test_a_fault_that_comes_and_goes_drains_and_resumes_and_leaves_the_rest(spool):
    before = node(comment="rack 7", extra='{"rack":7}')
    cluster = Cluster(before)
    once(spool, cluster)
    assert cluster.node == replace(before, states=before.states | {"DRAIN"}, reason=OURS)
    once(spool, cluster, "ready")
    assert cluster.node == before


def test_it_writes_once_for_any_number_of_runs(spool):
    cluster = Cluster(node())
    for _ in range(3):
        once(spool, cluster)
    assert len(cluster.updates) == 1


def test_a_second_fault_is_said_without_a_new_drain(spool):
    cluster = Cluster(node())
    once(spool, cluster)
    once(spool, cluster, single_reason="GpuXid", headline="GPU 1 had Xid 79")
    assert cluster.updates[1:] == [{"Reason": "hostagent: GpuXid: GPU 1 had Xid 79. Drain the node."}]


def test_one_unknown_writes_nothing_and_the_next_one_drains(spool, clock):
    cluster = Cluster(node())
    assert once(spool, cluster, "unknown")
    assert not cluster.updates
    clock[0] += 121.0
    once(spool, cluster, "unknown")
    assert cluster.updates[0]["State"] == "DRAIN"


@pytest.mark.parametrize("later", [121.1, -1.0])
def test_an_unknown_of_long_ago_or_of_the_future_is_not_the_run_before(spool, clock, later):
    cluster = Cluster(node())
    once(spool, cluster, "unknown")
    clock[0] += later
    once(spool, cluster, "unknown")
    assert not cluster.updates


def test_a_ready_between_two_unknown_counts(spool, clock):
    cluster = Cluster(node(extra="rack"))
    for word in ("unknown", "ready", "unknown"):
        clock[0] += 10
        once(spool, cluster, word)
    assert not cluster.updates


def test_unknown_for_a_crash_of_hostagent_never_drains(spool, clock):
    cluster = Cluster(node())
    for _ in range(3):
        clock[0] += 10
        assert "itself failed" in once(spool, cluster, "unknown", own_fault=True)[0]
    assert not cluster.updates


def test_while_another_run_has_the_lock_it_leaves_without_a_look(spool, tmp_path):
    cluster = Cluster(node())
    with Spool.open(str(tmp_path / "state"), "n1").lock():
        once(spool, cluster)
    assert not cluster.updates


def test_where_nothing_can_be_kept_nothing_is_written_to_slurm(spool, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(28, os.strerror(28))

    cluster = Cluster(node())
    monkeypatch.setattr(spool, "note_update", full)
    once(spool, cluster)
    assert not cluster.updates
    assert "no space left" in capsys.readouterr().err


def test_a_resume_of_a_node_that_is_not_drained_any_more_is_no_failure(spool):
    cluster = Cluster(node("IDLE+DRAIN", OURS))
    cluster.refuses = "scontrol update of n1 failed: slurm_update error: Invalid node state specified"
    once(spool, cluster, "ready")


@pytest.mark.parametrize("refusal", ["slurm_update error: Access/permission denied", "scontrol update did not end in 5.0 s"])
@pytest.mark.parametrize(("found", "word"), [(node(), "not_ready"), (node("IDLE+DRAIN", OURS), "ready")])
def test_any_other_refusal_is_one(spool, refusal, found, word):
    cluster = Cluster(found)
    cluster.refuses = refusal
    with pytest.raises(SlurmError, match=refusal):
        once(spool, cluster, word)


def test_a_node_is_read_after_the_look_at_the_host(spool):
    """A person who drains it meanwhile keeps state and reason."""
    cluster = Cluster(node())

    def look():
        cluster.node = node("IDLE+DRAIN", "bob: new memory")
        return verdict("not_ready")

    run(Run(spool, "single", cluster, look, lambda: 60.0))
    assert cluster.node.reason == "bob: new memory"


def test_a_reason_that_changes_at_the_same_moment_is_said(spool, capsys):
    cluster = Cluster(node())
    plain = cluster.update

    def update(name, values):
        plain(name, values)
        cluster.node = replace(cluster.node, reason="bob: mine")

    cluster.update = update
    once(spool, cluster)
    assert "its reason is now 'bob: mine'" in capsys.readouterr().err


def test_an_error_of_our_prolog_is_taken_over(spool):
    spool.add_marker(Marker(999.0, "prolog", "x"))
    cluster = Cluster(node("IDLE+DRAIN", "Prolog error"))
    once(spool, cluster)
    assert cluster.node.reason == OURS
    once(spool, cluster, "ready")
    assert cluster.node.states == {"IDLE"}


@pytest.mark.parametrize("word", ["ready", "not_ready"])
def test_a_refusal_makes_one_error_ours_and_not_the_next_one(spool, clock, word):
    spool.add_marker(Marker(999.0, "prolog", "x"))
    cluster = Cluster(node("IDLE+DRAIN", "Prolog error"))
    once(spool, cluster, word)
    clock[0] += 10
    cluster.node = another = node("IDLE+DRAIN", "Prolog error", reason_at=clock[0])
    once(spool, cluster, "ready", observed_at=clock[0])
    assert (cluster.node.states, cluster.node.reason) == (another.states, another.reason)


def test_a_refusal_counts_no_more_once_a_person_has_resumed_the_node(spool, clock):
    spool.add_marker(Marker(999.0, "prolog", "x"))
    clock[0] += 10
    once(spool, Cluster(node()), "ready", observed_at=clock[0])
    cluster = Cluster(node("IDLE+DRAIN", "Prolog error", reason_at=clock[0]))
    once(spool, cluster, "ready", observed_at=clock[0])
    assert "DRAIN" in cluster.node.states


def test_a_refusal_counts_while_slurmctld_has_yet_to_drain_the_node(spool, clock):
    spool.add_marker(Marker(1000.0, "prolog", "x"))
    once(spool, Cluster(node()), "ready", observed_at=clock[0])
    clock[0] += 2
    cluster = Cluster(node("IDLE+DRAIN", "Prolog error", reason_at=1001.0))
    once(spool, cluster, "ready", observed_at=clock[0])
    assert "DRAIN" not in cluster.node.states


def test_a_refusal_of_a_clock_that_was_set_back_keeps_no_node_drained(spool, clock):
    spool.add_marker(Marker(clock[0] + 3600, "prolog", "x"))
    cluster = Cluster(node("IDLE+DRAIN", OURS))
    once(spool, cluster, "ready", observed_at=clock[0])
    assert "DRAIN" not in cluster.node.states


def test_a_reason_that_could_not_be_written_is_written_by_the_next_run(spool):
    cluster = Cluster(node())
    once(spool, cluster)
    cluster.refuses = "slurmctld is busy"
    with pytest.raises(SlurmError):
        once(spool, cluster, headline="GPU 5 needs a reset")
    cluster.refuses = ""
    once(spool, cluster, headline="GPU 5 needs a reset")
    assert cluster.node.reason == "hostagent: GpuRowRemapped: GPU 5 needs a reset. Drain the node."


def test_a_dry_run_says_what_it_would_write_and_of_whom_the_reason_is(spool):
    cluster = Cluster(node("IDLE+DRAIN", "bob: new memory"))
    lines = once(spool, cluster, is_dry=True)
    assert lines[:2] == ["n1: not ready, by a check now", "n1: DRAIN+IDLE, not our reason 'bob: new memory' of root"]
    assert "would write Extra=" in lines[2]
    assert not cluster.updates
    assert os.listdir(spool.folder) == []


def test_a_dry_run_counts_no_unknown(spool, clock):
    cluster = Cluster(node())
    once(spool, cluster, "unknown", is_dry=True)
    clock[0] += 10
    once(spool, cluster, "unknown")
    assert not cluster.updates
