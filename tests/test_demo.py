"""``hostagent demo``: recorded hosts that come with hostagent, wherever it is installed."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hostagent.cli.demo import HOSTS

ROOT = Path(__file__).parent.parent
TAPES = {name: ROOT / "tests/hosts" / folder / "tape.json" for name, (folder, _) in HOSTS.items()}
INTRODUCED = "A recorded, made-up host, not this machine: "


def run(*arguments, cwd=ROOT, **variables):
    argv = [sys.executable, "-m", "hostagent", *arguments]
    environment = {**os.environ, "COLUMNS": "100", **variables}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=cwd, env=environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def timeless(text):
    return re.sub(r" \(\d+\.\d+ s\)", "", text)


@pytest.mark.parametrize("name", HOSTS)
def test_its_report_is_that_of_check_and_the_exit_code_is_0_whatever_it_says(name):
    shown, checked = run("demo", name), run("check", "--from", str(TAPES[name]))
    assert (shown.returncode, shown.stderr) == (0, "")
    first, _, rest = shown.stdout.partition("\n\n")
    report, _, last = rest.rpartition("\n\n")
    assert first == f"{INTRODUCED}{HOSTS[name][1]}."
    assert timeless(f"{report}\n") == timeless(checked.stdout)
    assert last.startswith("This machine: 'hostagent check'\n")
    assert all(f"'hostagent demo {one}'" in last for one in HOSTS if one != name)


def test_without_a_name_it_shows_a_broken_host_whatever_the_variable_says():
    shown = run("demo", HOSTAGENT_PROFILE="nonsense")
    assert timeless(shown.stdout) == timeless(run("demo", next(iter(HOSTS))).stdout)
    assert "\nNOT READY  " in shown.stdout


def test_a_document_has_nothing_around_it(tmp_path):
    shown = run("demo", "healthy", "--json", "-o", "report.json", "--also", "html=report.html", cwd=tmp_path)
    assert (shown.returncode, shown.stdout) == (0, "")
    assert json.loads((tmp_path / "report.json").read_text())["verdict"]["single_node"] == "ready"
    printed = run("demo", "healthy", "--json")
    assert json.loads(printed.stdout)["replayed"] is True
    assert printed.stderr.startswith(INTRODUCED)


def test_what_cannot_be_written_is_all_that_is_said():
    refused = run("demo", "healthy", "-o", "/")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert refused.stderr.startswith("Error: cannot write /: ")


@pytest.mark.parametrize(
    ("program", "folder", "called"),
    [
        ("bin/hostagent", "", "bin/hostagent"),
        ("a b/hostagent", "", "'a b/hostagent'"),
        ("{0}/bin/hostagent", "{0}/bin", "hostagent"),
        ("hostagent.pyz", "", "./hostagent.pyz"),
    ],
)
def test_it_names_the_next_command_as_hostagent_was_called(tmp_path, program, folder, called):
    """By a script: sys.argv is that of a console script and of a single file."""
    program, folder = program.format(tmp_path), folder.format(tmp_path)
    script = tmp_path / program
    script.parent.mkdir(exist_ok=True)
    script.write_text("import sys\nfrom hostagent.__main__ import main\nmain()\n")
    environment = {**os.environ, "PATH": f"/usr/bin{os.pathsep}{folder}", "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, program, "demo", "healthy"]
    shown = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path, env=environment)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"\nThis machine: '{called} check'\n" in shown.stdout
    assert f"'{called} demo driver-upgraded'" in shown.stdout


def test_a_name_that_is_none_is_refused_with_the_one_that_was_meant():
    refused = run("demo", "healty")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith("wanted one of gpu-off-the-bus, driver-upgraded, healthy; did you mean healthy?\n")


def test_an_installed_one_has_its_own_recordings_and_says_where_they_should_be(tmp_path):
    for package in ("hostagent", "checks/hostagent_checks"):
        shutil.copytree(ROOT / package, tmp_path / Path(package).name, ignore=shutil.ignore_patterns("__pycache__"))
    missing = run("demo", cwd=tmp_path)
    assert (missing.returncode, missing.stdout) == (2, "")
    assert (
        missing.stderr == f"Error: found no recorded host at {tmp_path}/hostagent/_demo/gpu-off-the-bus.json.\nInstall hostagent again.\n"
    )
    (tmp_path / "hostagent/_demo").mkdir()
    (tmp_path / "hostagent/_demo/gpu-off-the-bus.json").write_text('{"answers": ')
    damaged = run("demo", cwd=tmp_path)
    assert (damaged.returncode, damaged.stdout) == (2, "")
    assert damaged.stderr.startswith(f"Error: {tmp_path}/hostagent/_demo/gpu-off-the-bus.json ")
    assert damaged.stderr.endswith("\nInstall hostagent again.\n")
    for name, tape in TAPES.items():
        shutil.copy(tape, tmp_path / f"hostagent/_demo/{name}.json")
    assert timeless(run("demo", cwd=tmp_path).stdout) == timeless(run("demo").stdout)
