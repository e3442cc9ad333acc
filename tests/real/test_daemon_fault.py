"""From a fault of the host to the condition of its node: a real daemon, a made tree, real uevents, a real API server."""

import json
import os
import statistics
from pathlib import Path

import pytest

from tests.real.daemonrun import Daemon, eventually
from tests.trees import hosts

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="trees of root alone are read: run 'sudo make test'")]
NODE = "faulty"
XID = "6,{number},{at}000000,-;NVRM: Xid (PCI:0000:1b:00): {code}, pid=1, name=x\n"


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    folder = tmp_path_factory.mktemp("host")
    tree = folder / "tree"
    hosts.hgx_h100(tree)
    return tree


@pytest.fixture(scope="module")
def daemon(cluster, host, tmp_path_factory):
    folder = tmp_path_factory.mktemp("daemon")
    cluster.node(NODE)
    config = cluster.kubeconfig(folder / "kubeconfig", cluster.token(NODE))
    with Daemon(folder, "--host-root", host, "--kubeconfig", config, "--node-name", NODE, "--interval", 3600) as running:
        eventually(lambda: condition(cluster, "Ready")["status"] == "True", 60)
        yield running
        assert running.end() == 0


def condition(cluster, kind):
    listed = cluster.get(NODE)["status"]["conditions"]
    return next((one for one in listed if one["type"] == f"hostagent.dev/{kind}"), {"status": "", "reason": "", "message": ""})


def passes(daemon, trigger):
    lines = daemon.get("/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(f'hostagent_passes_total{{trigger="{trigger}"}}'))


def test_a_line_of_the_kernel_log_is_told(cluster, daemon, host):
    with (host / "dev" / "kmsg").open("a") as log:
        log.write(XID.format(number=90001, at=90001, code=79))
    took_s = eventually(lambda: condition(cluster, "Ready")["status"] == "False", 20)
    assert condition(cluster, "Ready")["reason"] in ("GpuXid", "GpuOnBus", "GpuLost")
    assert cluster.get(NODE)["metadata"]["labels"]["hostagent.dev/ready"] == "false"
    assert passes(daemon, "kernel-log") >= 1
    assert took_s < 10


def test_a_changed_file_is_told(cluster, daemon, host):
    """Median of several changes, in messages: a status that turned each time would be flapping."""
    config: Path = host / "etc" / "containerd" / "config.toml"
    whole, times = config.read_text(), []
    before = passes(daemon, "configuration")
    for number in range(5):
        config.write_text("broken = [" if number % 2 == 0 else whole)
        times.append(eventually(lambda at=before + number: passes(daemon, "configuration") > at, 20))
    config.write_text(whole)
    assert statistics.median(times) < 10
    assert condition(cluster, "ToolkitReady")["status"] in ("True", "False")


def test_a_uevent_begins_a_pass(daemon):
    before = passes(daemon, "uevent")
    Path("/sys/class/net/lo/uevent").write_text("change")
    eventually(lambda: passes(daemon, "uevent") > before, 20)


def test_no_pass_runs_a_program_or_leaves_a_process(daemon):
    children = Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split()
    assert len(children) == 1, "the teller alone"
    report = json.loads((daemon.state / "report.json").read_text())
    assert report["simulated"] is True
