"""The bench of the gate on a large cluster runs, and a small cluster keeps to what is wanted of it: `make bench` has 10,000 nodes."""

import subprocess
import sys
from pathlib import Path

from tests.real.cluster import SERVER, program

ROOT = Path(__file__).parents[2]


def test_300_nodes_take_no_more_time_and_memory_than_is_wanted():
    program(SERVER)
    argv = [sys.executable, "tests/bench/gatecluster.py", "--nodes", "300", "--rounds", "1", "--check"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
