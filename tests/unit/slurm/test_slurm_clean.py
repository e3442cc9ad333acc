"""What clean removes, and what it leaves."""

import pytest

from hostagent.slurm.programs.clean import clean, update_of
from tests.unit.slurm.slurmparts import OURS, Cluster, node

MINE = {"comment": "quarantine: GpuXid", "extra": '{"hostagent":0,"hostagent_coverage":"full"}'}


def cleaned(found, **more):
    cluster = Cluster(found)
    (done,) = clean(cluster, cluster.show_all(), is_dry=False, **more)
    return done, cluster


def test_all_that_is_ours_goes_in_one_update():
    done, cluster = cleaned(node("IDLE+DRAIN", OURS, **MINE))
    assert cluster.updates == [{"State": "RESUME", "Comment": "", "Extra": ""}]
    assert done == ("n1: wrote State=RESUME Comment= Extra=", True)


@pytest.mark.parametrize(
    "found",
    [
        node(),
        node("IDLE+DRAIN", "bob: x", comment="rack 7", extra='{"rack":7}'),
        node("IDLE+DRAIN", "Prolog error"),
        node(comment="see quarantine: GpuXid", extra='{"hostagent":1,"rack":7}'),
    ],
)
def test_what_others_have_written_stays(found):
    done, cluster = cleaned(found)
    assert (done, cluster.updates) == (("", True), [])


def test_a_drain_of_others_stays_and_our_words_go():
    done, cluster = cleaned(node("IDLE+DRAIN", "bob: x", **MINE))
    assert cluster.updates == [{"Comment": "", "Extra": ""}]
    assert done.is_clean


@pytest.mark.parametrize("states", ["DOWN", "DOWN+DRAIN", "IDLE+DRAIN+MAINT", "IDLE+DRAIN+INVALID_REG", "IDLE+DRAIN+FAIL"])
def test_a_node_that_cannot_be_resumed_is_said_and_is_not_clean(states):
    done, cluster = cleaned(node(states, OURS, **MINE))
    assert cluster.updates == [{"Comment": "", "Extra": ""}]
    assert (done.is_clean, "its reason stays" in done.line) == (False, True)


@pytest.mark.parametrize("flag", ["REBOOT_REQUESTED", "REBOOT_ISSUED", "POWERED_DOWN", "POWERING_UP", "UNKNOWN"])
def test_a_node_that_reboots_or_is_off_is_not_touched(flag):
    done, cluster = cleaned(node(f"IDLE+DRAIN+{flag}", OURS, **MINE))
    assert (done.is_clean, cluster.updates) == (False, [])


def test_a_dry_run_writes_nothing_and_is_not_clean():
    cluster = Cluster(node("IDLE+DRAIN", OURS))
    (done,) = clean(cluster, cluster.show_all(), is_dry=True)
    assert (done, cluster.updates) == (("n1: would write State=RESUME", False), [])


def test_a_refusal_is_said():
    cluster = Cluster(node("IDLE+DRAIN", OURS))
    cluster.refuses = "Access/permission denied"
    (done,) = clean(cluster, cluster.show_all(), is_dry=False)
    assert done == ("n1: Access/permission denied", False)


def test_a_node_that_a_person_takes_over_at_this_moment_stays():
    cluster = Cluster(node("IDLE+DRAIN", OURS))
    seen = cluster.show_all()
    cluster.node = node("IDLE+DRAIN", "bob: mine")
    (done,) = clean(cluster, seen, is_dry=False)
    assert (done.line, done.is_clean, cluster.updates) == ("", True, [])


def test_what_comes_back_at_once_is_said():
    cluster = Cluster(node(**MINE))
    cluster.update = lambda *_: None
    (done,) = clean(cluster, cluster.show_all(), is_dry=False)
    assert (done.is_clean, "is not done" in done.line) == (False, True)


def test_only_a_drain_is_resumed():
    assert update_of(node("DOWN+DRAIN", OURS)) == ({}, "its reason stays, because it is DOWN+DRAIN")


def test_a_reason_that_slurm_has_kept_of_a_node_in_service_is_nothing_to_clear():
    assert update_of(node("IDLE", OURS)) == ({}, "")
