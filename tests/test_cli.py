"""The command line as its users meet it: exit codes, one sentence for a mistake, no traceback."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostagent import profile
from hostagent.report import state
from hostagent.source import tape
from tests.judged import judged

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
ROOT = Path(__file__).parent.parent
NO_GPU = str(Path(__file__).parent / "hosts/no-gpu-vm")


def run(*arguments, **options):
    completed = subprocess.run([HOSTAGENT, *arguments], capture_output=True, text=True, check=False, timeout=60, **options)
    assert "Traceback" not in completed.stderr, completed.stderr
    return completed


def test_a_host_without_gpus_is_not_ready_and_says_so():
    answer = run("check", "--from", NO_GPU, "--profile", "default")
    assert answer.returncode == 1
    assert answer.stdout.startswith("NOT READY")
    assert "gpu.present" in answer.stdout


def test_the_commands_and_their_help_are_there():
    shown = run("-h")
    assert shown.returncode == 0
    for command in ("check", "status", "snapshot", "checks", "profile", "schema"):
        assert f"\n  {command} " in shown.stdout
        assert run(command, "-h").returncode == 0


def test_the_version_names_a_commit():
    answer = run("--version")
    assert answer.returncode == 0
    assert answer.stdout.startswith("hostagent 0.")


@pytest.mark.parametrize("content", ["{", "", b"\xff\xfe\x00", None])
def test_a_damaged_installation_is_one_sentence(tmp_path, content):
    for package in ("hostagent", "checks/hostagent_checks"):
        shutil.copytree(ROOT / package, tmp_path / Path(package).name, ignore=shutil.ignore_patterns("__pycache__"))
    damaged = tmp_path / "hostagent/profiles/default.json"
    if content is None:
        damaged.unlink()
        damaged.mkdir()
    else:
        damaged.write_bytes(content if isinstance(content, bytes) else content.encode())
    argv = [sys.executable, "-m", "hostagent", "check", "--profile", "default", "--from", NO_GPU]
    answer = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("Error: the built-in profile 'default' is damaged: ")
    assert answer.stderr.endswith("\nInstall hostagent again.\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["check", "--nonsense"],
        ["check", "--format", "yaml"],
        ["check", "--deadline", "0"],
        ["check", "--from", "/nonexistent"],
        ["check", "--from", "/etc/hostname"],
        ["check", "--from", NO_GPU, "--root", "/"],
        ["check", "--kernel", "6.8.0", "--from", NO_GPU],
        ["check", "--from", NO_GPU, "--only", "nonsense"],
        ["check", "--from", NO_GPU, "--profile", "nonsense"],
        ["check", "--from", NO_GPU, "--profile", "/nonexistent.yaml"],
        ["check", "--from", NO_GPU, "-o", "/nonexistent/report"],
        ["check", "--host-root", "/etc"],
        ["check", "--root", "/proc"],
        ["check", "--root", ""],
        ["check", "--root", "/nonexistent"],
        ["check", "--root", "/etc/passwd"],
        ["check", "--root", "/", "--kernel", "../x"],
        ["check", "--root", "/", "--kernel", "9.9.9"],
        ["checks", "show", "nonsense"],
        ["profile", "show", "nonsense"],
        ["profile", "validate", "/etc/hostname"],
        ["schema", "nonsense"],
        ["snapshot", "show", "/etc/hostname"],
        ["snapshot", "diff", NO_GPU, "/etc/hostname"],
        ["snapshot", "adopt", NO_GPU, "/proc/nowhere"],
    ],
    ids=" ".join,
)
def test_a_mistake_is_a_short_message_and_exit_2(arguments):
    answer = run(*arguments)
    assert answer.returncode == 2
    assert answer.stderr
    assert len(answer.stderr.splitlines()) <= 8


def test_a_hostile_profile_is_a_short_message(tmp_path):
    hostile = {
        "binary": b"\xff\xfe\x00",
        "bomb": b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n",
        "twice": b"name: a\nname: b\n",
        "type": b"driver: {version: 580}\n",
        "constraint": b"driver: {version: newest}\n",
        "unknown": b"drivers: {}\n",
        "check": b"checks: {gpu.row_rempa: {off: x}}\n",
        "params": b"checks: {gpu.row_remap: {params: {max_uncorrectable_rows: many}}}\n",
        "circle": f"extends: {tmp_path}/circle.yaml\n".encode(),
        "future": b"schema_version: 2\n",
        "huge": b"# " + b"x" * 2_000_000,
        "deep": b"[" * 20_000,
        "catalogue": b"catalogues: [no_such_module]\n",
    }
    for name, content in hostile.items():
        path = tmp_path / f"{name}.yaml"
        path.write_bytes(content)
        answer = run("check", "--from", NO_GPU, "--profile", str(path))
        assert (answer.returncode, bool(answer.stderr)) == (2, True), (name, answer)
        assert len(answer.stderr) < 2000, name
    os.mkfifo(tmp_path / "fifo.yaml")
    assert run("check", "--from", NO_GPU, "--profile", str(tmp_path / "fifo.yaml")).returncode == 2


def test_only_marks_the_report_partial_and_judges_nothing_else():
    answer = json.loads(run("check", "--from", NO_GPU, "--only", "gpu.present", "--format", "json").stdout)
    assert answer["partial"] is True
    assert {one["id"] for one in answer["findings"]} == {"gpu.present"}


def test_a_profile_turns_a_check_off_and_the_report_says_who(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text("name: site\nchecks: {gpu.present: {off: no GPUs here yet}}\n")
    report = json.loads(run("check", "--from", NO_GPU, "--profile", str(path), "--format", "json").stdout)
    off = next(one for one in report["findings"] if one["id"] == "gpu.present")
    assert off["outcome"] == "off"
    assert "no GPUs here yet" in off["message"]
    assert report["coverage"]["off"] == 1


def test_what_a_newer_profile_has_is_told_on_standard_error_and_the_host_is_judged(tmp_path):
    path = tmp_path / "newer.yaml"
    text = "later: 1\nchecks: {gpu.later: {off: x}, gpu.temperature: {params: {later: 1}}, gpu.present: {off: no GPUs here}}\n"
    path.write_text(f"schema_version: '1.999'\n{text}")
    answer = run("check", "--from", NO_GPU, "--profile", str(path), "--format", "json")
    assert answer.returncode in (0, 1)
    assert [line.split(" is ignored: ")[0] for line in answer.stderr.splitlines()] == [
        f"Warning: profile {path}: {key}" for key in ("later", "checks.gpu.later", "checks.gpu.temperature.params.later")
    ]
    assert "gpu.present" in {one["id"] for one in json.loads(answer.stdout)["findings"] if one["outcome"] == "off"}
    for arguments in (
        ("profile", "validate"),
        ("profile", "show"),
        ("checks", "list", "--profile"),
        ("checks", "show", "gpu.present", "--profile"),
    ):
        shown = run(*arguments, str(path))
        assert (shown.returncode, shown.stderr.count(f"profile {path}: later is ignored")) == (0, 1), arguments
    path.write_text(text)
    for arguments in (("check", "--from", NO_GPU, "--profile"), ("profile", "validate")):
        assert run(*arguments, str(path)).returncode == 2


def test_a_flood_of_warnings_is_counted_and_cannot_move_the_cursor(tmp_path):
    path = tmp_path / "newer.yaml"
    path.write_text("schema_version: '1.999'\n" + "".join(f'"a\\e[2J{number}": 1\n' for number in range(5000)))
    answer = run("profile", "show", str(path))
    assert (answer.returncode, len(answer.stderr.splitlines())) == (0, 21)
    assert answer.stderr.splitlines()[-1] == "Warning: 4980 more of these."
    assert "\x1b" not in answer.stderr


def test_a_check_by_a_built_in_profile_imports_no_yaml():
    code = f"import sys; sys.argv = ['hostagent', 'check', '--from', {NO_GPU!r}, '--profile', 'tao-7.1']\n"
    code += "from hostagent.cli import cli\n"
    code += "try: cli(standalone_mode=False)\nexcept SystemExit: pass\n"
    code += "print([name for name in sys.modules if name.split('.')[0] in ('yaml', '_yaml')], 'hostagent.evaluate' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == "[] True"


def test_an_output_file_is_whole_and_a_device_stays_a_device(tmp_path):
    run("check", "--from", NO_GPU, "--format", "json", "-o", str(tmp_path / "report.json"))
    json.loads((tmp_path / "report.json").read_text())
    assert run("check", "--from", NO_GPU, "-o", "/dev/null").returncode == 1
    assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize("arguments", ["checks list", f"check --from {NO_GPU} --format json"])
def test_a_reader_that_stops_reading_is_no_verdict_and_no_traceback(arguments):
    shell = f"{HOSTAGENT} {arguments} | true; echo ${{PIPESTATUS[0]}}"
    completed = subprocess.run(["/bin/bash", "-c", shell], capture_output=True, text=True, check=False)
    assert (completed.stdout, completed.stderr) == ("141\n", "")


@pytest.mark.parametrize("where", ["> /dev/full", ">&-"])
def test_an_output_that_cannot_be_written_is_one_sentence_and_exit_2(where):
    shell = f"{HOSTAGENT} check --from {NO_GPU} {where}"
    completed = subprocess.run(["/bin/bash", "-c", shell], capture_output=True, text=True, check=False)
    assert completed.returncode == 2
    assert completed.stderr.startswith("Error: ")
    assert len(completed.stderr.splitlines()) == 1


def test_checks_that_did_not_apply_make_nothing_ready():
    answer = run("check", "--from", NO_GPU, "--only", "nvswitch")
    assert (answer.returncode, answer.stdout.partition(" ")[0]) == (1, "UNKNOWN")


def test_a_replay_says_that_it_is_one():
    assert "from a snapshot" in run("check", "--from", NO_GPU).stdout


class TestStatus:
    @pytest.fixture
    def file(self, tmp_path):
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        data = {
            "schema_version": 1,
            "tool": {"name": "hostagent", "version": "0"},
            "observed_at": time.time() - 10,
            "valid_until": time.time() + 100,
            "boot_id": boot_id,
            "profile": {"name": "default", "hash": "0"},
            "verdict": {"single_node": "ready", "multi_node": "not_ready"},
            "reasons": [],
        }
        path = tmp_path / "state.json"

        def write(**changes):
            path.write_text(json.dumps({**data, **changes}))
            return str(path)

        return write

    def test_a_fresh_verdict_of_this_boot_is_believed_by_scope(self, file):
        assert run("status", "--state-file", file()).returncode == 0
        assert run("status", "--state-file", file(), "--scope", "multi").returncode == 1

    def test_a_verdict_that_expired_or_is_of_another_boot_is_not_believed(self, file):
        for changes in ({"valid_until": time.time() - 1}, {"boot_id": "another"}):
            answer = run("status", "--state-file", file(**changes))
            assert answer.returncode == 1
            assert answer.stdout.startswith("STALE")

    def test_a_missing_or_damaged_file_is_unknown(self, file, tmp_path):
        answer = run("status", "--state-file", str(tmp_path / "nothing"))
        assert (answer.returncode, answer.stdout.partition(":")[0]) == (1, "UNKNOWN")
        for changes in (
            {"verdict": {}},
            {"verdict": {"single_node": "fine", "multi_node": "ready"}},
            {"verdict": {"single_node": [], "multi_node": "ready"}},
            {"schema_version": 9},
            {"reasons": 3},
            {"reasons": [5]},
            {"reasons": [{"id": "x"}]},
            {"valid_until": float("nan")},
            {"valid_until": float("inf")},
            {"valid_until": "9e99"},
            {"observed_at": None},
            {"boot_id": 5},
            {"profile": "default"},
        ):
            answer = run("status", "--state-file", file(**changes))
            assert (answer.returncode, answer.stdout.partition(":")[0]) == (1, "UNKNOWN"), changes
        for content in (b"", b"{", b"[]", b"\xff" * 100, b"[" * 100_000, b"null", b"x" * 2_000_000):
            (tmp_path / "state.json").write_bytes(content)
            assert run("status", "--state-file", str(tmp_path / "state.json")).returncode == 1

    def test_a_verdict_of_the_future_is_not_believed(self, file):
        assert run("status", "--state-file", file(observed_at=time.time() + 3600, valid_until=time.time() + 7200)).returncode == 1

    def test_what_a_check_said_cannot_move_the_cursor(self, file):
        reason = dict.fromkeys(("id", "outcome", "severity", "subject", "code", "message"), "\x1b[2J")
        assert "\x1b" not in run("status", "--state-file", file(reasons=[reason])).stdout

    def test_a_state_file_that_is_no_file_neither_hangs_nor_crashes(self, tmp_path):
        os.mkfifo(tmp_path / "fifo")
        os.symlink("loop", tmp_path / "loop")
        for path in (tmp_path / "fifo", tmp_path, tmp_path / "loop"):
            assert run("status", "--state-file", str(path)).returncode == 1

    def test_it_imports_no_collector(self):
        code = "import sys; sys.argv = ['hostagent', 'status']\nfrom hostagent.cli import cli\n"
        code += "try: cli(standalone_mode=False)\nexcept SystemExit: pass\n"
        code += "print([name for name in sys.modules if name.startswith(('hostagent.collect', 'hostagent.source', 'psutil', 'yaml'))])"
        loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert loaded.splitlines()[-1] == "[]"

    def test_what_check_saves_status_reads(self, tmp_path):
        loaded = profile.load("default", site_file="")
        report = judged(tape.ReplayBackend(tape.load(NO_GPU)), loaded)
        path = str(tmp_path / "run/state.json")
        state.save(report, loaded.files, path)
        found = state.read(path, report.observed_at)
        assert found.data["verdict"]["single_node"] == report.verdict.single_node
        assert oct(os.stat(path).st_mode & 0o777) == "0o644"
