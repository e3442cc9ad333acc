"""What is told without rights in a cluster: a file of features, one line for node-problem-detector, a unit for systemd."""

import configparser
import json
import os
import socket
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner

from hostagent.cli.npd import command
from hostagent.daemon.file_outputs import features, write_file
from hostagent.daemon.message import Message
from hostagent.daemon.notify import Notify
from hostagent.engine.report.node_status import NodeWords
from hostagent.engine.report.state import SCHEMA_VERSION

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
    assert done.exception is None
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


def test_npd_of_what_applies_to_every_host_is_unknown_where_nobody_says_it(tmp_path):
    state_of(tmp_path, [])
    assert npd(tmp_path, "ready") == (2, "the state says nothing of Ready\n")


def _with(**fields):
    return [{"type": "Ready", "status": "False", "reason": "GpuXid", "message": "m", "changed_at": 0, **fields}]


#: What somebody may find in the place of the state, as text or as fields of one that is well, and the exit code for it.
ODD = {
    "empty": ("", 2),
    "blank": (" \n", 2),
    "no JSON": ("{", 2),
    "a byte order mark": ("\ufeff{}", 2),
    "a list": ("[]", 2),
    "null": ("null", 2),
    "deep": ("[" * 100_000, 2),
    "too large": (" " * (2 << 20), 2),
    "a number without end": ("1" * 5000, 2),
    "no number": ({"valid_until": float("nan")}, 2),
    "infinite": ({"valid_until": float("inf")}, 2),
    "true for a time": ({"valid_until": True}, 2),
    "of the future": ({"observed_at": time.time() + 5000, "valid_until": time.time() + 9000}, 2),
    "another version": ({"schema_version": 3}, 2),
    "a version that is a list": ({"schema_version": ["x" * 300]}, 2),
    "verdicts that are lists": ({"verdict": {"single_node": [], "multi_node": {}}}, 2),
    "a profile that is a list": ({"profile": []}, 2),
    "a reason without fields": ({"reasons": [{}]}, 2),
    "no conditions": ({"conditions": None}, 2),
    "conditions by name": ({"conditions": {"Ready": "True"}}, 2),
    "a condition that is a number": ({"conditions": [1]}, 2),
    "a status of another kind": ({"conditions": _with(status=1)}, 2),
    "a status of another word": ({"conditions": _with(status="true")}, 2),
    "no message": ({"conditions": _with(message=None)}, 2),
    "an empty message": ({"conditions": _with(message="")}, 1),
    "long": ({"conditions": _with(message="x" * 500)}, 1),
    "long characters": ({"conditions": _with(message="\u00e4\u20ac\U0001f600" * 50)}, 1),
    "combining characters": ({"conditions": _with(message="e\u0301" * 100)}, 1),
    "half characters": ({"conditions": _with(message="\ud800 \udfff" * 20)}, 1),
    "orders to a terminal": ({"conditions": _with(message="a\nb\x1b[31m\u202e\r\u2028")}, 1),
    "twice": ({"conditions": [*_with(), *_with(status="True")]}, 1),
}


@pytest.mark.parametrize("name", ODD)
def test_npd_of_an_odd_state_is_one_short_line(tmp_path, name):
    what, code = ODD[name]
    if isinstance(what, str):
        (tmp_path / "state.json").write_text(what)
    else:
        state_of(tmp_path, [], **what)
    found, said = npd(tmp_path, "ready")
    assert found == code
    assert len(said.encode()) <= 80
    assert (said.endswith("\n"), said[:-1].isprintable()) == (True, True)


def test_npd_is_short_where_standard_output_knows_few_letters(tmp_path):
    state_of(tmp_path, [], conditions=_with(message="\u20ac" * 50))
    argv = [sys.executable, "-m", "hostagent", "npd", "ready", "--state-dir", tmp_path]
    done = subprocess.run(argv, capture_output=True, check=False, cwd=ROOT, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"GpuXid: \\u20ac\\u20ac")
    assert 70 < len(done.stdout) <= 80


def test_npd_of_what_is_no_file_is_unknown(tmp_path):
    path = tmp_path / "state.json"
    path.mkdir()
    assert npd(tmp_path, "ready")[0] == 2
    path.rmdir()
    for target in (path, "/dev/zero", "/nonexistent"):
        path.symlink_to(target)
        assert npd(tmp_path, "ready")[0] == 2
        path.unlink()
    os.mkfifo(path)
    assert npd(tmp_path, "ready")[0] == 2
    assert npd(tmp_path / os.fsdecode(b"\xff"), "ready")[0] == 2


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
    said = Message("n", words, {"valid_until": 1764000000.0}, b"", "", 0.0, 1.0, 0.0, "start", {}, {})
    assert features(said, "hostagent.dev") == "# +expiry-time=2025-11-24T16:00:00Z\nhostagent.dev/ready=true\n"


def read_by_nfd(folder, now):
    """The labels that node-feature-discovery makes of a directory (its source/local/local.go)."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not path.is_file():
            continue
        assert path.stat().st_size <= 65536
        ends = now
        for line in map(str.strip, path.read_text().split("\n")):
            if line.startswith("# +expiry-time="):
                ends = datetime.strptime(line.partition("=")[2], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()
            elif line and not line.startswith("#") and ends >= now:
                name, _, value = line.partition("=")
                found[name] = value
    return found


def test_nfd_reads_the_labels_until_they_expire_and_nothing_else(tmp_path):
    words = NodeWords((), (), {"ready": "true", "gpu-count": "8", "fabric-class": None}, {})
    said = Message("n", words, {"valid_until": 1764000000.0}, b"", "", 0.0, 1.0, 0.0, "start", {}, {})
    (tmp_path / "hostagent").write_text("hostagent.dev/fabric-class=0123456789ab\n")
    assert write_file(str(tmp_path / "hostagent"), features(said, "hostagent.dev")) == ""
    assert read_by_nfd(tmp_path, 1764000000.0) == {"hostagent.dev/ready": "true", "hostagent.dev/gpu-count": "8"}
    assert read_by_nfd(tmp_path, 1764000001.0) == {}


#: Writes a file again and again, and says when it has begun to.
WRITES = """
import sys
from hostagent.daemon.notify import Notify
from hostagent.daemon.file_outputs import write_file
number = 0
while not write_file(sys.argv[1], f"number {number}\\n" * 5000):
    number += 1
    if number == 3:
        print("on", flush=True)
"""


def test_a_reader_of_the_directory_sees_nothing_half_or_temporary(tmp_path):
    """NFD reads whatever has no dot at its start, the node exporter what ends with .prom: also when the writer was killed."""
    path, seen = tmp_path / "host.prom", set()
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITES, path], stdout=subprocess.PIPE, cwd=ROOT) as writer:
            assert writer.stdout.readline() == b"on\n"
            for _ in range(200):
                seen |= set(os.listdir(tmp_path))
                assert len(set(path.read_text().splitlines())) == 1
            writer.kill()
        seen |= set(os.listdir(tmp_path))
    assert {name for name in seen if not name.startswith(".")} == {"host.prom"}
    assert {name for name in seen if name.endswith(".prom")} == {"host.prom"}


def test_a_file_that_cannot_be_written_says_why(tmp_path):
    assert write_file(str(tmp_path / "f"), "x\n") == ""
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o644
    assert "is not written" in write_file(str(tmp_path / "none" / "f"), "x\n")


def test_the_unit_of_systemd_waits_for_a_pass_and_keeps_the_state():
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str
    unit.read(ROOT / "daemonset" / "systemd" / "hostagent.service")
    service = dict(unit["Service"])
    assert (service["Type"], service["RuntimeDirectory"], service["RuntimeDirectoryPreserve"]) == ("notify", "hostagent", "yes")
    assert int(service["WatchdogSec"]) > 60 + 30


def test_the_unit_closes_no_device():
    """A rule on one device closes all others, and before systemd 252 ProtectClock makes one."""
    text = (ROOT / "daemonset" / "systemd" / "hostagent.service").read_text()
    assert not {"ProtectClock", "PrivateDevices", "DeviceAllow", "DevicePolicy"} & {line.partition("=")[0] for line in text.splitlines()}


def test_systemd_is_told_one_line_whatever_a_host_says(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(str(tmp_path / "notify"))
        notify = Notify(str(tmp_path / "notify"))
        notify.waiting("waiting: another daemon keeps /run/hostagent")
        assert line.recv(4096) == b"STATUS=waiting: another daemon keeps /run/hostagent"
        for first in (b"READY=1\n", b""):
            notify.ready("not ready: x\nMAINPID=1")
            assert line.recv(4096) == first + b"STATUS=not ready: x\\nMAINPID=1\nWATCHDOG=1"
        notify.ready("x" * 100_000)
        assert len(line.recv(200_000)) < 300
