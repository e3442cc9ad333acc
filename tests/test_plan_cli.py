"""``hostagent plan`` and ``hostagent playbooks`` as their users meet them: exit codes, formats, mistakes."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from hostagent.cli.schemas import published
from tests.cpu import least

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
HOSTS = Path(__file__).parent / "hosts"
ROOT = Path(__file__).parent.parent
#: A host that is refused whatever is asked.
RUNFILE = str(HOSTS / "debian12-runfile")


def run(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    argv = [HOSTAGENT, *arguments]
    completed = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, env=environment, **options)
    assert "Traceback" not in completed.stderr, completed.stderr
    return completed


def test_a_refusal_is_exit_4_with_its_reason_and_what_to_do():
    done = run("plan", "--from", RUNFILE)
    assert done.returncode == 4
    assert done.stdout.startswith("REFUSED  ")
    assert "plan.runfile" in done.stdout
    assert "nvidia-uninstall" in done.stdout


def test_json_is_one_document_of_the_published_schema():
    done = run("plan", "--from", RUNFILE, "--json")
    found = json.loads(done.stdout)
    jsonschema.Draft202012Validator(json.loads(run("schema", "plan").stdout)).validate(found)
    assert (done.returncode, found["replayed"], found["simulated"], found["resolved"]) == (4, True, True, False)
    assert json.loads(run("schema", "plan").stdout) == published("plan")


def test_a_plan_in_a_file_is_for_nobody_else_to_read(tmp_path):
    done = run("plan", "--from", RUNFILE, "--json", "-o", str(tmp_path / "plan.json"))
    assert (done.returncode, done.stdout) == (4, "")
    assert stat.S_IMODE((tmp_path / "plan.json").stat().st_mode) == 0o600
    assert json.loads((tmp_path / "plan.json").read_text())["refusals"]


def test_what_is_asked_for_stands_in_the_document_in_one_order():
    asked = ("--only", "runtime", "--only", "driver", "--with", "imex,nvswitch", "--upgrade", "--in-use")
    found = json.loads(run("plan", "--from", RUNFILE, "--json", *asked).stdout)
    assert (found["only"], found["with"], found["upgrade"], found["in_use"]) == (["driver", "runtime"], ["nvswitch", "imex"], True, True)


def test_a_tape_that_was_made_for_checks_alone_says_that_the_host_has_to_be_recorded_again(tmp_path):
    tape = json.loads((HOSTS / "hgx-h100-ubuntu2404/tape.json").read_text())
    statuses = [key for key in tape["answers"] if "/var/lib/dpkg/status" in key or "extended_states" in key]
    assert statuses
    tape["answers"] = {key: value for key, value in tape["answers"].items() if key not in statuses}
    (tmp_path / "tape.json").write_text(json.dumps(tape))
    done = run("plan", "--from", str(tmp_path / "tape.json"))
    assert done.returncode == 4
    assert "Record the host again" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--only", "kernel"), "'kernel' is not one of 'driver', 'toolkit', 'runtime'"),
        (("--with", "nvswich"), "did you mean nvswitch?"),
        (("--format", "html"), "'html' is not one of"),
        (("--format", "text", "--json"), "wanted one of them"),
        (("--from", "/nonexistent"), "does not exist"),
        (("--from", RUNFILE, "--root", "/"), "wanted at most one place"),
        (("--from", RUNFILE, "--profile", "none-such"), "none-such"),
        (("--kernel", "6.8.0"), "--kernel without --root"),
        (("--from", RUNFILE, "-o", "/nonexistent/plan"), "cannot write /nonexistent/plan"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(arguments, sentence):
    done = run("plan", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("install", "--yes", "--root", "/nonexistent"), "cannot read /nonexistent"),
        (("install", "--yes", "--host-root", "/nonexistent"), "cannot read /nonexistent"),
        (("rollback", "--yes", "--root", "/nonexistent"), "cannot read /nonexistent"),
        (("install", "--root", "/"), "neither --yes nor a terminal"),
        (("rollback", "--root", "/"), "neither --yes nor a terminal"),
        (("install", "--yes", "--from", RUNFILE), "no option --from"),
    ],
)
def test_a_mistake_before_any_change_is_one_sentence_and_exit_2(arguments, sentence):
    done = run(*arguments, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr.replace("\n", " ")


def test_a_root_without_runs_says_so(tmp_path):
    for words in (("--list",), ("--yes",)):
        done = run("rollback", *words, "--root", str(tmp_path))
        assert (done.returncode, done.stdout) == (0, "This host remembers no run.\n")


def test_plan_needs_no_ansible():
    argv = [sys.executable, "-X", "importtime", "-m", "hostagent", "plan", "--from", RUNFILE]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4
    assert {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()} & {"ansible", "ansible_runner"} == set()


def test_a_plan_where_nothing_is_to_do_costs_at_most_half_more_than_a_check(tmp_path):
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    commands = {name: (HOSTAGENT, name, "--from", str(HOSTS / "hgx-h100-ubuntu2404")) for name in ("check", "plan")}
    best = least(commands, environment)
    assert best["plan"] <= 1.5 * best["check"]


class TestPlaybooks:
    def test_the_path_has_the_playbook_that_carries_out_a_plan(self):
        done = run("playbooks", "path")
        assert done.returncode == 0
        assert (Path(done.stdout.strip()) / "apply.yaml").is_file()

    def test_an_export_has_the_same_files_and_no_hidden_ones(self, tmp_path):
        assert run("playbooks", "export", str(tmp_path / "copy")).returncode == 0
        files = {path.relative_to(ROOT / "playbooks") for path in (ROOT / "playbooks").rglob("*") if path.is_file()}
        wanted = {path for path in files if not any(part.startswith(".") or part == "__pycache__" for part in path.parts)}
        assert {path.relative_to(tmp_path / "copy") for path in (tmp_path / "copy").rglob("*") if path.is_file()} == wanted
        assert all((tmp_path / "copy" / path).read_bytes() == (ROOT / "playbooks" / path).read_bytes() for path in wanted)

    def test_nothing_that_is_there_is_written_over(self, tmp_path):
        (tmp_path / "mine").write_text("mine")
        done = run("playbooks", "export", str(tmp_path))
        assert (done.returncode, [path.name for path in tmp_path.iterdir()]) == (2, ["mine"])
        assert "new or empty" in done.stderr
        (tmp_path / "empty").mkdir()
        assert run("playbooks", "export", str(tmp_path / "empty")).returncode == 0
        assert run("playbooks", "export", "/proc/none").returncode == 2
