"""A file system that hangs, over many passes: its children are few, and every pass comes to its end."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.real.hangingmount import hanging
from tests.trees import hosts

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="mounts: run 'sudo make test'")]
PASSES = """
import sys, time
from hostagent.cli.options import prepared_for
from hostagent.daemon import passes
from hostagent.daemon.passes import Between
from hostagent.daemon.stuck import Stuck
from hostagent.evidence import Evidence
place = Evidence(host_root=sys.argv[1])
prepared, stuck = prepared_for(place, ""), Stuck()
for _ in range(int(sys.argv[2])):
    done = passes.run(place, prepared, "n", Between({}, lambda facts, now: facts, stuck))
    left = stuck.left()
    print(round(done.took_s, 2), len(left.questions) + len(left.lanes), done.report.verdict.single_node, flush=True)
"""


def test_twenty_passes_leave_at_most_three_children(tmp_path):
    tree = tmp_path / "tree"
    hosts.hgx_h100(tree)
    with hanging(tree / "etc" / "containerd"):
        began = time.monotonic()
        argv = [sys.executable, "-c", PASSES, str(tree), "20"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=200, cwd=Path(__file__).parents[2])
        rows = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert len(rows) == 20
    assert 1 <= max(int(row[1]) for row in rows) <= 3
    assert [row[1] for row in rows[1:]] == [rows[-1][1]] * 19, "no later pass leaves another one"
    assert {row[2] for row in rows} & {"ready"} == set(), "what could not be read is not fine"
    assert max(float(row[0]) for row in rows[1:]) < 10
    assert time.monotonic() - began < 150
