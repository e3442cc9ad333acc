"""The state directory: what is written after a pass, and what is read back at the next start."""

import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hostagent.core.unread import Unread
from hostagent.daemon import build_message, statedir
from hostagent.daemon.conditions import measured
from hostagent.daemon.debounce import advance, at_once, first
from hostagent.daemon.documents import Documents
from hostagent.daemon.history import FRESH
from hostagent.engine.report import Verdicts, daemon_lock, state
from hostagent.engine.report.grouping import with_headline
from hostagent.engine.report.node_summary import summary
from hostagent.facts.gpu import Xid
from hostagent.facts.history import Fault
from tests.unit.reports import judgement, report

BOOT_ID = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
SICK = (judgement("gpu.a", headline="GPU 4 has fallen off the bus"), judgement("rdma.a", outcome="pass"))
WELL = (judgement("gpu.a", outcome="pass"), judgement("rdma.a", outcome="pass"))


def fresh(*judgements):
    now = time.time()
    return with_headline(replace(report(*judgements), observed_at=now, valid_until=now + 900, boot_id=BOOT_ID))


def kept(folder, found, told, profile_files=()):
    document = statedir.document(state.document(found, profile_files), found, told)
    texts = statedir.texts(told, document, summary(found), Documents().report(found))
    return statedir.save(str(folder), {**texts, statedir.HISTORY: "{}"})


def told_of(found):
    return at_once(BOOT_ID, measured(found, {"rdma.a": "FabricReady"}), found.observed_at)


def status(folder, *form):
    command = [sys.executable, "-m", "hostagent", "status", "--state-file", f"{folder}/state.json", *form]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


def test_every_file_is_there_and_the_report_is_nobody_elses(tmp_path):
    assert kept(tmp_path, fresh(*SICK), told_of(fresh(*SICK))) == ()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"state.json": 0o644, "summary.json": 0o644, "report.json": 0o600, "told.json": 0o600, "history.json": 0o600}


def test_the_directory_is_everybodys_to_look_into_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        kept(tmp_path / "run/hostagent", fresh(*WELL), told_of(fresh(*WELL)))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "run/hostagent").stat().st_mode) == 0o755


def test_what_was_told_is_read_back_in_the_same_boot_alone(tmp_path):
    found = fresh(*SICK)
    told = told_of(found)
    kept(tmp_path, found, told)
    assert statedir.published(str(tmp_path), BOOT_ID) == (told, "")
    assert statedir.published(str(tmp_path), "another boot") == (None, "")
    assert statedir.text(str(tmp_path), statedir.HISTORY).value == "{}"


def test_nothing_was_told_before_the_first_start(tmp_path):
    assert statedir.published(str(tmp_path), BOOT_ID) == (None, "")
    assert statedir.published(str(tmp_path / "none"), BOOT_ID) == (None, "")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"\xff", b'{"boot_id": 1, "held": []}', b"[" * 100_000, b'{"boot_id": "x", "held": []}']
)
def test_a_damaged_memory_is_said_and_taken_for_none(tmp_path, data):
    (tmp_path / "told.json").write_bytes(data)
    found = statedir.published(str(tmp_path), "x")
    assert found.value is None
    assert "is damaged" in found.problem


@pytest.mark.parametrize("change", [{"changed_at": 1e300}, {"changed_at": float("nan")}, {"flapping_until": -1}, {"type": "Ready"}])
def test_a_memory_with_times_or_conditions_of_no_daemon_is_taken_for_none(tmp_path, change):
    kept(tmp_path, fresh(*WELL), told_of(fresh(*WELL)))
    data = json.loads((tmp_path / "told.json").read_text())
    data["held"][1].update(change)
    (tmp_path / "told.json").write_text(json.dumps(data))
    assert statedir.published(str(tmp_path), BOOT_ID).value is None


def test_a_memory_that_somebody_else_may_write_is_not_believed(tmp_path):
    kept(tmp_path, fresh(*WELL), told_of(fresh(*WELL)))
    (tmp_path / "told.json").chmod(0o666)
    found = statedir.published(str(tmp_path), BOOT_ID)
    assert (found.value, "may write" in found.problem) == (None, True)


def test_what_cannot_be_written_is_said_and_all_else_is_written(tmp_path):
    (tmp_path / "report.json").mkdir()
    said_of = kept(tmp_path, fresh(*WELL), told_of(fresh(*WELL)))
    assert len(said_of) == 1
    assert "report.json is not written and stays as it was: " in said_of[0]
    assert (tmp_path / "state.json").exists()


def test_a_state_directory_of_others_is_said_and_left_alone(tmp_path):
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    said_of = kept(tmp_path / "open", fresh(*WELL), told_of(fresh(*WELL)))
    assert "may write" in said_of[0]
    assert list((tmp_path / "open").iterdir()) == []


def test_the_verdict_of_the_file_is_the_one_that_is_told(tmp_path):
    told = told_of(fresh(*SICK))
    well = fresh(*WELL)
    told = advance(told, measured(well, {}), well.observed_at)
    kept(tmp_path, well, told)
    found = state.read(f"{tmp_path}/state.json", time.time())
    assert (found.problem, found.placeable("single_node")) == ("", False)
    assert found.data["verdict"] == {"single_node": "not_ready", "multi_node": "not_ready"}
    assert found.data["measured"] == {"single_node": "ready", "multi_node": "ready"}
    assert [(one["type"], one["status"]) for one in found.data["conditions"]][:2] == [("Ready", "False"), ("MultiNodeReady", "False")]
    shown = status(tmp_path)
    assert shown.returncode == 1
    assert shown.stdout.splitlines()[0] == "NOT READY  GPU 4 has fallen off the bus"
    assert "the last pass found it ready; that is told once the next pass finds it, too" in shown.stdout


def test_status_looks_at_no_profile_file_of_a_pod(tmp_path):
    kept(tmp_path, fresh(*WELL), told_of(fresh(*WELL)), None)
    found = status(tmp_path, "--json")
    assert (json.loads(found.stdout)["profile_changed"], found.returncode) == (None, 0)
    assert "profile file" not in status(tmp_path).stdout
    assert "run 'hostagent check'" not in status(tmp_path).stdout


def test_status_hashes_the_profile_files_of_a_daemon_of_this_host(tmp_path):
    site = tmp_path / "profile.yaml"
    site.write_text("")
    kept(tmp_path, fresh(*WELL), told_of(fresh(*WELL)), ((str(site), "0" * 64),))
    assert f"profile file {site} has changed since: the daemon's next pass is by it" in status(tmp_path).stdout


@pytest.mark.parametrize("change", [{"measured": {}}, {"measured": 1}, {"conditions": 1}, {"conditions": [{}]}, {"profile_files": None}])
def test_a_state_file_of_another_shape_is_damaged(tmp_path, change):
    kept(tmp_path, fresh(*WELL), told_of(fresh(*WELL)))
    data = json.loads((tmp_path / "state.json").read_text())
    (tmp_path / "state.json").write_text(json.dumps({**data, **change}))
    found = status(tmp_path)
    assert (found.returncode, "is damaged" in found.stdout, found.stderr) == (1, True, "")


class TestLock:
    """A daemon keeps a state directory."""

    HOLDER = "import sys\nfrom hostagent.engine.report import daemon_lock as daemonlock\nprint(daemonlock.take(sys.argv[1]), flush=True)\n{}sys.stdin.read()\n"

    def holder(self, folder, more=""):
        code = self.HOLDER.format(more)
        return subprocess.Popen([sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def test_one_process_holds_it_and_its_end_frees_it(self, tmp_path):
        assert not daemon_lock.is_held(str(tmp_path))
        with self.holder(tmp_path) as one:
            assert int(one.stdout.readline()) > 2
            assert daemon_lock.is_held(str(tmp_path))
            assert daemon_lock.take(str(tmp_path)) is None
            assert stat.S_IMODE((tmp_path / "daemon.lock").stat().st_mode) == 0o600
            one.kill()
            one.wait()
        assert not daemon_lock.is_held(str(tmp_path))

    def test_a_child_that_outlives_the_daemon_keeps_no_other_one_away(self, tmp_path):
        with self.holder(tmp_path, "import os\nif os.fork() == 0: sys.stdin.read(); os._exit(0)\n") as one:
            one.stdout.readline()
            one.kill()
            os.waitpid(one.pid, 0)
            assert not daemon_lock.is_held(str(tmp_path))
            one.returncode = 0

    def test_a_look_at_it_frees_nothing(self, tmp_path):
        with self.holder(tmp_path) as one:
            one.stdout.readline()
            assert [daemon_lock.is_held(str(tmp_path)) for _ in range(3)] == [True] * 3
            one.stdin.close()

    @pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/null")])
    def test_what_is_no_file_is_no_lock(self, tmp_path, make):
        make(tmp_path / "daemon.lock")
        with pytest.raises(OSError, match=r"directory|wanted a file"):
            daemon_lock.take(str(tmp_path))

    def test_nobody_else_writes_the_state_file_beside_a_daemon(self, tmp_path):
        with self.holder(tmp_path) as one:
            one.stdout.readline()
            with pytest.raises(OSError, match="found a daemon that keeps it"):
                state.save(fresh(*WELL), (), f"{tmp_path}/state.json")
            one.stdin.close()
        assert [path.name for path in tmp_path.iterdir()] == ["daemon.lock"]
        state.save(fresh(*WELL), (), f"{tmp_path}/state.json")


def test_what_is_told_of_a_pass_is_data():
    found = fresh(*SICK)
    told = told_of(found)
    document = summary(found, Verdicts("not_ready", "not_ready"))
    words = build_message.words(told, document, until=True)
    assert (words.labels["ready"], words.labels["multi-node-ready"]) == ("false", "false")
    assert 0 <= int(words.labels["valid-until"]) - found.valid_until < 1800
    assert "observed_at" not in json.loads(words.annotations["summary"])
    message = build_message.pass_message(
        words, found, document, Documents().report(found), build_message.Run("m 1\n", 7.0, 0.1, "start", {"start": 1}, {"Ready": 1})
    )
    assert (message.trigger, message.observed_at, json.loads(message.report)["boot_id"]) == ("start", found.observed_at, BOOT_ID)
    assert (message.has_pass, message.metrics) == (True, "m 1\n")


def test_metrics_have_single_judgements_that_are_wrong_and_xids():
    xid = Xid("0000:1b:00.0", 79, "line", 3, 90.0, "", Unread("absent", "none"), 80.0)
    history = replace(FRESH.history, faults=(Fault("xid", xid, 80.0, False), Fault("xid", xid, 10.0, True)))
    text = build_message.metrics(fresh(*SICK), history)
    assert 'check="gpu.a"' in text
    assert 'check="rdma.a"' not in text
    assert 'hostagent_xids_total{kind="xid",code="79",pci="0000:1b:00.0",uuid=""} 6\n' in text


def test_before_the_first_pass_there_is_no_report_to_give():
    message = build_message.first_message("node-7", first(BOOT_ID, 5.0))
    assert not message.has_pass
    assert {one.reason for one in message.words.conditions} == {"FirstPass"}
    assert (message.words.labels, message.report, message.summary) == ({"ready": "unknown", "multi-node-ready": "unknown"}, "", {})
