"""A file system that hangs, over many passes: its children are few, and every pass comes to its end."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.real.daemonrun import Daemon
from tests.real.footprint import children
from tests.real.hangingmount import hanging
from tests.trees import hosts

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="mounts: run 'sudo make test'")]
PASSES_OF_A_DAEMON = 6
#: Seconds that a killed process may take to die.
DYING_S = 1.5
PASSES = """
import sys, time
from hostagent.cli.options import prepared_for
from hostagent.daemon import passes
from hostagent.daemon.passes import Between
from hostagent.daemon.stuck import Stuck
from hostagent.engine.target import Evidence
from hostagent.engine.result_cache import ResultCache
place = Evidence(host_root=sys.argv[1])
prepared, stuck, cache = prepared_for(place, ""), Stuck(), ResultCache()
for _ in range(int(sys.argv[2])):
    done = passes.run(place, prepared, "n", Between({}, lambda facts, now: facts, stuck, cache))
    left = stuck.alive()
    print(round(done.took_s, 2), len(left.questions) + len(left.lanes), done.report.verdict.single_node, flush=True)
"""


def test_twenty_passes_leave_at_most_three_children(tmp_path):
    tree = tmp_path / "tree"
    hosts.hgx_h100_here(tree)
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


def test_a_daemon_over_such_files_has_at_most_three_children_of_old_passes_and_answers(tmp_path):
    """Its own processes, while they are at work: the loop, the teller, and of each pass what has not ended."""
    tree = tmp_path / "tree"
    hosts.hgx_h100_here(tree)
    with (
        hanging(tree / "etc" / "containerd"),
        hanging(tree / "var" / "lib" / "kubelet"),
        Daemon(tmp_path, "--host-root", tree, "--kubernetes", "off", "--interval", 5) as daemon,
    ):
        most, answered, since = 0, 0, dict[int, float]()
        ends = time.monotonic() + 120
        while passes(daemon) < PASSES_OF_A_DAEMON:
            assert time.monotonic() < ends, daemon.said()
            now = time.monotonic()
            since = {pid: since.get(pid, now) for pid in children(daemon.process.pid) if is_stuck(pid)}
            most = max(most, sum(now - began > DYING_S for began in since.values()))
            answered += daemon.answers("/livez")
            time.sleep(0.1)
        assert 1 <= most <= 3
        assert answered > PASSES_OF_A_DAEMON
        summary = json.loads((daemon.state / "summary.json").read_text())
        assert summary["verdict"]["single_node"] != "ready"
        began = time.monotonic()
        assert daemon.end(10) == 0
        assert time.monotonic() - began < 10


def passes(daemon):
    if not daemon.answers("/livez"):
        return 0
    lines = daemon.get("/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("hostagent_passes_total{"))


def is_stuck(pid):
    """It was killed, and the kernel does not let it die."""
    with contextlib.suppress(OSError):
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
        pending = int(status["SigPnd"], 16) | int(status["ShdPnd"], 16)
        return bool(pending & 1 << (signal.SIGKILL - 1)) and not status["State"].startswith("Z")
    return False
