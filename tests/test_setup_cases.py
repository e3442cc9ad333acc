"""``hostagent setup`` over tools that print what a case says, on a PATH that has nothing else; and over recorded hosts."""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from hostagent import profile
from hostagent.app import judge, policy_of, prepare
from hostagent.cli import cli
from hostagent.cli.setup import command
from hostagent.cli.setuprequest import asked_for
from hostagent.collect import READERS
from hostagent.reading import InProcess
from hostagent.schemas import published
from hostagent.setup import KINDS
from hostagent.setup.tools import Said, answered, asks
from hostagent.setup.verdict import verdict
from hostagent.source.callertools import Wanted, asked
from hostagent.source.tape import ReplayBackend
from tests import golden
from tests.setup_cases import CASES, CUDA, DETECTED, DOCKER, DRIVER, HINT, NO_DOCKER, READY, TOOLKIT, Case, cuda, driver, toolkit

HOSTAGENT = (sys.executable, "-m", "hostagent")
NODE = platform.node()
#: Of the caller's own environment nothing but this reaches a case.
CLEAN = {"HOME": "/root", "LANG": "C.UTF-8", **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}}
HANG_S = 5


@cache
def _host(name):
    """Facts and report of a recorded host."""
    prepared = prepare(profile.load("default"))
    prepared = prepared._replace(kinds=(*READERS, *KINDS))
    tape = golden.recorded(name)
    reading = InProcess(ReplayBackend(tape), prepared.kinds, replayed=True, recorded_at=tape.recorded_at)
    collected = reading.collect(policy_of(prepared))
    return collected.facts, judge(collected, reading, prepared)


def _script(printed):
    if printed == "hang":
        return "while :; do :; done"
    if printed.startswith("exit "):
        return printed
    quoted = printed.replace("'", "'\\''")
    return f"printf '%s\\n' '{quoted}'"


def _programs(folder: Path, named: "dict[str, str | None]") -> None:
    """`NAME ARGUMENT` is what the program says to that first argument."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in {name.partition(" ")[0] for name, printed in named.items() if printed is not None}:
        special = {key.partition(" ")[2]: text for key, text in named.items() if key.startswith(f"{name} ") and text is not None}
        branches = "".join(f'if [ "$1" = "{argument}" ]; then {_script(text)}; exit $?; fi\n' for argument, text in special.items())
        path = folder / name
        path.write_text(f"#!/bin/sh\n{branches}{_script(named.get(name) or '')}\n")
        path.chmod(0o755)


def _laid(case: Case, folder: Path) -> dict[str, str]:
    """The programs of a case in their places; the environment that its caller has."""
    own = str(folder / "cuda 13's")
    said = {**READY, **case.tools}
    at_path = said.pop("{path}/bin/nvcc", READY["nvcc"])
    _programs(folder / "bin", {name: printed and printed.replace("{node}", NODE) for name, printed in said.items()})
    if "{path}" in case.environment.values():
        _programs(Path(own, "bin"), {"nvcc": at_path})
    return {**CLEAN, "PATH": str(folder / "bin"), **{name: value.replace("{path}", own) for name, value in case.environment.items()}}


def _expected(case: Case, folder: Path) -> list[str]:
    return [line.replace("{path}", str(folder / "cuda 13's")) for line in case.lines]


def _answer(case: Case, environment: dict[str, str], monkeypatch):
    """What the tools say now, and what no-gpu-vm says itself."""
    for variable in os.environ:
        monkeypatch.delenv(variable)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    context = command.make_context("setup", list(case.args))
    request = asked_for(context, None, context.params)
    with asked({key: Wanted(*one) for key, one in asks(request).items()}, environment) as pending:
        heard = pending.heard()
    facts, report = _host("no-gpu-vm")
    return verdict(request, facts, answered({key: Said(*one) for key, one in heard.items()}, (NODE,)), report)


def _wrong(name: str, folder: Path, monkeypatch) -> str:
    case = CASES[name]
    found = _answer(case, _laid(case, folder), monkeypatch)
    lines, more = list(map(str, found.lines[: len(case.lines)])), found.lines[len(case.lines) :]
    if (lines, found.exit) != (_expected(case, folder), case.code):
        return f"{name}: found {found.exit} {lines}, wanted {case.code} {_expected(case, folder)}"
    behind = "\n".join(map(str, more))
    return "" if case.tells in behind and {one.mark for one in more} <= {"INFO", "WARN"} else f"{name}: {case.tells!r} is not in {behind}"


@pytest.mark.alone
@pytest.mark.parametrize("part", range(4))
def test_a_caller_gets_the_lines_and_the_exit_code_of_the_script_without_its_false_passes(part, tmp_path, monkeypatch):
    names = list(CASES)[part::4]
    with monkeypatch.context() as patch:
        wrong = [_wrong(name, tmp_path / str(number), patch) for number, name in enumerate(names)]
    assert not any(wrong), "\n".join(filter(None, wrong))


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
    done, _ = _run(*case.args, environment=_laid(case, tmp_path))
    assert (done.stdout.splitlines()[: len(case.lines)], done.returncode) == (_expected(case, tmp_path), case.code)
    assert done.stderr == ""


def test_all_tools_that_hang_cost_five_seconds_together_and_are_gone_afterwards(tmp_path):
    names = ("nvidia-smi", "nvcc", "dpkg-query", "rpm", "nvidia-ctk", "docker")
    _programs(tmp_path / "bin", dict.fromkeys(names, "hang"))
    done, took_s = _run(environment={**CLEAN, "PATH": str(tmp_path / "bin")})
    assert done.stdout.splitlines()[:3] == [driver("none"), cuda("none"), toolkit("none")]
    assert done.returncode == 1
    assert took_s < 3 * HANG_S
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True, check=False)
    assert left.stdout == ""


def test_no_tool_of_this_machine_speaks_for_a_snapshot_or_another_root(tmp_path):
    environment = _laid(CASES["ready"], tmp_path)
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/etc/os-release").write_text('ID=zorin\nID_LIKE="ubuntu debian"\nPRETTY_NAME="Zorin OS 17"\n')
    for place in (("--from", str(golden.HOSTS / "no-gpu-vm")), ("--root", str(tmp_path / "root"))):
        done, _ = _run(*place, environment=environment)
        title = DETECTED if place[0] == "--from" else "INFO: detected Zorin OS 17 (family=debian, manager=apt-get)"
        assert done.stdout.splitlines()[:9] == [driver("none"), cuda("none"), toolkit("none"), *NO_DOCKER, title, *HINT]
        assert done.returncode == 1


@pytest.mark.parametrize("path", ["a b", "it's", 'say "x"', "line\nbreak", "$(touch x)", "*"])
def test_folders_with_odd_names_are_found(path, tmp_path):
    folder = tmp_path / path
    _programs(folder, READY)
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
    done = CliRunner().invoke(cli, ["setup", "--from", str(golden.HOSTS / name), *args], standalone_mode=False)
    assert done.stdout.splitlines()[: len(lines)] == list(lines)
    assert done.return_value == code


def test_what_hostagent_knows_beyond_the_script_stands_behind_its_lines():
    done = CliRunner().invoke(cli, ["setup", "--from", str(golden.HOSTS / "hgx-h100-gpu-off-the-bus")], standalone_mode=False)
    behind = done.stdout.split(HINT[1], 1)[1].splitlines()
    assert "WARN: GPU 4 (0000:9d:00.0) has fallen off the PCIe bus" in behind


@pytest.mark.parametrize("name", ["tao-docker", "no-gpu-vm"])
def test_the_document_is_the_report_and_one_object_more_in_its_schema(name):
    place = str(golden.HOSTS / name)
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
    told = CliRunner().invoke(cli, ["setup", "--from", str(golden.HOSTS / "tao-kubernetes"), "--print-preflight"], standalone_mode=False)
    assert told.stdout.splitlines() == ["--gpu-arch sm_90", "--target-gpu-count 8", "--target-gpu-memory-gb 79.64"]


def test_nothing_on_the_host_is_changed(tmp_path):
    root = tmp_path / "root"
    shutil.copytree("/etc/apt", root / "etc/apt", symlinks=True)
    before = {path: path.lstat().st_mtime_ns for path in root.rglob("*")}
    _run("--root", str(root), environment={**CLEAN, "PATH": "/nonexistent"})
    assert {path: path.lstat().st_mtime_ns for path in root.rglob("*")} == before
