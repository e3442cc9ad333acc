"""State directories as a daemon or our own programs leave them, and the programs of Slurm in this process."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from hostagent.cli import cli
from hostagent.engine.report import state
from hostagent.engine.report.grouping import with_headline
from tests.unit.reports import judgement, report

BOOT_ID = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
HOSTS = Path(__file__).parents[2] / "hosts"
HEALTHY, SICK = HOSTS / "hgx-h100-ubuntu2404", HOSTS / "hgx-h100-gpu-off-the-bus"
LOST = "GPU 4 has fallen off the PCIe bus"
#: One check of the node, one of the fabric: outcomes by verdict.
JUDGED = {
    "ready": ("pass", "pass"),
    "degraded": ("warn", "pass"),
    "not_ready": ("fail", "pass"),
    "unknown": ("unknown", "pass"),
    "multi_not_ready": ("pass", "fail"),
}


def judged(word, *more, age_s=0.0, boot_id=BOOT_ID, valid_for_s=600.0):
    """A report of now."""
    node, fabric = JUDGED[word]
    ones = (
        judgement("gpu.on_bus", outcome=node, severity="warning" if node == "warn" else "critical", headline=LOST),
        judgement("rdma.port_active", outcome=fabric, scope="cluster", headline="Port mlx5_0 is down"),
        *more,
    )
    at = time.time() - age_s
    return with_headline(replace(report(*ones), observed_at=at, valid_until=at + valid_for_s, boot_id=boot_id))


def daemon_says(folder, word, *more, reason="", **times):
    """The daemon's state.json. `reason`: of both conditions; else what the verdict makes of them."""
    found = judged(word, *more, **times)
    words = {"Ready": found.verdict.single_node, "MultiNodeReady": found.verdict.multi_node}
    named = {"ready": "Ready", "degraded": "Degraded", "not_ready": "GpuOnBus", "unknown": "CouldNotRead"}
    conditions = [
        {
            "type": kind,
            "status": {"not_ready": "False", "unknown": "Unknown"}.get(said, "True"),
            "reason": reason or named[said],
            "message": LOST,
        }
        for kind, said in words.items()
    ]
    document = {**state.document(found, ()), "measured": state.document(found, ())["verdict"], "conditions": conditions}
    state.make(str(folder))
    (folder / "state.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def slurm(program, folder, *arguments, **environment):
    """``hostagent slurm PROGRAM`` for node n1: exit code, standard error, standard output."""
    kept = {**{name: None for name in os.environ if name.startswith("SLURM")}, **environment}
    runner = CliRunner(env=kept)
    done = runner.invoke(cli, ["slurm", program, "--node", "n1", "--state-dir", str(folder), *map(str, arguments)], standalone_mode=False)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.return_value, done.stderr, done.stdout


def files(folder):
    """Those of our programs, without locks."""
    place = folder / "slurm"
    return {one.name for one in place.iterdir() if not one.name.endswith("lock")} if place.is_dir() else set()


def markers(folder):
    path = folder / "slurm/n1.refused.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
