"""TAO's SlurmSDK, from PyPI, over real ssh and scp, on a real Slurm whose nodes hostagent watches; and the inventory reader of TAO's skills.

Simulated: the hosts are recordings; `srun` drops the options of Pyxis; `sacct` answers from slurmctld, because there is no accounting. The
expressions of the inventory reader are written anew from their description.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.real import slurmrun
from tests.real.conftest import need_real
from tests.real.daemonrun import eventually

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="slurmd runs as root: run 'sudo make test'")
_INSTALL = "bash tests/real/install_tao.sh"
_INSIDE = Path(__file__).with_name("tao_inside.py")
BAD, OTHERS = "n1", {"n2", "n3", "n4"}
_PROGRAMS = ("health", "prolog", "epilog")
#: Of one job: the first, and ten retries.
MOST = 11
_SHIMS = {
    # for Pyxis
    "srun": """#!/bin/bash
for word; do shift; case $word in --container-*) ;; *) set -- "$@" "$word" ;; esac; done
exec /usr/bin/srun "$@"
""",
    # for slurmdbd
    "sacct": """#!/bin/sh
for word; do case $word in --job=*) scontrol show job -o "${word#--job=}" | sed -n 's/.* JobState=\\([A-Z_]*\\).*/\\1/p' ;; esac; done
""",
    # Slurm 22.05 does not make the directory of a job's --output
    "mkdirs": '#!/bin/sh\nmkdir -p "{base}/slurm-logs/$SLURM_JOB_NAME-$SLURM_JOB_ID"\n',
    # a program that dies with its GPU, where the node is the bad one
    "train": """#!{python} -I
import json, os, sys, time
node = os.environ["SLURMD_NODENAME"]
if node != "{bad}":
    sys.exit(0)
path = f"{home}/nodes/{{node}}/tape.json"
recorded = json.load(open(path))
line = "NVRM: Xid (PCI:0000:9d:00): 79, pid=4, name=python, GPU has fallen off the bus."
recorded["answers"]["kernel_log"]["json"]["lines"].append([time.time() - {booted}, line])
with open(path + ".new", "w") as stream:
    json.dump(recorded, stream)
os.rename(path + ".new", path)
print("Xid 79 error: GPU has fallen off the bus")
sys.exit(1)
""",
}
#: The reason of a node that is out for it.
_DRAINED_FOR_XID = re.compile(r"hostagent: GpuXid: GPU 4 .*Xid 79")


class Tao:
    """A user of TAO, who can log in to the cluster in `home`, once that is up."""

    def __init__(self, home, python):
        self.cluster, self._python, self._folder = None, python, home / "tao"
        self.base, self._bin = self._folder / "lustre", self._folder / "bin"
        self._bin.mkdir(parents=True)
        self.makes_folders = self._bin / "mkdirs"
        names = {"base": self.base, "python": sys.executable, "bad": BAD, "home": home, "booted": slurmrun.BOOTED_AT}
        for name, text in _SHIMS.items():
            (self._bin / name).write_text(text.format(**names) if name in ("mkdirs", "train") else text)
            (self._bin / name).chmod(0o755)

    def submits(self, *, nodes=1, seconds=90, is_exit_code_kept=True):
        """One job of eight GPUs a node, until it ends or the time is over: status, attempts, logs."""
        home = Path(tempfile.mkdtemp(dir=self._folder))
        login = {"PATH": f"{self._bin}:/usr/bin:/bin", "SLURM_CONF": f"{self.cluster.home}/slurm.conf", "HOME": str(home)}
        job = {"image": "nvcr.io/nvidia/tao:1", "command": str(self._bin / "train"), "gpu_count": slurmrun.GPUS, "num_nodes": nodes}
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "PYTHONWARNINGS": "ignore",
            "TAO_SDK_STATE_DIR": str(home / "state"),
            "SLURM_USER": "root",
            "SLURM_HOSTNAME": "login",
            "SLURM_BASE_RESULTS_DIR": str(self.base),
            "SLURM_PARTITION": "gpu",
            "SLURM_ACCOUNT": "ml",
            "SLURM_USE_SQSH": "false",
            "SLURM_CPUS_PER_TASK": "1",
            "SLURM_MAX_CPUS_PER_TASK": "1",
            **({"SLURM_USE_REQUEUE": "false"} if is_exit_code_kept else {}),
        }
        argv = [self._python, str(_INSIDE), str(home), json.dumps({"login": login, "job": job, "seconds": seconds})]
        done = subprocess.run(argv, env=environment, cwd=home, capture_output=True, text=True, check=False, timeout=seconds + 60)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def nodes_of(self, attempts):
        return [self.cluster.job(number)["NodeList"] for number in attempts]


@pytest.fixture
def tao(tmp_path):
    """A cluster of its own: a refusal is remembered for a while."""
    python = need_real("tao/bin/python", _INSTALL)
    for program in ("ssh", "scp"):
        need_real(f"/usr/bin/{program}", "apt-get install openssh-client")
    made = Tao(tmp_path, python)
    with slurmrun.started(tmp_path, more=f"PrologSlurmctld={made.makes_folders}\n") as made.cluster:
        made.cluster.scontrol("update", "PartitionName=gpu", "MaxTime=INFINITE")  # the SDK asks for hours
        yield made


@pytest.mark.parametrize(
    ("is_watched", "status", "attempts", "then"),
    [pytest.param(False, "Error", MOST, {BAD}, marks=pytest.mark.full, id="without"), pytest.param(True, "Complete", 2, OTHERS, id="with")],
)
def test_a_job_that_dies_with_xid_79_is_retried_on_another_node_where_hostagent_watches(tao, is_watched, status, attempts, then):
    for program in () if is_watched else _PROGRAMS:
        tao.cluster.hold(program)
    ended = tao.submits()
    first, *others = tao.nodes_of(ended["attempts"])
    assert (ended["status"], len(ended["attempts"]), first) == (status, attempts, BAD), ended
    assert set(others) <= then
    assert is_watched or "Xid 79" in ended["logs"]
    if is_watched:
        eventually(lambda: _DRAINED_FOR_XID.match(tao.cluster.node(BAD).reason), 10)


def test_where_the_job_s_exit_code_is_lost_the_epilog_still_drains_the_node(tao):
    """By the template's defaults a job that failed ends as COMPLETED."""
    tao.cluster.hold("health")
    ended = tao.submits(is_exit_code_kept=False)
    assert (ended["status"], tao.nodes_of(ended["attempts"])) == ("Complete", [BAD])
    assert "Xid 79" in ended["logs"]
    eventually(lambda: tao.cluster.node(BAD).is_drained, 10)
    tao.cluster.release("health")
    eventually(lambda: _DRAINED_FOR_XID.match(tao.cluster.node(BAD).reason), 10)


def test_a_drained_node_is_never_used(tao):
    """A job that would need it waits."""
    tao.cluster.hosts[BAD].fault(3)
    eventually(lambda: tao.cluster.node(BAD).is_drained, 10)
    ended = tao.submits(nodes=3)
    assert (ended["status"], tao.nodes_of(ended["attempts"])) == ("Complete", ["n[2-4]"])
    assert tao.submits(nodes=4, seconds=3)["status"] == "Pending"
    assert "DRAINED" in tao.cluster.client("squeue", "-h", "-o", "%R").stdout


#: A node's state that keeps it out, and words of its comment, which is read to the end of the line.
_OUT = re.compile(r"(?<![A-Z_])(?:DOWN|DRAIN(?:ED|ING)?|FAIL(?:ED|ING)?|NOT_RESPONDING|POWER_DOWN)(?![A-Z_])")
_WORDS = re.compile(
    r"network diagnostics?|quarantin|do not schedule|unhealthy|hardware diagnostics?|pyxis|enroot|mount failure|i/?o[-_ ]error"
    r"|lustre[-_ ]error|node[-_ ]failure|gpu.*(?:fail|xid)|xid \d",
    re.IGNORECASE,
)


def excluded(line):
    """Whether TAO's inventory reader leaves a node out, by its line of `scontrol show nodes -o`."""
    state = re.search(r"\bState=(\S+)", line)[1]
    comment = re.search(r"\bComment=(.*)$", line)
    return bool(_OUT.search(state) or (comment and _WORDS.search(comment[1])))


def test_the_inventory_reader_takes_healthy_nodes_and_leaves_out_those_in_quarantine_and_drained(tao):
    cluster = tao.cluster
    healthy, quarantined, drained, marked = slurmrun.NODES
    profile = cluster.home / "profile.yaml"
    profile.write_text("extends: slurm\nquarantine: [gpu.row_remap]\nchecks: {gpu.row_remap: {severity: warning}}\n")
    cluster.options(quarantined, f"--profile {profile}")
    cluster.hosts[quarantined].fault(2)
    cluster.hosts[drained].fault(2)
    cluster.update(marked, Comment="rack 7")
    eventually(lambda: cluster.node(quarantined).comment and cluster.node(drained).is_drained, 10)
    eventually(lambda: all(cluster.node(node).extra for node in slurmrun.NODES), 10)
    lines = {line.split("=")[1].split()[0]: line for line in cluster.scontrol("show", "nodes", "-o").splitlines()}
    assert {node: excluded(lines[node]) for node in slurmrun.NODES} == {healthy: False, quarantined: True, drained: True, marked: False}
    assert not cluster.node(quarantined).is_drained
    assert " Comment=rack 7" in lines[marked], "what is read behind it is our Extra"
