"""From a fault of the host to the condition of its node: a real daemon, a made tree, real uevents, a real API server."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.real.daemonrun import Daemon, eventually
from tests.real.hostfaults import FAULTS, happens
from tests.trees import hosts

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="trees of root alone are read: run 'sudo make test'")]
NODE = "faulty"
PASSES = re.compile(r'^hostagent_passes_total\{trigger="(.*?)"\} (.*)$', re.MULTILINE)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    folder = tmp_path_factory.mktemp("host")
    tree = folder / "tree"
    hosts.hgx_h100_here(tree)
    return tree


@pytest.fixture(scope="module")
def daemon(cluster, host, tmp_path_factory):
    folder = tmp_path_factory.mktemp("daemon")
    cluster.node(NODE)
    config = cluster.kubeconfig(folder / "kubeconfig", cluster.token(NODE))
    with Daemon(folder, "--host-root", host, "--kubeconfig", config, "--node-name", NODE, "--interval", 3600) as running:
        eventually(lambda: all(condition(cluster, one.condition)["status"] == "True" for one in FAULTS), 60)
        yield running
        assert running.end() == 0


def condition(cluster, kind):
    listed = cluster.get(NODE)["status"]["conditions"]
    return next((one for one in listed if one["type"] == f"hostagent.dev/{kind}"), {"status": "", "reason": "", "message": ""})


def passes(daemon):
    """By what began them."""
    return {trigger: float(count) for trigger, count in PASSES.findall(daemon.get("/metrics").text)}


def test_a_fault_is_told_by_the_pass_that_it_begins_and_all_of_them_for_what_they_are(cluster, daemon, host):
    """How long it takes is measured by ``make bench``: here others keep the machine busy."""
    for fault in FAULTS:
        told(cluster, daemon, host, fault)
    assert condition(cluster, "Ready")["reason"] in ("GpuXid", "GpuOnBus", "GpuLost")
    assert condition(cluster, "FabricReady")["reason"] == "RdmaPortState"
    assert condition(cluster, "ToolkitReady")["reason"] == "RuntimeConfigAccepted"


def told(cluster, daemon, host, fault):
    before = passes(daemon)
    happens(fault, host)
    took_s = eventually(lambda: condition(cluster, fault.condition)["status"] == "False", 40)
    more = {trigger for trigger, count in passes(daemon).items() if count > before.get(trigger, 0)}
    assert more & {fault.trigger, "uevent"}, "devices of other tests come and go"
    assert more <= {fault.trigger, "uevent", "confirm"}
    assert cluster.get(NODE)["metadata"]["labels"]["hostagent.dev/ready"] == "false"
    assert took_s < 30


def test_no_pass_runs_a_program_or_leaves_a_process(daemon):
    children = Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split()
    assert len(children) == 1, "the teller alone"
    report = json.loads((daemon.state / "report.json").read_text())
    assert report["simulated"] is True
