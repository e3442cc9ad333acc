"""A small fleet keeps to what is wanted of a large one: `make bench-fleet` has 10,000 nodes."""

import subprocess
import sys
from pathlib import Path

from tests.real.cluster import SERVER, program

ROOT = Path(__file__).parents[2]


def test_500_nodes_for_30_seconds():
    """Within all wanted values, and no phase is idle."""
    program(SERVER)
    argv = [sys.executable, "tests/bench/fleet.py", "--nodes", "500", "--seconds", "30", "--check"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {
        line[:34].strip(): [float(one) for one in line[34:].split()]
        for line in done.stdout.splitlines()
        if len(line) == 74 and line[0] != " "
    }
    assert min(rows["writes/s, mean"]) > 0
    assert min(rows["transitions offered"]) > 0
    assert rows["taints set"][2] >= 90
    assert rows["taints removed"][3] >= 90
