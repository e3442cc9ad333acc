"""Every example in every --help, as a reader would paste it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hostagent.cli import cli
from tests.nccl_nodes import fleet

BIN = Path(sys.executable).parent
HOSTS = Path(__file__).parent / "hosts"
HEAD = "\b\nExamples:\n"


def commands(command=cli, names=("hostagent",)):
    yield names, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*names, name))


COMMANDS = dict(commands())
EXAMPLES = [(" ".join(names), line) for names, one in COMMANDS.items() for line in (one.epilog or "").removeprefix(HEAD).splitlines()]


_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}]
"""


_LOG = "node1:7:7 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"


@pytest.fixture
def folder(tmp_path):
    """What the examples name: two recorded hosts, reports of eight, a fleet, a profile, a job and its log, an image."""
    shutil.copytree(HOSTS.parent / "fleet", tmp_path / "fleet")
    for name, host in (("host.json", "hgx-h100-ubuntu2404"), ("other.json", "no-gpu-vm")):
        shutil.copy(HOSTS / host / "tape.json", tmp_path / name)
    (tmp_path / "mine.yaml").write_text("gpus: {count: 8}\n")
    (tmp_path / "job.yaml").write_text(_JOB)
    (tmp_path / "job.log").write_text(_LOG)
    (tmp_path / "logs").mkdir()
    shutil.copy(tmp_path / "job.log", tmp_path / "logs/node1.log")
    (tmp_path / "reports").mkdir()
    for number, made in enumerate(fleet(8)):
        (tmp_path / f"reports/{number}.json").write_text(json.dumps(made))
    (tmp_path / "image/etc").mkdir(parents=True)
    (tmp_path / "image/etc/os-release").write_text("ID=debian\nVERSION_ID=12\n")
    (tmp_path / "image/usr/bin").mkdir(parents=True)
    return tmp_path


def test_each_command_has_an_example_of_itself():
    for names, one in COMMANDS.items():
        assert (one.epilog or "").startswith(HEAD), names
        assert any(" ".join(names) in line for owner, line in EXAMPLES if owner == " ".join(names)), names


@pytest.mark.parametrize("example", sorted({line.strip() for _, line in EXAMPLES}))
def test_an_example_works(folder, example):
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    argv = ["/bin/bash", "-o", "pipefail", "-c", example]
    answer = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120)
    # 1 is an answer there: not ready, different
    questions = ("hostagent check", "hostagent status", "hostagent topology", "hostagent setup", "snapshot diff")
    assert answer.returncode in (
        (0, 1)
        if any(one in example for one in questions)
        else (0, 1, 2)  # without a daemon on this machine: unknown
        if "hostagent npd" in example
        else (0, 4)
        if "hostagent plan" in example or "hostagent install --dry-run" in example
        else (0,)
    ), answer
    assert "Error" not in answer.stderr
    assert "Traceback" not in answer.stderr
    assert answer.stdout or any(
        path.name not in ("host.json", "other.json", "mine.yaml", "job.yaml", "job.log", "logs", "reports", "fleet", "image")
        for path in folder.iterdir()
    )


def test_help_prints_what_the_option_prints():
    for names in COMMANDS:
        program = str(BIN / "hostagent")
        told = subprocess.run([program, "help", *names[1:]], capture_output=True, text=True, check=True, timeout=60).stdout
        asked = subprocess.run([program, *names[1:], "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
        assert told == asked
        assert "Examples:" in told
