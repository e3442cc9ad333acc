"""``hostagent slurm health`` and ``clean`` as slurmd and people start them, over a recorded host. A script stands in for scontrol."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostagent.engine.report import daemon_lock
from tests.children import running, until

ROOT = Path(__file__).parents[3]
HOST = ROOT / "tests/hosts/hgx-h100-three-switches/tape.json"
NODE = "NodeName=n1 State=IDLE Partitions=gpu"


class Place:
    """A state directory, and a scontrol that notes what it is asked."""

    def __init__(self, folder):
        self.folder, self.state = folder, folder / "state"
        self.scontrol(f'[ "$1" = show ] && exec echo "{NODE}"; exit 0')

    def scontrol(self, script):
        path = self.folder / "scontrol"
        path.write_text(f'#!/bin/sh\nfor one in "$@"; do printf "%s\\n" "$one"; done >> {self.folder}/asked\n{script}\n', encoding="utf-8")
        path.chmod(0o755)

    @property
    def asked(self):
        path = self.folder / "asked"
        return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []

    def run(self, *arguments, program="health", **environment):
        argv = [sys.executable, "-m", "hostagent", "slurm", program, *map(str, arguments)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        return subprocess.run(argv, cwd=ROOT, env={**kept, **environment}, capture_output=True, text=True, timeout=60, check=False)

    def health(self, *arguments, host=HOST, **environment):
        where = ("--from", host, "--state-dir", self.state, "--bin-dir", self.folder)
        return self.run(*where, *arguments, **{"SLURMD_NODENAME": "n1", **environment})


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_a_node_that_is_not_ready_is_drained_by_one_update_with_what_was_found(place):
    done = place.health()
    assert done.returncode == 0
    assert place.asked[:4] == ["show", "node", "-o", "n1"]
    assert place.asked[4:8] == [
        "update",
        "NodeName=n1",
        "State=DRAIN",
        "Reason=hostagent: NvswitchBoard: The HGX H100 board has only 8 GPUs and 3 NVSwitches. Drain the node.",
    ]
    assert json.loads(place.asked[8].removeprefix("Extra="))["hostagent"] == 0
    assert place.asked.count("update") == 1


def test_a_look_leaves_its_verdict_for_the_prolog(place):
    place.health("--deadline", 20)
    kept = json.loads((place.state / "slurm/verdict.json").read_text(encoding="utf-8"))
    assert (kept["slurm"]["node"], kept["verdict"]["single_node"]) == ("n1", "not_ready")
    assert kept["valid_until"] - kept["observed_at"] == pytest.approx(2 * 300 + 20)


@pytest.fixture
def ready(place):
    """A state file that says what the host is not, as a daemon leaves it."""
    daemon = [sys.executable, "-m", "hostagent", "daemon", "--once", "--from", HOST, "--state-dir", place.state, "--kubernetes", "off"]
    subprocess.run([*map(str, daemon), "--listen", ""], cwd=ROOT, capture_output=True, check=False)
    path = place.state / "state.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["verdict"] = data["measured"] = {"single_node": "ready", "multi_node": "ready"}
    path.write_text(json.dumps(data), encoding="utf-8")


def test_the_fresh_verdict_of_a_daemon_that_runs_is_taken(place, ready):
    lock = daemon_lock.take(str(place.state))
    try:
        assert place.health().returncode == 0
    finally:
        os.close(lock)
    assert "State=DRAIN" not in place.asked
    assert not (place.state / "slurm/verdict.json").exists()


@pytest.mark.parametrize(("age_s", "drains"), [(60, False), (200, True)])
def test_the_verdict_of_a_daemon_that_has_ended_is_taken_for_its_two_intervals(place, ready, age_s, drains):
    path = place.state / "state.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "observed_at": time.time() - age_s}), encoding="utf-8")
    place.health()
    assert ("State=DRAIN" in place.asked) is drains


def test_a_dry_run_says_it_and_leaves_nothing(place):
    done = place.health("--dry-run")
    assert "n1: it is not ready: drain: would write State=DRAIN Reason=hostagent: NvswitchBoard:" in done.stdout
    assert "update" not in place.asked
    assert not place.state.exists()


@pytest.mark.parametrize(
    "arguments",
    [("--bogus",), ("--profile", "nosuch"), ("--from", "/none"), ("--node", "n[1-2]"), ("--deadline", "0"), ("--scope", "all")],
)
def test_a_mistake_of_usage_exits_2_and_asks_slurm_nothing(place, arguments):
    assert place.health(*arguments).returncode == 2
    assert place.asked == []


def test_a_recording_without_a_state_directory_is_a_mistake_of_usage(place):
    assert place.run("--from", HOST).returncode == 2


def test_a_snapshot_that_does_not_load_exits_2_and_asks_slurm_nothing(place):
    (place.folder / "bad.json").write_text("{", encoding="ascii")
    assert place.health(host=place.folder / "bad.json").returncode == 2
    assert place.asked == []


def test_a_host_that_cannot_be_read_exits_0_with_a_line(place):
    done = place.run("--host-root", "/none", "--state-dir", place.state, "--bin-dir", place.folder, "--node", "n1")
    assert done.returncode == 0
    assert done.stderr.startswith("hostagent: n1: nothing is written to Slurm: ")
    assert place.asked == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'slurm_load_node error: Unable to contact slurm controller (connect failure)' >&2; exit 1", "Unable to contact slurm"),
        ("exit 0", "scontrol shows no node n1"),
        (f'[ "$1" = show ] && exec echo "{NODE}"; echo "slurm_update error: Access/permission denied" >&2; exit 1', "permission denied"),
    ],
)
def test_a_slurm_that_does_not_answer_or_refuses_exits_0_with_a_line(place, script, said):
    place.scontrol(script)
    done = place.health()
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert said in done.stderr


def test_no_scontrol_exits_0_with_a_line(place):
    (place.folder / "scontrol").unlink()
    done = place.health()
    assert (done.returncode, "found no scontrol" in done.stderr) == (0, True)


def test_a_state_directory_that_cannot_be_made_exits_0_and_asks_slurm_nothing(place):
    place.state.write_text("", encoding="ascii")
    done = place.health()
    assert (done.returncode, place.asked) == (0, [])
    assert "nothing is written to Slurm, because" in done.stderr


def test_a_scontrol_that_sleeps_ends_within_the_deadline_and_leaves_no_child(place):
    place.scontrol("sleep 4246 & sleep 4247")
    done = place.health("--deadline", 2)
    assert (done.returncode, "did not end in" in done.stderr) == (0, True)
    assert until(lambda: not running("sleep", "4246") and not running("sleep", "4247"))


def test_it_needs_nothing_of_the_environment_but_the_nodes_name(place):
    argv = [sys.executable, "-m", "hostagent", "slurm", "health", "--from", HOST, "--state-dir", place.state, "--bin-dir", place.folder]
    done = subprocess.run(list(map(str, argv)), cwd=ROOT, env={"SLURMD_NODENAME": "n1"}, capture_output=True, text=True, check=False)
    assert (done.returncode, "State=DRAIN" in place.asked) == (0, True)


def test_clean_of_a_cluster_with_nothing_of_ours_says_so(place):
    done = place.run("--bin-dir", place.folder, program="clean")
    assert (done.returncode, done.stdout) == (0, "nothing of hostagent is left\n")


def test_clean_without_slurm_exits_2(place):
    place.scontrol("exit 1")
    assert place.run("--bin-dir", place.folder, program="clean").returncode == 2


def test_a_dry_run_of_clean_exits_1_where_something_is_ours(place):
    place.scontrol(f'[ "$1" = show ] && exec echo "{NODE} Comment=quarantine: GpuXid"; exit 0')
    done = place.run("--bin-dir", place.folder, "--dry-run", program="clean")
    assert (done.returncode, done.stdout) == (1, "n1: would write Comment=\n")
    assert "update" not in place.asked
