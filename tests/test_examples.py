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


#: Of a cluster whose API server is away.
_KUBECONFIG = """\
current-context: gpu
contexts: [{name: gpu, context: {cluster: gpu, user: admin}}]
clusters: [{name: gpu, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: admin, user: {token: x}}]
"""
_AWAY = "the API server was not reached: connection refused"
_LOG = "node1:7:7 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"


@pytest.fixture
def folder(tmp_path):
    """What the examples name: recorded hosts, one adopted long ago, reports of eight, a fleet, a profile, a job and its log, an image, a
    kubeconfig.
    """
    shutil.copytree(HOSTS.parent / "fleet", tmp_path / "fleet")
    for name, host in (("host.json", "hgx-h100-ubuntu2404"), ("other.json", "no-gpu-vm")):
        shutil.copy(HOSTS / host / "tape.json", tmp_path / name)
    shutil.copytree(HOSTS / "hgx-h100-ubuntu2404", tmp_path / "older")
    shutil.copy(tmp_path / "host.json", tmp_path / "new.json")
    tape = json.loads((tmp_path / "older/tape.json").read_text())
    del tape["answers"]["adjtimex"]
    (tmp_path / "older/tape.json").write_text(json.dumps(tape))
    (tmp_path / "mine.yaml").write_text("gpus: {count: 8}\n")
    (tmp_path / "job.yaml").write_text(_JOB)
    (tmp_path / "admin.conf").write_text(_KUBECONFIG)
    (tmp_path / "admin.conf").chmod(0o600)
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


def shell(folder, example):
    """How it is started."""
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "KUBECONFIG": "admin.conf"}
    return {"args": ["/bin/bash", "-o", "pipefail", "-c", example], "cwd": folder, "env": environment, "text": True}


def reaches_a_cluster(example):
    asks = example.startswith("hostagent gate") and "--reports" not in example
    return (asks or example.startswith(("hostagent kubernetes", "hostagent controller"))) and "--help" not in example


@pytest.mark.parametrize("example", sorted({line.strip() for _, line in EXAMPLES if reaches_a_cluster(line.strip())}))
def test_an_example_that_needs_a_cluster_gets_as_far_as_to_its_api_server(folder, example):
    """Or to Slurm. A controller waits for it, and ends when it is asked to."""
    asked = shell(folder, f"exec timeout --preserve-status 60 {example}")
    away = "cannot read the cluster of Slurm" if "slurm" in example else _AWAY
    with subprocess.Popen(**asked, stderr=subprocess.PIPE) as process:
        assert any(away in line for line in process.stderr)
        if "controller" in example:
            process.terminate()
    assert process.returncode == (0 if "controller" in example else 2)


@pytest.mark.parametrize("example", sorted({line.strip() for _, line in EXAMPLES if not reaches_a_cluster(line.strip())}))
def test_an_example_works(folder, example):
    answer = subprocess.run(**shell(folder, example), capture_output=True, check=False, timeout=120)
    # 1 is an answer there: not ready, different
    questions = ("hostagent check", "hostagent status", "hostagent topology", "hostagent setup", "snapshot diff")
    assert answer.returncode in (
        (0, 1, 2, 3)
        if "nagios" in example
        else (0, 1)
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
        path.name not in ("host.json", "other.json", "mine.yaml", "job.yaml", "job.log", "logs", "reports", "fleet", "image", "admin.conf")
        for path in folder.iterdir()
    )


def test_help_prints_what_the_option_prints():
    for names in COMMANDS:
        program = str(BIN / "hostagent")
        told = subprocess.run([program, "help", *names[1:]], capture_output=True, text=True, check=True, timeout=60).stdout
        asked = subprocess.run([program, *names[1:], "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
        assert told == asked
        assert "Examples:" in told
