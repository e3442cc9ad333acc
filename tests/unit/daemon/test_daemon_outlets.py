"""What is told without rights in a cluster: a file of features, one line for node-problem-detector, a unit for systemd."""

import configparser
import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from hostagent.cli.npd import command
from hostagent.daemon.outlets import features, written
from hostagent.daemon.saying import Saying
from hostagent.report.nodewords import NodeWords
from hostagent.report.state import SCHEMA_VERSION

ROOT = Path(__file__).parents[3]
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def state_of(folder, listed, **other):
    now = time.time()
    whole = {
        "schema_version": SCHEMA_VERSION,
        "observed_at": now,
        "valid_until": now + 900,
        "boot_id": BOOT,
        "profile": {"name": "default", "hash": "x"},
        "profile_files": [],
        "verdict": {"single_node": "ready", "multi_node": "ready"},
        "reasons": [],
        "headline": "",
        "action": "none",
        "todo": [],
        "conditions": [
            {"type": kind, "status": status, "reason": "R", "message": message, "changed_at": now} for kind, status, message in listed
        ],
        **other,
    }
    (folder / "state.json").write_text(json.dumps(whole))


def npd(folder, name="fabric"):
    done = CliRunner().invoke(command, [name, "--state-dir", str(folder)], standalone_mode=False)
    return done.return_value, done.output


@pytest.mark.parametrize(("status", "code"), [("True", 0), ("False", 1), ("Unknown", 2)])
def test_npd_says_one_condition(tmp_path, status, code):
    state_of(tmp_path, [("Ready", "True", "all"), ("FabricReady", status, "links are down " + "ä" * 100)])
    found, said = npd(tmp_path)
    assert (found, said.startswith("R: links are down"), said.endswith("...\n")) == (code, True, True)
    assert len(said.encode()) <= 80


def test_npd_of_what_does_not_apply_is_well(tmp_path):
    state_of(tmp_path, [("Ready", "True", "all")])
    assert npd(tmp_path) == (0, "does not apply to this host\n")


def test_npd_of_what_is_old_of_another_boot_or_missing_is_unknown(tmp_path):
    assert npd(tmp_path)[0] == 2
    state_of(tmp_path, [("FabricReady", "True", "all")], valid_until=time.time() - 1)
    assert npd(tmp_path)[0] == 2
    state_of(tmp_path, [("FabricReady", "True", "all")], boot_id="another")
    assert npd(tmp_path)[0] == 2
    state_of(tmp_path, [])
    path = tmp_path / "state.json"  # as a check writes it
    path.write_text(json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != "conditions"}))
    assert npd(tmp_path) == (2, "no daemon wrote the state\n")


def test_features_have_an_end_and_no_line_for_what_was_not_read():
    words = NodeWords((), (), {"ready": "true", "gpu-product": None}, {})
    said = Saying("n", words, {"valid_until": 1764000000.0}, "", "", 0.0, 0.0, "start", {}, {})
    assert features(said, "hostagent.dev") == "# +expiry-time=2025-11-24T16:00:00Z\nhostagent.dev/ready=true\n"


def test_a_file_that_cannot_be_written_says_why(tmp_path):
    assert written(str(tmp_path / "f"), "x\n") == ""
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o644
    assert "is not written" in written(str(tmp_path / "none" / "f"), "x\n")


def test_the_unit_of_systemd_waits_for_a_pass_and_keeps_the_state():
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str
    unit.read(ROOT / "daemonset" / "systemd" / "hostagent.service")
    service = dict(unit["Service"])
    assert (service["Type"], service["RuntimeDirectory"], service["RuntimeDirectoryPreserve"]) == ("notify", "hostagent", "yes")
    assert int(service["WatchdogSec"]) > 60 + 30
