"""The command line as its users meet it: exit codes, one sentence for a mistake, no traceback."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hostagent.cli import run as run_module
from hostagent.core.typed import plain
from hostagent.engine.report import state
from hostagent.host import recording
from hostagent.profiles import files, profile
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
    for command in ("check", "status", "topology", "nccl", "snapshot", "checks", "profile", "schema"):
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
        ["nccl", "nonsense"],
        ["nccl", "explain"],
        ["nccl", "explain", "/nonexistent"],
        ["nccl", "explain", "/dev/null"],
        ["nccl", "explain", "-", "-"],
        ["nccl", "explain", "/etc/hostname", "--require", "nonsense"],
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
    code += "print([name for name in sys.modules if name.split('.')[0] in ('yaml', '_yaml')], 'hostagent.engine.evaluate' in sys.modules)"
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


DEGRADED = str(Path(__file__).parent / "hosts/hgx-h100-next-kernel-without-module")
READY = str(Path(__file__).parent / "hosts/hgx-h100-ubuntu2404")
SNAPSHOT = Path(NO_GPU, "tape.json")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["chek"], "Error: no command 'chek'; did you mean check?"),
        (["--from", NO_GPU], "Error: no option --from; did you mean 'hostagent check --from'?"),
        (["--verison"], "Error: no option --verison; did you mean --version?"),
        (["check", "--from", NO_GPU, "--profile", ""], "Error: found --profile '', wanted a built-in profile or a file"),
        (["checks", "shw"], "Error: no command 'shw'; did you mean show?"),
        (["help", "snapshot", "dif"], "Error: no command 'dif'; did you mean diff?"),
        (["check", "--onyl", "gpu"], "Error: no option --onyl; did you mean --only?"),
        (["check", "--from", NO_GPU, "--only", "gpu.xdi"], "Error: no check or family gpu.xdi; did you mean gpu.xid?"),
        (["check", "--from", NO_GPU, "--skip", "kernal"], "Error: no check or family kernal; did you mean kernel?"),
        (
            ["check", "--from", NO_GPU, "--only", "gpu.*"],
            "Error: no check or family 'gpu.*': patterns are not supported; name each check, or the family gpu.",
        ),
        (["checks", "show", "gpu.xdi"], "Error: no check gpu.xdi; did you mean gpu.xid?"),
        (["checks", "show", "toolkit"], "Error: no check toolkit: it is a family."),
        (["check", "--from", NO_GPU, "--profile", "tao7.1"], "did you mean tao-7.1?"),
        (["check", "--from", NO_GPU, "--also", "jsn=x"], "did you mean json?"),
        (["check", "--from", str(ROOT / "README.md")], "README.md is not a hostagent snapshot (not JSON)."),
        (["snapshot", "show", str(ROOT / "hostagent/profiles/any.json")], "any.json is not a hostagent snapshot (JSON of another kind)."),
        (["check", "--from", NO_GPU, "--only", ""], "Error: found --only '', wanted checks or families"),
        (["check", "--from", NO_GPU, "--skip", " , "], "Error: found --skip ' , ', wanted checks or families"),
        (["check", "--from", NO_GPU, "--only", "gpu", "--skip", "gpu"], "Error: found --only and --skip that leave no check"),
        (["check", "--from", NO_GPU, "--json", "-q"], "Error: found --json and --quiet, wanted one of them"),
        (["check", "--from", NO_GPU, "--json", "--format", "html"], "Error: found --format html and --json, wanted one of them"),
        (["check", "--from", NO_GPU, "-o", "/tmp/x", "--also", "json=/tmp/../tmp/x"], "Error: found two formats for /tmp/x"),
        (["check", "--from", "-", "--profile", "-"], "Error: found --from - and --profile -, wanted at most one"),
        (["snapshot", "diff", "-", "-"], "Error: found - and -, wanted at most one"),
        (["check", "--save-state", "--profile", "-"], "Error: found --save-state, which needs"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_names_what_was_meant(arguments, sentence):
    answer = run(*arguments, stdin=subprocess.DEVNULL)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert sentence in answer.stderr


def test_a_damaged_snapshot_says_where_and_that_it_is_one(tmp_path):
    text = SNAPSHOT.read_text()
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "report.json").write_text(run("check", "--from", NO_GPU, "--json").stdout)
    assert "cut.json is not a hostagent snapshot (damaged JSON, line " in run("check", "--from", str(tmp_path / "cut.json")).stderr
    assert "empty.json is not a hostagent snapshot (it is empty)." in run("check", "--from", str(tmp_path / "empty.json")).stderr
    assert "report.json is not a hostagent snapshot (a report)." in run("check", "--from", str(tmp_path / "report.json")).stderr


def test_a_dash_is_standard_input():
    text = SNAPSHOT.read_text()
    from_file, from_input = run("check", "--from", NO_GPU, "--json"), run("check", "--from", "-", "--json", input=text)
    left, right = json.loads(from_file.stdout), json.loads(from_input.stdout)
    assert from_input.returncode == from_file.returncode == 1
    assert {**left, "timings_ms": 0} == {**right, "timings_ms": 0}
    assert run("snapshot", "diff", NO_GPU, "-", input=text).returncode == 0
    assert run("snapshot", "show", "-", input=text).stdout
    assert "standard input is not a hostagent snapshot (not JSON)" in run("check", "--from", "-", input="name: x").stderr
    assert run("profile", "validate", "-", input="gpus: {count: 8}\n").stdout.startswith("standard input: valid")
    assert "standard input:2: gpus: found" in run("check", "--from", NO_GPU, "--profile", "-", input="\ngpus: 5\n").stderr
    judged_by = json.loads(run("check", "--from", NO_GPU, "--json", "--profile", "-", input="name: piped\n").stdout)
    assert judged_by["profile"]["name"] == "piped"


def test_a_dash_is_standard_output_and_makes_no_file(tmp_path):
    plain = run("check", "--from", READY, "-q").stdout
    assert run("check", "--from", READY, "-q", "-o", "-", cwd=tmp_path).stdout == plain
    both = run("check", "--from", READY, "--json", "-o", "report.json", "--also", "line=-", cwd=tmp_path)
    assert both.stdout == plain
    json.loads((tmp_path / "report.json").read_text())
    (tmp_path / "image/etc").mkdir(parents=True)
    (tmp_path / "image/etc/os-release").write_text("ID=debian\n")
    saved = run("snapshot", "save", "--root", "image", "-", cwd=tmp_path)
    assert json.loads(saved.stdout)["kind"] == "image"
    assert "standard output: " in saved.stderr
    assert run("profile", "init", "-o", "-", cwd=tmp_path).stdout == run("profile", "init", cwd=tmp_path).stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image", "report.json"]


def test_files_are_whole_where_nobody_reads_standard_output(tmp_path):
    shell = f"{HOSTAGENT} check --from {READY} --also json={tmp_path}/report.json --also junit={tmp_path}/report.xml | true"
    subprocess.run(["/bin/bash", "-c", shell], check=True, timeout=60)
    json.loads((tmp_path / "report.json").read_text())
    assert (tmp_path / "report.xml").read_text().endswith(">\n")


@pytest.mark.parametrize(
    ("host", "arguments", "code"),
    [
        (READY, [], 0),
        (READY, ["--fail-on", "degraded"], 0),
        (DEGRADED, [], 0),
        (DEGRADED, ["--fail-on", "not-ready"], 0),
        (DEGRADED, ["--fail-on", "degraded"], 1),
        (NO_GPU, [], 1),
        (NO_GPU, ["--fail-on", "degraded"], 1),
        (READY, ["--only", "nvswitch.imex_running"], 1),
        (READY, ["--only", "nvswitch.imex_running", "--fail-on", "degraded"], 1),
    ],
)
def test_the_exit_code_is_that_of_the_verdict_and_unknown_always_fails(host, arguments, code):
    assert run("check", "--from", host, "-q", *arguments).returncode == code


def test_informational_checks_alone_give_no_verdict():
    answer = run("check", "--from", READY, "--only", "os.managed")
    assert answer.returncode == 1
    assert "  Only informational checks were selected: no verdict" in " ".join(answer.stdout.split("\n"))


def test_json_and_quiet_are_formats_in_short():
    asked = run("check", "--from", READY, "--format", "json").stdout
    for arguments in (["--json"], ["--json", "--format", "json"]):
        assert json.loads(run("check", "--from", READY, *arguments).stdout)["findings"] == json.loads(asked)["findings"]
    assert run("check", "--from", READY, "-q").stdout == run("check", "--from", READY, "--format", "line").stdout
    for command in (["checks", "list"], ["profile", "show"]):
        assert json.loads(run(*command, "--json").stdout) == json.loads(run(*command, "--format", "json").stdout)


def test_several_names_may_stand_behind_one_option():
    def ids(*arguments):
        return {one["id"] for one in json.loads(run("check", "--from", READY, "--json", *arguments).stdout)["findings"]}

    assert ids("--only", "gpu.xid, gpu.lost") == ids("--only", "gpu.xid", "--only", "gpu.lost") == {"gpu.xid", "gpu.lost"}
    skipped = ids("--skip", "gpu,kernel.headers")
    assert not [one for one in skipped if one.startswith("gpu.") or one == "kernel.headers"]
    assert "kernel.next_has_module" in skipped
    assert ids("--only", "kernel", "--skip", "kernel.headers") == {one for one in ids("--only", "kernel") if one != "kernel.headers"}


def test_no_other_variable_than_its_own_chooses_the_profile(tmp_path):
    path = tmp_path / "lenient.yaml"
    path.write_text("extends: any\ngpus: {required: false}\n")
    names = ("HOSTAGENT_CHECK_PROFILE", "HOSTAGENT_CHECK_PROFILE_NAME", "PROFILE", "HOSTAGENT_FAIL_ON", "HOSTAGENT_CHECK_FAIL_ON")
    answer = run("check", "--from", NO_GPU, "--json", env={**os.environ, **dict.fromkeys(names, str(path))})
    assert (answer.returncode, json.loads(answer.stdout)["profile"]["name"]) == (1, "default")


def test_a_file_that_is_named_like_a_built_in_profile_is_found(tmp_path):
    (tmp_path / "mine.yaml").write_text("")
    (tmp_path / "site").write_text("")
    assert "did you mean the file mine.yaml?" in run("profile", "show", "mine", cwd=tmp_path).stderr
    assert "did you mean the file ./site?" in run("profile", "show", "site", cwd=tmp_path).stderr


class TestProfileFiles:
    def test_what_init_writes_is_the_default_profile_under_another_name(self, tmp_path):
        made = run("profile", "init", "-o", "gpu-node.yaml", cwd=tmp_path)
        assert (made.returncode, made.stdout) == (0, "")
        text = (tmp_path / "gpu-node.yaml").read_text()
        loaded, default = profile.load(str(tmp_path / "gpu-node.yaml"), site_file=""), profile.load("default", site_file="")
        same = {"name": "gpu-node", "description": "", "extends": "default"}
        assert plain(loaded.profile) == {**plain(default.profile), **same}
        comments = [line.partition("# ")[2] for line in files.commented("default").splitlines()[1:]]
        assert all(comment in text for comment in comments)
        assert run("profile", "validate", "gpu-node.yaml", cwd=tmp_path).returncode == 0

    def test_init_writes_over_no_file(self, tmp_path):
        (tmp_path / "mine.yaml").write_text("gpus: {count: 8}\n")
        refused = run("profile", "init", "-o", "mine.yaml", cwd=tmp_path)
        assert (refused.returncode, (tmp_path / "mine.yaml").read_text()) == (2, "gpus: {count: 8}\n")
        assert "mine.yaml exists" in refused.stderr

    @pytest.mark.parametrize("name", ["1e3", "a: b", "\u2028", "\\n", "'\"", "#x", "null", "é", " x "])
    def test_init_quotes_the_name_of_any_file(self, tmp_path, name):
        assert run("profile", "init", "-o", f"{name}.yaml", cwd=tmp_path).returncode == 0
        assert profile.load(str(tmp_path / f"{name}.yaml"), site_file="").profile.name == name

    @pytest.mark.parametrize("name", files.names())
    def test_a_built_in_profile_shown_as_yaml_loads_to_the_same_values(self, tmp_path, name):
        (tmp_path / "shown.yaml").write_text(run("profile", "show", name, "--format", "yaml").stdout)
        assert profile.load(str(tmp_path / "shown.yaml"), site_file="").digest == profile.load(name, site_file="").digest

    def test_a_profile_file_shown_as_yaml_needs_no_other_file(self, tmp_path):
        (tmp_path / "base.yaml").write_text("checks: {gpu.xid: {params: {ignore: [79]}, severity: info}}\nname: '1e3'\n")
        text = (
            "extends: base.yaml\ndescription: 'on: #1'\nchecks: {gpu.lost: {off: 'no', except: ['0000:9d:00.0', '010', '1_0', '~', '']}}\n"
        )
        (tmp_path / "mine.yaml").write_text(text.replace(", ''", ""))
        (tmp_path / "out").mkdir()
        (tmp_path / "out/shown.yaml").write_text(run("profile", "show", str(tmp_path / "mine.yaml"), "--format", "yaml").stdout)
        told, wanted = (profile.load(str(tmp_path / path), site_file="").profile for path in ("out/shown.yaml", "mine.yaml"))
        assert told == replace(wanted, extends="default")


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
            assert "Error:" not in answer.stdout
        for content, told in (
            ("name: x", "not JSON"),
            ("{}", "it has no schema_version"),
            ("", "it is empty"),
            ("[]", "it has another shape"),
        ):
            (tmp_path / "state.json").write_text(content)
            assert f"state.json is damaged ({told}" in run("status", "--state-file", str(tmp_path / "state.json")).stdout
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
        code += "print([name for name in sys.modules if name.startswith(('hostagent.engine.collect', 'hostagent.domains', 'hostagent.host', 'psutil', 'yaml'))])"
        loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert loaded.splitlines()[-1] == "[]"

    def test_what_check_saves_status_reads(self, tmp_path):
        loaded = profile.load("default", site_file="")
        report = judged(recording.ReplayBackend(recording.load(NO_GPU)), loaded)
        path = str(tmp_path / "run/state.json")
        state.save(report, loaded.files, path)
        found = state.read(path, report.observed_at)
        assert found.data["verdict"]["single_node"] == report.verdict.single_node
        assert oct(os.stat(path).st_mode & 0o777) == "0o644"


def test_a_failure_of_python_itself_is_a_sentence(monkeypatch, capfd):
    """Some starts with little memory end so: a module in C has none for the exception."""

    def failing(_):
        raise SystemError("error return without exception set")

    monkeypatch.setattr(run_module, "_call_click", failing)
    assert run_module._exit_code(["check"]) == 2
    assert capfd.readouterr().err.startswith("Error: Python itself failed (error return without exception set; ")
