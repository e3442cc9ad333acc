"""The real NCCL libraries that install_libnccl.sh leaves: judges of what we say of NCCL, without a GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.conftest import need_real

LIBRARIES = ("2.18.3", "2.21.5", "2.23.4", "2.27.3", "2.28.9", "2.30.7", "2.32.3")
INSIDE = Path(__file__).parent / "nccl_inside.py"


def library(version):
    """The path of a library, or a skip."""
    return need_real(f"libnccl/{version}.so", "tests/real/install_libnccl.sh")


def asked(questions):
    """What each library answers to each question of `nccl_inside`, and what the kernel shows of each network."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root: run the tests as root")
    lines = [{"libraries": {version: library(version) for version in LIBRARIES}}, *questions]
    run = subprocess.run(
        ["unshare", "--mount", "--net", sys.executable, str(INSIDE)],
        input="".join(f"{json.dumps(line)}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    told = [json.loads(line) for line in run.stdout.splitlines()]
    assert not [one for one in told if one["waiting"] or one["faults"]]
    return told
