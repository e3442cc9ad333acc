"""``hostagent setup`` over tools that print what a case says, on a PATH that has nothing else; and over recorded hosts."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from hostagent.cli import cli
from hostagent.cli.schemas import published
from tests import recorded
from tests.setup_cases import CASES, CUDA, DETECTED, DOCKER, DRIVER, HINT, NO_DOCKER, READY, TOOLKIT, cuda, driver, toolkit
from tests.setup_judge import CLEAN, expected, laid, programs

HOSTAGENT = (sys.executable, "-m", "hostagent")
REPOSITORY = Path(__file__).parent.parent
HANG_S = 5


def test_a_caller_gets_the_lines_and_the_exit_code_of_the_script_without_its_false_passes(tmp_path):
    argv = [sys.executable, "-m", "tests.setup_judge", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300, cwd=REPOSITORY)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_case_that_is_not_the_scripts_says_what_the_script_does():
    assert all(bool(one.why) != one.script for one in CASES.values())
    assert len(CASES) >= 60


def _run(*args, environment, **options):
    started = time.monotonic()
    done = subprocess.run([*HOSTAGENT, "setup", *args], capture_output=True, text=True, check=False, timeout=60, env=environment, **options)
    assert "Traceback" not in done.stderr, done.stderr
    return done, time.monotonic() - started


@pytest.mark.parametrize("name", ["ready", "7.0", "a second GPU does not answer", "only the second node has GPUs", "no docker"])
def test_the_command_itself_says_the_same(name, tmp_path):
    case = CASES[name]
    done, _ = _run(*case.args, environment=laid(case, tmp_path))
    assert (done.stdout.splitlines()[: len(case.lines)], done.returncode) == (expected(case, tmp_path), case.code)
    assert done.stderr == ""


def test_all_tools_that_hang_cost_five_seconds_together_and_are_gone_afterwards(tmp_path):
    names = ("nvidia-smi", "nvcc", "dpkg-query", "rpm", "nvidia-ctk", "docker")
    programs(tmp_path / "bin", dict.fromkeys(names, "hang"))
    done, took_s = _run(environment={**CLEAN, "PATH": str(tmp_path / "bin")})
    assert done.stdout.splitlines()[:3] == [driver("none"), cuda("none"), toolkit("none")]
    assert done.returncode == 1
    assert took_s < 3 * HANG_S
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True, check=False)
    assert left.stdout == ""


def test_no_tool_of_this_machine_speaks_for_a_snapshot_or_another_root(tmp_path):
    environment = laid(CASES["ready"], tmp_path)
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/etc/os-release").write_text('ID=zorin\nID_LIKE="ubuntu debian"\nPRETTY_NAME="Zorin OS 17"\n')
    for place in (("--from", str(recorded.HOSTS / "no-gpu-vm")), ("--root", str(tmp_path / "root"))):
        done, _ = _run(*place, environment=environment)
        title = DETECTED if place[0] == "--from" else "INFO: detected Zorin OS 17 (family=debian, manager=apt-get)"
        assert done.stdout.splitlines()[:9] == [driver("none"), cuda("none"), toolkit("none"), *NO_DOCKER, title, *HINT]
        assert done.returncode == 1


@pytest.mark.parametrize("path", ["a b", "it's", 'say "x"', "line\nbreak", "$(touch x)", "*"])
def test_folders_with_odd_names_are_found(path, tmp_path):
    folder = tmp_path / path
    programs(folder, READY)
    done, _ = _run(environment={**CLEAN, "PATH": str(folder)}, cwd=tmp_path)
    assert done.stdout.splitlines()[:5] == [DRIVER, CUDA, TOOLKIT, DOCKER, DETECTED]
    assert done.returncode == 0
    assert not (tmp_path / "x").exists()


MISTAKES = (
    (("--min-driver-version", "latest"), 2, "numeric dot-separated"),
    (("--min-cuda-version", "13."), 2, "numeric dot-separated"),
    (("--min-container-toolkit-version", ""), 2, "numeric dot-separated"),
    (("--backend", "slurm"), 2, "Unsupported backend: slurm"),
    (("--backend", "brev"), 2, "Unsupported backend: brev"),
    (("--backend", ""), 2, "Unsupported backend: "),
    (("--backend",), 1, "--backend"),
    (("--frobnicate",), 2, "Unknown argument: --frobnicate"),
    (("driver",), 2, "Unknown argument: driver"),
)


@pytest.mark.parametrize(("args", "code", "text"), MISTAKES)
def test_a_mistake_is_told_on_standard_error_alone(args, code, text):
    done, _ = _run(*args, environment={**CLEAN, "PATH": "/nonexistent"})
    assert (done.returncode, done.stdout) == (code, "")
    assert text in done.stderr


def test_a_variable_that_is_no_number_is_a_usage_error():
    done, _ = _run(environment={**CLEAN, "PATH": "/nonexistent", "TAO_MIN_CUDA_VERSION": "13.x"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "numeric dot-separated" in done.stderr


#: Of recorded hosts: flags, the lines until what hostagent adds, the exit code.
RECORDED = {
    "tao-docker": ((), ("OK: NVIDIA driver 580.178.04 >= 580", CUDA, "OK: NVIDIA Container Toolkit 1.19.1 >= 1.19.0", DOCKER), 0),
    "tao-kubernetes": (
        ("--backend", "kubernetes"),
        (
            "OK: NVIDIA driver 580.178.04 >= 580",
            CUDA,
            "OK: NVIDIA Container Toolkit 1.19.1 >= 1.19.0",
            "OK: Kubernetes reports nvidia.com/gpu allocatable",
        ),
        0,
    ),
    "hgx-h100-gpu-off-the-bus": ((), (driver("580.178.04"), cuda("none")), 1),
    "hgx-h100-userland-upgraded": ((), (driver("580.173.02"),), 1),
    "workstation-nouveau-has-both": ((), (driver("580.178.04"),), 1),
    "no-gpu-vm": ((), (driver("none"), cuda("none"), toolkit("none"), *NO_DOCKER, DETECTED, *HINT), 1),
}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_host_is_judged_by_its_own_facts(name):
    args, lines, code = RECORDED[name]
    done = CliRunner().invoke(cli, ["setup", "--from", str(recorded.HOSTS / name), *args], standalone_mode=False)
    assert done.stdout.splitlines()[: len(lines)] == list(lines)
    assert done.return_value == code


def test_what_hostagent_knows_beyond_the_script_stands_behind_its_lines():
    done = CliRunner().invoke(cli, ["setup", "--from", str(recorded.HOSTS / "hgx-h100-gpu-off-the-bus")], standalone_mode=False)
    behind = done.stdout.split(HINT[1], 1)[1].splitlines()
    assert "WARN: GPU 4 (0000:9d:00.0) has fallen off the PCIe bus" in behind


@pytest.mark.parametrize("name", ["tao-docker", "no-gpu-vm"])
def test_the_document_is_the_report_and_one_object_more_in_its_schema(name):
    place = str(recorded.HOSTS / name)
    done = CliRunner().invoke(cli, ["setup", "--from", place, "--json"], standalone_mode=False)
    told = json.loads(done.stdout)
    jsonschema.Draft202012Validator(published("report")).validate(told)
    setup = told.pop("setup")
    whole = json.loads(CliRunner().invoke(cli, ["check", "--from", place, "--json"], standalone_mode=False).stdout)
    assert told.keys() == whole.keys()
    assert told["findings"] == whole["findings"]
    assert setup["generation"] == "B"
    assert (setup["backend"], setup["minimums"]) == ("docker", {"driver": "580", "cuda": "13.0", "toolkit": "1.19.0"})
    plainly = CliRunner().invoke(cli, ["setup", "--from", place], standalone_mode=False)
    assert (setup["lines"], setup["exit"]) == (plainly.stdout.splitlines(), plainly.return_value)


def test_the_preflight_is_told_what_the_host_has():
    told = CliRunner().invoke(cli, ["setup", "--from", str(recorded.HOSTS / "tao-kubernetes"), "--print-preflight"], standalone_mode=False)
    assert told.stdout.splitlines() == ["--gpu-arch sm_90", "--target-gpu-count 8", "--target-gpu-memory-gb 79.64"]


def test_nothing_on_the_host_is_changed(tmp_path):
    root = tmp_path / "root"
    shutil.copytree("/etc/apt", root / "etc/apt", symlinks=True)
    before = {path: path.lstat().st_mtime_ns for path in root.rglob("*")}
    _run("--root", str(root), environment={**CLEAN, "PATH": "/nonexistent"})
    assert {path: path.lstat().st_mtime_ns for path in root.rglob("*")} == before
