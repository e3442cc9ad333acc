"""Prolog: a job is let in or refused by a fresh verdict, else by one check; what hostagent itself does wrong refuses no job."""

import json
import time
from pathlib import Path

import pytest

from hostagent.cli import slurmprolog
from hostagent.core.errors import HostagentError, OutOfTime
from tests.unit.reports import judgement
from tests.unit.slurm.nodestate import HEALTHY, LOST, SICK, daemon_says, files, judged, markers, slurm


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def checks(monkeypatch):
    """Counts the checks of the host; each is answered by what was put in: a report, or what it raises."""
    from hostagent.engine.pipeline import prepare
    from hostagent.profiles.profile import load
    from hostagent.slurm.programs.hostcheck import Purpose, document

    asked, answers = [], []
    prepared = prepare(load("default", site_file=""))

    def check_node(options, author, limit_s=0.0):
        asked.append(limit_s)
        found = answers.pop(0)
        if isinstance(found, BaseException):
            raise found
        return document(found, prepared, Purpose(options.node, 625.0, author), time.time())

    monkeypatch.setattr(slurmprolog, "check_node", check_node)
    return asked, answers


@pytest.mark.parametrize("word", ["ready", "degraded"])
def test_a_fresh_placeable_verdict_lets_the_job_in_without_a_check(folder, checks, word):
    daemon_says(folder, word)
    assert slurm("prolog", folder, SLURM_JOB_ID="17") == (0, "", "")
    assert checks[0] == []


def test_a_fresh_verdict_not_ready_refuses_with_one_line_and_a_marker_and_no_check(folder, checks):
    daemon_says(folder, "not_ready")
    code, line, _ = slurm("prolog", folder, SLURM_JOB_ID="17")
    assert (code, line) == (1, f"hostagent: prolog: job 17 refused: GpuOnBus: {LOST}.\n")
    (marker,) = markers(folder)
    assert (marker["program"], marker["reason"]) == ("prolog", f"hostagent: GpuOnBus: {LOST}.")
    assert abs(marker["at"] - time.time()) < 60
    assert checks[0] == []


def test_the_exit_code_of_a_refusal_is_the_one_asked_for(folder):
    daemon_says(folder, "not_ready")
    assert slurm("prolog", folder, "--refusal-code", "100")[0] == 100


@pytest.mark.parametrize("word", ["ready", "not_ready"])
def test_the_begin_of_the_job_is_noted_also_where_the_job_is_refused(folder, word):
    daemon_says(folder, word)
    before = time.time()
    slurm("prolog", folder, SLURM_JOB_ID="17")
    assert before - 1 <= float((folder / "slurm/n1.job-17").read_text()) <= time.time()


@pytest.mark.parametrize(
    "state",
    [
        {"word": "ready", "age_s": 700.0},
        {"word": "ready", "boot_id": "another"},
        {"word": "ready", "reason": "AgentStale"},
        {"word": "ready", "reason": "FirstPass"},
        {"word": "unknown"},
        {"word": ""},
    ],
)
def test_a_verdict_that_is_stale_missing_of_another_boot_or_unknown_is_checked_once(folder, checks, state):
    asked, answers = checks
    answers.append(judged("not_ready"))
    if state["word"]:
        daemon_says(folder, **state)
    code, line, _ = slurm("prolog", folder, "--refresh-deadline", "7")
    assert (code, asked) == (1, [7.0])
    assert LOST in line


def test_the_verdict_of_a_check_serves_the_next_job(folder, checks):
    checks[1].append(judged("ready"))
    assert slurm("prolog", folder)[0] == slurm("prolog", folder)[0] == 0
    assert checks[0] == [10.0]
    assert json.loads((folder / "slurm/verdict.json").read_text())["slurm"]["author"] == "prolog"


@pytest.mark.parametrize(("numbers", "code"), [("", 0), ("0,1", 1)])
def test_a_job_without_gpus_is_let_in_on_a_node_without_gpus(folder, checks, numbers, code):
    daemon_says(folder, "not_ready")
    path = folder / "state.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "has_gpus": False}))
    assert slurm("prolog", folder, SLURM_JOB_GPUS=numbers)[0] == code


def test_next_to_a_daemon_none_of_its_files_is_written(folder, checks):
    daemon_says(folder, "ready", age_s=700.0)
    before = (folder / "state.json").read_bytes()
    checks[1].append(judged("not_ready"))
    slurm("prolog", folder, SLURM_JOB_ID="17")
    assert (folder / "state.json").read_bytes() == before
    assert {one.name for one in folder.iterdir()} == {"state.json", "slurm"}


@pytest.mark.parametrize("found", [judged("unknown"), OutOfTime("the time is up")])
@pytest.mark.parametrize(("word", "code"), [("refuse", 1), ("allow", 0)])
def test_what_the_check_cannot_tell_is_what_on_unknown_says_with_a_line(folder, checks, found, word, code):
    checks[1].append(found)
    answered, line, _ = slurm("prolog", folder, "--on-unknown", word, SLURM_JOB_ID="17")
    assert (answered, line.count("\n")) == (code, 1)
    assert len(markers(folder)) == code
    assert "verdict.json" not in files(folder)


def test_unknown_refuses_unless_the_site_says_otherwise(folder, checks):
    checks[1].append(judged("unknown"))
    assert slurm("prolog", folder)[0] == 1


@pytest.mark.parametrize(
    ("asked", "nodes", "code"),
    [
        ("auto", "2", 1), ("auto", "1", 0), ("auto", None, 0), ("auto", "many", 0), ("single", "2", 0), ("multi", "1", 1),
    ],
)  # fmt: skip
def test_a_job_of_several_nodes_asks_for_the_verdict_of_several_nodes(folder, asked, nodes, code):
    daemon_says(folder, "multi_not_ready")
    assert slurm("prolog", folder, "--scope", asked, **({"SLURM_JOB_NUM_NODES": nodes} if nodes else {}))[0] == code


@pytest.mark.parametrize(("word", "code"), [("allow", 0), ("refuse", 1)])
def test_files_of_the_site_that_do_not_load_are_what_on_own_fault_says(folder, tmp_path, word, code):
    (tmp_path / "broken.yaml").write_text("gpus: {count: many}\n")
    answered, line, _ = slurm("prolog", folder, "--from", HEALTHY, "--profile", tmp_path / "broken.yaml", "--on-own-fault", word)
    assert (answered, line.count("\n")) == (code, 1)
    assert "gpus.count" in line
    assert len(markers(folder)) == code


@pytest.mark.parametrize("profile", ["catalogues: [no_such_checks]\n", "checks: {gpu.xdi: {off: x}}\n", "extends: nowhere.yaml\n"])
def test_a_catalogue_a_check_or_a_parent_that_is_not_there_lets_the_job_in(folder, tmp_path, profile):
    (tmp_path / "broken.yaml").write_text(profile)
    code, line, _ = slurm("prolog", folder, "--from", SICK, "--profile", tmp_path / "broken.yaml")
    assert (code, line.count("\n")) == (0, 1)
    assert "--on-own-fault allow" in line


def test_a_site_file_that_does_not_load_lets_the_job_in(folder, checks):
    checks[1].append(HostagentError("/etc/hostagent/profile.yaml:1: gpus: nonsense", ""))
    code, line, _ = slurm("prolog", folder)
    assert (code, line.count("\n")) == (0, 1)


def test_a_reader_or_a_check_that_crashed_is_a_fault_of_hostagent_and_not_of_the_node(folder, checks):
    checks[1].append(judged("ready", judgement("gpu.lost", outcome="unknown", code="crashed", message="the check crashed: KeyError")))
    code, line, _ = slurm("prolog", folder, "--on-unknown", "refuse")
    assert (code, line.count("\n"), "hostagent itself failed" in line) == (0, 1, True)


def test_a_recording_is_judged_as_of_now(folder):
    code, line, _ = slurm("prolog", folder, "--from", SICK, SLURM_JOB_ID="17")
    assert (code, "GpuOnBus" in line) == (1, True)
    found = json.loads((folder / "slurm/verdict.json").read_text())
    assert found["valid_until"] > time.time() > found["observed_at"] > time.time() - 60
    assert slurm("prolog", folder, "--from", HEALTHY)[0] == 1, "by the verdict, of the same recorded boot"
    (folder / "slurm/verdict.json").write_text(json.dumps({**found, "boot_id": "another"}))
    assert slurm("prolog", folder, "--from", HEALTHY)[0] == 0, "by a check"


def test_a_state_directory_that_cannot_be_written_costs_a_line_and_no_job(tmp_path, checks):
    (tmp_path / "state").write_text("a file")
    checks[1].extend([judged("ready"), judged("not_ready")])
    code, line, _ = slurm("prolog", tmp_path / "state", SLURM_JOB_ID="17")
    assert (code, line.count("\n"), "cannot write below" in line) == (0, 1, True)
    code, line, _ = slurm("prolog", tmp_path / "state", SLURM_JOB_ID="17")
    assert (code, "no proof is left" in line) == (1, True)


def test_a_dry_run_writes_nothing_refuses_no_job_and_says_what_it_would_do(folder, tmp_path):
    code, line, printed = slurm("prolog", folder, "--from", SICK, "--dry-run", SLURM_JOB_ID="17", SLURM_JOB_NUM_NODES="2")
    assert (code, printed) == (0, "would refuse a job of scope multi on n1\n")
    assert LOST[:3] in line
    assert not folder.exists()


def test_a_job_id_that_is_no_number_names_no_file(folder):
    daemon_says(folder, "ready")
    code, line, _ = slurm("prolog", folder, SLURM_JOB_ID="../../x")
    assert (code, "not noted" in line, files(folder)) == (0, True, set())


def test_the_modules_that_read_a_host_are_not_imported_for_a_fresh_verdict(folder):
    import subprocess
    import sys

    daemon_says(folder, "ready")
    code = f"""
import sys
import click  # which takes subprocess along on Python 3.10
before = set(sys.modules)
from hostagent.cli.run import run
code = run(["slurm", "prolog", "--node", "n1", "--state-dir", {str(folder)!r}])
names = ("hostagent.engine.collect", "hostagent.engine.pipeline", "hostagent.engine.catalogue", "hostagent_checks", "hostagent.slurm.client", "yaml", "subprocess")
print(code, [name for name in sys.modules if name.startswith(names) and name not in before])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    assert done.stdout == "0 []\n"
