"""docs/slurm.md: its commands as they stand, on a real Slurm of four nodes, and what the page and README say that Slurm prints.

All four nodes are on this machine: what the page does on each node is done once. The site's paths lie in a folder of the test, health runs every
2 s, `systemctl` and `sleep` are stand-ins, and each node is a recorded host.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hostagent.cli import cli
from hostagent.slurm.reason import reason_text
from tests.cpu import crowding
from tests.readme import SHOWN
from tests.real import slurmrun
from tests.real.conftest import need_real
from tests.real.daemonrun import eventually

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/slurm.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- run: (\S+) -->\n```sh\n(.*?)```", PAGE, re.DOTALL))
SINFO = dict(SHOWN.findall(PAGE))["sinfo"]
OFF_THE_BUS = ROOT / "tests/hosts/hgx-h100-gpu-off-the-bus/tape.json"
#: In the order in which the test types them.
ORDER = ("node", "daemon", "conf", "gate", "remove")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="slurmd runs as root: run 'sudo make test'")
_PROGRAM = """#!/bin/sh
export SLURM_CONF={home}/slurm.conf
node={home}/nodes/$SLURMD_NODENAME
case "$1 $2" in "slurm health" | "slurm prolog" | "slurm epilog") set -- "$@" --from "$node/tape.json" --state-dir "$node/state" ;; esac
[ "$1" = gate ] || cd /
PYTHONPATH={root}:{root}/checks exec {python} -m hostagent "$@"
"""
_SYSTEMCTL = """#!/bin/sh
echo "$@" >> {home}/systemctl
"""
#: A second for a health check that begins, and as long as one is at work.
_SLEEP = """#!/bin/sh
echo "$@" >> {home}/sleep
/bin/sleep 1
while pgrep --full {home}/etc/slurm/hostagent-health >/dev/null; do /bin/sleep 0.1; done
"""
_STAND_INS = {"hostagent": _PROGRAM, "systemctl": _SYSTEMCTL, "sleep": _SLEEP}


class Site:
    """An administrator, in a clone on a node of the cluster."""

    def __init__(self, home):
        self.home, self.clone = home, home / "clone/daemonset/slurm"
        self.cluster = slurmrun.Cluster(home, 2, "", slurmrun.Place(), munge=False)
        self.conf = home / "slurm.conf"
        self.conf.write_text(re.sub(r"^(HealthCheck|Prolog|Epilog)\w*=.*\n", "", self.conf.read_text(), flags=re.MULTILINE))
        self._links = home / "links"
        self._links.mkdir()
        for name, text in _STAND_INS.items():
            (self._links / name).write_text(text.format(home=home, root=ROOT, python=sys.executable))
            (self._links / name).chmod(0o755)
        # Of the site: where hostagent is, where the files lie, and a short interval.
        self._places = {"/usr/bin/hostagent": f"{self._links}/hostagent", "/etc/slurm/slurm.conf": str(self.conf), "/etc/": f"{home}/etc/"}
        (home / "etc/slurm").mkdir(parents=True)
        shutil.copytree(ROOT / "daemonset/slurm", self.clone)
        for path in self.clone.iterdir():
            path.write_text(self._here(path.read_text()).replace("HealthCheckInterval=60", f"HealthCheckInterval={self.cluster.interval}"))

    def _here(self, text):
        for there, here in self._places.items():
            text = text.replace(there, here)
        return text

    def run(self, name):
        """A block of the page, typed on n1, and what it prints."""
        environment = {"PATH": f"{self._links}:{os.environ['PATH']}", "SLURM_CONF": str(self.conf), "SLURMD_NODENAME": "n1"}
        argv = ["bash", "-e", "-o", "pipefail", "-c", self._here(BLOCKS[name])]
        done = subprocess.run(argv, cwd=self.home / "clone", env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{BLOCKS[name]}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def nodes(self):
        return {name: self.cluster.node(name)._replace(reason_at="") for name in slurmrun.NODES}

    def job_runs_on(self):
        """The node of a job that may have any."""
        number = self.cluster.sbatch("true")
        eventually(lambda: self.cluster.job(number)["JobState"] == "COMPLETED", 20)
        return self.cluster.job(number)["NodeList"]


@pytest.fixture
def site(tmp_path):
    for name in ("slurmctld", "slurmd"):
        need_real(f"/usr/sbin/{name}", slurmrun.HOW)
    made = Site(tmp_path)
    try:
        made.cluster.start()
        yield made
    finally:
        made.cluster.stop()


def test_each_block_of_commands_is_run():
    assert PAGE.count("```sh\n") == len(BLOCKS)
    assert tuple(BLOCKS) == ORDER


@as_root
def test_the_page_from_a_clone_to_a_cluster_and_out_again(site):
    cluster, conf, before = site.cluster, site.conf.read_text(), site.nodes()
    assert "n1: it is placeable, and is in service: would write Extra=" in site.run("node")
    the_order_of_the_units_is_read(site)
    assert site.nodes() == before
    site.run("conf")
    eventually(lambda: all(one.extra for one in site.nodes().values()))
    the_gates_job_runs(site)
    cluster.hosts["n1"].change(json.loads(OFF_THE_BUS.read_text())["answers"])
    took = eventually(lambda: cluster.node("n1").is_drained)
    assert took < (cluster.interval + 5) * crowding()
    assert f"$ sinfo -R -o '%N  %E'\n{cluster.client('sinfo', '-R', '-o', '%N  %E').stdout}" == SINFO
    assert site.job_runs_on() != "n1"
    lines = site.conf.read_text()
    assert "Slurm has such programs already" in site.run("conf")
    assert site.conf.read_text() == lines
    cluster.hosts["n1"].mend()
    eventually(lambda: cluster.node("n1").is_idle)
    cluster.hosts["n2"].fault(3)
    eventually(lambda: cluster.node("n2").is_drained)
    assert "nothing of hostagent is left" in site.run("remove")
    assert site.conf.read_text() == conf
    assert (site.home / "sleep").read_text() == "30\n"
    eventually(lambda: site.nodes() == before)
    for path in (site.home / "etc/slurm").glob("hostagent-*.sh"):
        path.unlink()
    assert site.job_runs_on() in slurmrun.NODES


def the_gates_job_runs(site):
    eventually(lambda: all(one.is_idle for one in site.nodes().values()))
    (number,) = re.findall(r"Submitted batch job ([0-9]+)", site.run("gate"))
    script = (site.home / "clone/job.sh").read_text()
    eventually(lambda: site.cluster.job(number)["JobState"] == "COMPLETED", 30)
    assert "#SBATCH --nodelist=n1,n2\n" in script
    assert site.cluster.job(number)["NodeList"] == "n[1-2]"


def the_order_of_the_units_is_read(site):
    site.run("daemon")
    assert (site.home / "systemctl").read_text() == "daemon-reload\nenable --now hostagent\n"
    units = site.home / "etc/systemd/system"
    (units / "hostagent.service").write_text("[Service]\nExecStart=/bin/true\n")
    (units / "slurmd.service").write_text("[Service]\nExecStart=/bin/true\n")
    verify = [need_real("systemd-analyze", "apt-get install systemd"), "verify", "hostagent.service"]
    done = subprocess.run(verify, env={**os.environ, "SYSTEMD_UNIT_PATH": f"{units}:"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_readme_shows_what_the_page_shows():
    assert dict(SHOWN.findall((ROOT / "README.md").read_text(encoding="utf-8")))["sinfo"] == SINFO


def test_the_pattern_for_other_tools_matches_our_reasons():
    (pattern,) = re.findall(r"`(\^hostagent: [^`]+)`", PAGE)
    for code in ("GpuOnBus", "CouldNotRead"):
        assert re.match(pattern, reason_text(code, "GPU 4 has fallen off the PCIe bus", "Drain the node."))[1] == code


def test_each_option_of_the_page_is_one():
    ours, slurms = set(), {"--extra", "--requeue"}
    group = cli.get_command(click.Context(cli), "slurm")
    commands = [group.get_command(click.Context(group), name) for name in group.list_commands(click.Context(group))]
    for command in (*commands, cli.get_command(click.Context(cli), "gate")):
        ours |= {word for option in command.params for word in option.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) - slurms - {"--help", "--now"} <= ours
