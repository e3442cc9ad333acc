"""What is known of a node without a new look, and one look of our own."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hostagent.daemon import statedir
from hostagent.daemon.conditions import measured
from hostagent.daemon.debounce import at_once, first
from hostagent.domains.slurm import conf
from hostagent.engine.catalogue import load as catalogue
from hostagent.engine.pipeline import Prepared
from hostagent.engine.report import Verdicts, state
from hostagent.engine.report.grouping import with_headline
from hostagent.profiles.profile import load
from hostagent.slurm.programs.hostcheck import Purpose, document
from hostagent.slurm.programs.interval import interval_s
from hostagent.slurm.programs.spool import Spool
from hostagent.slurm.programs.verdict import CONDITIONS, fresh, keep, of_daemon, of_programs, parsed
from tests.unit.reports import judgement, report
from tests.unit.slurm.slurmparts import verdict

BOOT = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
NOW = time.time()
FAULT = judgement("gpu.row_remap", headline="GPU 3 needs a reset")


def reported(*judgements, **more):
    return with_headline(replace(report(*judgements), **{"observed_at": NOW, "valid_until": NOW + 900, "boot_id": BOOT, **more}))


def by_daemon(folder, found, told=None):
    """As a daemon leaves its state file."""
    told = told or at_once(BOOT, measured(found, {}), found.observed_at)
    written = statedir.document(state.document(found, ()), found, told)
    statedir.save(str(folder), {statedir.STATE: statedir.state_text(written)})


def by_program(folder, node="n1", boot=BOOT, age_s=0.0, author="health", **more):
    """As our programs leave it."""
    times = {"observed_at": NOW - age_s, "valid_until": NOW - age_s + 900, "boot_id": boot}
    conditions = [{"type": kind, "status": "False", "reason": "GpuXid", "message": "GPU 1 had Xid 79"} for kind in CONDITIONS]
    found = {**state.document(reported(FAULT), ()), **times, "conditions": conditions, "slurm": {"node": node, "author": author}, **more}
    Spool.open(str(folder), node).save_verdict(json.dumps(found))
    return parsed(found)


def taken(folder, now=NOW + 1, boot=None):
    return fresh(str(folder), "n1", boot, now)


def test_a_daemons_verdict_is_taken(tmp_path):
    by_daemon(tmp_path, reported(FAULT))
    found = taken(tmp_path)
    assert (found.word("single"), found.reason("single"), found.headline, found.author) == (
        "not_ready",
        "GpuRowRemap",
        "GPU 3 needs a reset",
        "daemon",
    )


def test_a_verdict_of_check_is_not_taken_for_the_daemons(tmp_path):
    state.save(reported(FAULT), (), str(tmp_path / "state.json"))
    assert taken(tmp_path) is None


def test_a_verdict_of_our_programs_comes_back_as_it_was(tmp_path):
    made = by_program(tmp_path, quarantine="GpuXid", author="epilog")
    assert taken(tmp_path) == made


def test_a_verdict_of_another_node_of_this_machine_is_not_taken(tmp_path):
    by_program(tmp_path, node="n2")
    assert taken(tmp_path) is None


@pytest.mark.parametrize("author", ["daemon", "health"])
def test_a_verdict_that_has_expired_or_is_of_another_boot_is_not_taken(tmp_path, author):
    by_program(tmp_path) if author == "health" else by_daemon(tmp_path, reported(FAULT))
    assert taken(tmp_path)
    assert taken(tmp_path, now=NOW + 901) is None
    assert taken(tmp_path, boot="another") is None


def test_a_recordings_boot_counts_where_the_host_is_one(tmp_path):
    by_program(tmp_path, boot="of-the-recording")
    assert taken(tmp_path) is None
    assert taken(tmp_path, boot="of-the-recording")


@pytest.mark.parametrize(("later_s", "author"), [(-10, "daemon"), (10, "epilog")])
def test_the_newer_of_the_two_is_taken(tmp_path, later_s, author):
    by_daemon(tmp_path, reported(judgement("gpu.a", outcome="pass")))
    by_program(tmp_path, age_s=-later_s, author="epilog")
    assert taken(tmp_path, now=NOW + 20).author == author


def test_a_daemon_that_has_found_nothing_yet_or_is_silent_is_not_taken(tmp_path):
    found = reported(judgement("gpu.a", outcome="pass"))
    by_daemon(tmp_path, found, first(BOOT, NOW))
    assert of_daemon(str(tmp_path), None, NOW + 1) is None
    by_daemon(tmp_path, found)
    path = tmp_path / "state.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"Ready"', '"AgentStale"'), encoding="utf-8")
    assert of_daemon(str(tmp_path), None, NOW + 1) is None


@pytest.mark.parametrize("outcome", ["fail", "unknown"])
def test_a_daemons_verdict_that_slurmd_is_dead_is_not_taken_by_what_slurmd_starts(tmp_path, outcome):
    by_daemon(tmp_path, reported(judgement("slurm.slurmd_running", outcome=outcome)))
    assert taken(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"slurm": 1}'])
def test_a_damaged_verdict_is_none(tmp_path, text):
    by_program(tmp_path)
    (tmp_path / "slurm/verdict.json").write_text(text, encoding="utf-8")
    assert taken(tmp_path) is None


@pytest.mark.parametrize(
    "change",
    [{"slurm": {"node": "n1", "author": "me"}}, {"conditions": [{"type": "Ready", "status": "True"}]}, {"conditions": []}, {"todo": [1]}],
)
def test_a_verdict_of_another_shape_is_none(tmp_path, change):
    by_program(tmp_path)
    path = tmp_path / "slurm/verdict.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **change}), encoding="utf-8")
    assert of_programs(str(tmp_path), "n1", None, NOW + 1) is None


@pytest.mark.parametrize(
    ("messages", "is_own"),
    [
        (("the check crashed: KeyError: 'x' (a.py:1 in f)",), True),
        (("could not read (error: reading Gpus crashed: TypeError: x)", "the check crashed: KeyError: 'x'"), True),
        (("not judged (timeout: 5 s of processor time were up)",), True),
        (("could not read (timeout: 5 s)",), False),
        (("the check crashed: KeyError: 'x'", "could not read (denied: /dev/kmsg)"), False),
        ((), False),
    ],
)
def test_unknown_for_crashes_alone_is_hostagents_own_fault(tmp_path, messages, is_own):
    listed = [judgement(f"gpu.a{number}", outcome="unknown", message=text) for number, text in enumerate(messages)]
    by_daemon(tmp_path, reported(*listed, judgement("gpu.b", outcome="pass")))
    assert taken(tmp_path).own_fault == is_own


def prepared(quarantine=()):
    loaded = load("default", site_file="")
    loaded = loaded._replace(profile=replace(loaded.profile, quarantine=quarantine))
    return Prepared(loaded, catalogue(["hostagent_checks"]), (), False, 0.0)


def test_a_look_of_our_own_says_what_was_found_and_holds_from_now_on(tmp_path):
    found = document(reported(FAULT, observed_at=5.0), prepared(("gpu.row_remap",)), Purpose("n1", 625.0, "health"), time.time())
    one = parsed(found)
    assert (one.single, one.single_reason, one.headline, one.quarantine) == (
        "not_ready",
        "GpuRowRemap",
        "GPU 3 needs a reset",
        "GpuRowRemap",
    )
    assert (abs(one.observed_at - time.time()) < 60, one.valid_until - one.observed_at) == (True, 625.0)
    Spool.open(str(tmp_path), "n1").save_verdict(json.dumps(found))
    assert fresh(str(tmp_path), "n1", None, time.time()) == one


def test_a_reason_has_the_headline_of_the_fault_that_its_scope_counts():
    of_cluster = judgement("fabric.a", scope="cluster", headline="Port mlx5_0:1 is down")
    both = with_headline(replace(reported(of_cluster, FAULT), reading_order=("fabric.a", "gpu.row_remap")))
    assert both.headline == "Port mlx5_0:1 is down"
    found = parsed(document(both, prepared(), Purpose("n1", 625.0, "health"), time.time()))
    assert (found.single_reason, found.headline_and_step("single")) == ("GpuRowRemap", ("GPU 3 needs a reset", ""))
    assert (found.multi_reason, found.headline_and_step("multi")) == ("FabricA", ("Port mlx5_0:1 is down", ""))


@pytest.mark.parametrize(("later_s", "counts"), [(1.0, "epilog"), (-1.0, "health")])
def test_a_check_that_began_before_the_epilogs_finding_does_not_take_its_place(tmp_path, later_s, counts):
    by_program(tmp_path, age_s=-later_s, author="epilog")
    found = document(reported(judgement("gpu.a", outcome="pass")), prepared(), Purpose("n1", 625.0, "health"), NOW)
    assert keep(Spool.open(str(tmp_path), "n1"), found).author == counts
    assert taken(tmp_path, now=NOW + 5).author == counts


@pytest.mark.parametrize(
    ("gpus", "driver", "has_gpus"),
    [
        ([], {"loaded": {"unread": "absent"}}, False),
        ([], {"loaded": "580.1"}, True),  # all of them are lost
        ([], {"loaded": {"unread": "denied"}}, True),
        ({"unread": "denied"}, {"loaded": {"unread": "absent"}}, True),
        ([{"pci": "0000:1b:00.0"}], {"loaded": {"unread": "absent"}}, True),
    ],
)
def test_a_host_is_one_without_gpus_where_none_is_seen_and_no_driver_is_loaded(gpus, driver, has_gpus):
    found = replace(reported(FAULT), facts={**reported(FAULT).facts, "gpus": gpus, "driver": driver})
    assert document(found, prepared(), Purpose("n1", 625.0, "health"), NOW)["has_gpus"] is has_gpus


def test_the_file_of_a_look_lists_what_did_not_pass():
    found = document(reported(FAULT), prepared(), Purpose("n1", 625.0, "health"), time.time())
    assert [one["id"] for one in found["reasons"]] == ["gpu.row_remap"]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("HealthCheckInterval=60\n", 60),
        ("  healthcheckinterval = 30 # s\n", 30),
        ("#HealthCheckInterval=60\n", 300),
        ("HealthCheckInterval=0\n", 300),
        ("HealthCheckInterval=60\nHealthCheckInterval=90\n", 90),
        ("", 300),
    ],
)
def test_the_interval_is_that_of_slurm_conf(tmp_path, lines, wanted):
    path = tmp_path / "slurm.conf"
    path.write_text(f"ClusterName=a\n{lines}", encoding="ascii")
    assert interval_s(str(path)) == wanted


def test_the_interval_may_stand_in_a_file_that_slurm_conf_includes(tmp_path):
    (tmp_path / "health.conf").write_text("HealthCheckInterval=45\n", encoding="ascii")
    path = tmp_path / "slurm.conf"
    path.write_text("Include none.conf\nInclude health.conf\n", encoding="ascii")
    assert interval_s(str(path)) == 45


def test_the_interval_without_an_option_is_that_of_the_variables_file_else_of_the_usual_places(tmp_path, monkeypatch):
    usual, named = tmp_path / "slurm.conf", tmp_path / "named.conf"
    usual.write_text("HealthCheckInterval=20\n", encoding="ascii")
    named.write_text("HealthCheckInterval=40\n", encoding="ascii")
    monkeypatch.setattr(conf, "FOLDERS", (str(tmp_path / "none"), str(tmp_path)))
    monkeypatch.delenv("SLURM_CONF", raising=False)
    assert interval_s() == 20
    monkeypatch.setenv("SLURM_CONF", str(named))
    assert interval_s() == 40


def test_the_words_of_the_two_scopes_differ_where_the_verdict_does():
    one = verdict("ready", multi="not_ready", multi_reason="RdmaLinkUp")
    assert (one.is_placeable("single"), one.is_placeable("multi")) == (True, False)
    assert (one.reason("single"), one.reason("multi")) == ("Ready", "RdmaLinkUp")
    assert Verdicts(one.single, one.multi).multi_node == one.word("multi")
