"""What fails around hostagent on a real Slurm 22.05 drains no node that should not be, ends in time and leaves no process.

health is run by hand, as slurmd starts it, and the host of its node has a fault: a fault would be written if anything were.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cpu import crowding
from tests.real import slurmrun
from tests.real.daemonrun import eventually
from tests.real.slurmrun import NODES, ROW_REMAP

ROOT = Path(__file__).parents[2]
#: Seconds of the whole program; each command of Slurm has 5 of them.
WHOLE_S = 25


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with slurmrun.started(tmp_path_factory.mktemp("slurm"), interval=3600, held=True) as made:
        yield made


@pytest.fixture
def cluster(slurm):
    for name in NODES:
        (slurm.folder(name) / "health.log").unlink(missing_ok=True)
        (slurm.folder(name) / "prolog.log").unlink(missing_ok=True)
    slurm.settled()
    yield slurm
    slurm.client("scancel", "--user=root")


@pytest.fixture
def faulty(cluster):
    for host in cluster.hosts.values():
        host.fault(4)
    return cluster


def begun(cluster, node, around=()):
    """health, by hand, not waited for."""
    argv = [*around, *cluster.place.command(str(cluster.home / "health-by-hand.sh"))]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(argv, env={"SLURMD_NODENAME": node}, cwd=cluster.home, **quiet)


def timed(cluster, node, *options):
    began = time.monotonic()
    assert cluster.health(node, *options).returncode == 0
    return time.monotonic() - began


def costs_one_command(cluster, node):
    """And writes nothing, and leaves no child."""
    calls = cluster.calls("")
    assert timed(cluster, node) < WHOLE_S
    (call,) = cluster.calls("")[len(calls) :]
    assert call == f"show node -o {node}"
    assert not cluster.left("scontrol")
    assert not cluster.left("sleep", "300")


def test_of_four_at_once_on_one_node_one_writes(faulty):
    before = faulty.calls("update", "n1")
    running = [begun(faulty, "n1") for _ in range(4)]
    assert [one.wait(30) for one in running] == [0, 0, 0, 0]
    assert len(faulty.calls("update", "n1")) == len(before) + 1
    assert faulty.node("n1").reason.startswith(ROW_REMAP)


def test_the_nodes_of_one_machine_do_not_wait_for_each_other(faulty):
    running = [begun(faulty, name) for name in NODES]
    assert [one.wait(30) for one in running] == [0, 0, 0, 0]
    assert all(faulty.node(name).reason.startswith(ROW_REMAP) for name in NODES)


def test_a_slurmctld_that_is_stopped_costs_one_command_and_writes_nothing(faulty):
    faulty.controller.send(signal.SIGSTOP)
    try:
        costs_one_command(faulty, "n1")
    finally:
        faulty.controller.send(signal.SIGCONT)
    assert "scontrol show did not end in" in faulty.said("n1")
    eventually(lambda: faulty.node("n1").is_idle, 20)
    faulty.health("n1")
    assert faulty.node("n1").is_drained, "the next run writes it"


def test_a_slurmctld_that_has_gone_costs_one_command_and_writes_nothing(faulty):
    faulty.controller.end(signal.SIGKILL)
    try:
        costs_one_command(faulty, "n1")
    finally:
        faulty.controller.start()
        eventually(lambda: "IDLE" in faulty.scontrol("show", "node", "n1", check=False), 30)
    assert "n1: scontrol show" in faulty.said("n1")


def test_a_scontrol_that_sleeps_is_ended(faulty):
    with faulty.scontrol_sleeps():
        costs_one_command(faulty, "n1")
    assert faulty.node("n1").is_idle


def test_sigterm_ends_health_and_the_scontrol_that_it_waits_for(faulty):
    with faulty.scontrol_sleeps():
        running = begun(faulty, "n1")
        eventually(lambda: faulty.left("sleep", "300"), 15)
        (program,) = faulty.left("slurm", "health", "-m")
        os.kill(program, signal.SIGTERM)
        running.wait(5)
        assert not faulty.left("sleep", "300")
    assert faulty.node("n1").is_idle


def test_a_scontrol_that_is_not_there_writes_nothing(faulty, tmp_path):
    assert faulty.health("n1", "--bin-dir", str(tmp_path)).returncode == 0
    assert "found no scontrol in" in faulty.said("n1")
    assert faulty.node("n1").is_idle


@contextmanager
def directory(cluster, node, kind):
    """A command that runs what follows where the node's state directory is full, or read-only; no other process sees it."""
    path = shlex.quote(str(cluster.folder(node) / "state"))
    lines = {
        "full": f"mount -t tmpfs -o size=16k tmpfs {path}; head -c 1000000 /dev/zero >{path}/filler 2>/dev/null",
        "read-only": f"mount -t tmpfs -o ro tmpfs {path}",
    }
    yield ["unshare", "--mount", "sh", "-c", f'{lines[kind]}; exec "$@"', "sh"]


@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_a_state_directory_that_cannot_be_written_writes_nothing_to_slurm_and_says_why(faulty, kind):
    before = faulty.calls("update")
    with directory(faulty, "n1", kind) as around:
        assert begun(faulty, "n1", around).wait(30) == 0
    assert faulty.calls("update") == before
    assert re.search(r"nothing is written to Slurm|cannot be", faulty.said("n1"))
    assert faulty.node("n1").is_idle


@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_a_state_directory_that_cannot_be_written_lets_no_node_stay_drained_for_it(cluster, kind):
    """A job on a well host: the prolog looks for itself, and lets it begin."""
    with directory(cluster, "n1", kind) as around:
        argv = [*around, str(cluster.home / "prolog-by-hand.sh")]
        environment = {"SLURMD_NODENAME": "n1", "SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1"}
        done = subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=40, check=False)
    assert done.returncode == 0, cluster.said("n1", "prolog")


def test_a_check_that_hangs_is_ended_in_time(faulty, copy):
    path = copy / "hostagent_checks/gpu/row_remap.py"
    text = path.read_text()
    assert "    rows = need(gpu.row_remap)\n" in text
    path.write_text(text.replace("    rows = need(gpu.row_remap)\n", "    __import__('time').sleep(300)\n"))
    took_s = timed(faulty, "n1", "--deadline", "5")
    assert took_s < 5 + 3 * crowding()
    assert faulty.node("n1").is_idle
    assert not faulty.left("slurm", "health", "-m")
    assert faulty.said("n1")


@pytest.fixture
def copy(slurm, tmp_path):
    """hostagent's own files in a folder, which the cluster's nodes run from while the test lasts."""
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "hostagent", tmp_path / "hostagent", ignore=skipped)
    shutil.copytree(ROOT / "checks/hostagent_checks", tmp_path / "hostagent_checks", ignore=skipped)
    slurm.use(shlex.join(["/usr/bin/env", f"PYTHONPATH={tmp_path}", "PYTHONDONTWRITEBYTECODE=1", sys.executable, "-m", "hostagent"]))
    yield tmp_path
    slurm.use(shlex.join([sys.executable, "-m", "hostagent"]))


def job_runs(cluster, *nodes):
    """On each a job begins: no prolog has refused, no epilog has drained."""
    jobs = {name: cluster.sbatch("echo began", "-w", name) for name in nodes}
    eventually(lambda: all(cluster.job(job)["JobState"] == "COMPLETED" or cluster.node(name).is_drained for name, job in jobs.items()), 40)
    eventually(lambda: all("COMPLETING" not in cluster.node(name).states for name in nodes), 20)
    for name, job in jobs.items():
        assert cluster.output(job) == "began\n", cluster.said(name, "prolog")
        assert cluster.node(name).is_idle


def no_node_is_drained(cluster, *options, code=0):
    """By health on all nodes, by their prologs and epilogs."""
    before = cluster.calls("update")
    for name in NODES:
        assert cluster.health(name, *options).returncode == code
        assert cluster.said(name).strip(), "the log says why"
    assert cluster.calls("update") == before
    job_runs(cluster, *NODES)


def test_state_directories_that_are_gone_on_all_nodes_drain_none(cluster):
    for name in NODES:
        shutil.rmtree(cluster.folder(name) / "state")
    job_runs(cluster, *NODES)
    for name in NODES:
        assert cluster.health(name).returncode == 0
    assert all(cluster.node(name).is_idle for name in NODES)


def test_state_directories_that_cannot_be_made_drain_none_and_the_log_says_why(cluster):
    """A file lies where each would be."""
    for name in NODES:
        shutil.rmtree(cluster.folder(name) / "state")
        (cluster.folder(name) / "state").write_text("")
    try:
        no_node_is_drained(cluster)
    finally:
        for name in NODES:
            (cluster.folder(name) / "state").unlink()
            (cluster.folder(name) / "state").mkdir()


def test_a_profile_that_no_longer_loads_drains_none_and_the_log_says_why(faulty, tmp_path):
    profile = tmp_path / "site.yaml"
    profile.write_text("extends: default\nquarantine: [gpu.no_such_check]\n")
    for name in NODES:
        for program in ("prolog", "epilog"):
            faulty.more(program, name, f"--profile {profile}")
    try:
        no_node_is_drained(faulty, "--profile", str(profile), code=2)
        assert "site.yaml" in faulty.said("n1", "prolog")
    finally:
        for name in NODES:
            for program in ("prolog", "epilog"):
                faulty.more(program, name)


def cut(path, size=200):
    path.write_bytes(path.read_bytes()[:size])


#: In a copy: what an interrupted upgrade or a full disk leaves.
BROKEN = {
    "a module is cut short": lambda copy: cut(copy / "hostagent/engine/collect.py", 30),
    "a module is gone": lambda copy: (copy / "hostagent/engine/evaluate.py").unlink(),
    "a check does not load": lambda copy: (copy / "hostagent_checks/gpu/row_remap.py").write_text("def"),
    "the package of checks does not load": lambda copy: (copy / "hostagent_checks/__init__.py").write_text("def"),
    "the command is gone": lambda copy: (copy / "hostagent/cli/run.py").unlink(),
    "the profiles are gone": lambda copy: [path.unlink() for path in (copy / "hostagent/profiles").glob("default.*")],
    "Slurm's own package is empty": lambda copy: [path.write_text("") for path in (copy / "hostagent/slurm").rglob("*.py")],
}


@pytest.mark.parametrize("breaks", BROKEN.values(), ids=BROKEN)
def test_broken_files_of_hostagent_drain_none_and_the_log_says_why(faulty, copy, breaks):
    breaks(copy)
    before = faulty.calls("update")
    done = faulty.health("n1")
    assert done.returncode == 0, faulty.said("n1")
    assert faulty.said("n1").strip(), "the log says why"
    assert faulty.calls("update") == before
    job_runs(faulty, "n1")
    assert faulty.said("n1", "prolog").strip()


@pytest.mark.parametrize("command", ["/nonexistent/python3 -m hostagent", "/bin/false"], ids=["no Python", "a Python that fails"])
def test_a_python_that_does_not_start_drains_none(faulty, command):
    faulty.use(command)
    try:
        faulty.health("n1")
        job_runs(faulty, "n1")
    finally:
        faulty.use(shlex.join([sys.executable, "-m", "hostagent"]))


def test_a_node_registers_though_the_first_run_comes_before(cluster):
    """slurmd starts health, and registers after it."""
    cluster.release("health", "n1")
    try:
        cluster.slurmds["n1"].end()
        cluster.slurmds["n1"].start()
        eventually(lambda: "show node -o n1" in "\n".join(cluster.calls("show")[-1:]), 20)
        assert eventually(lambda: "slurmd started" in log(cluster, "n1") and cluster.node("n1").is_idle, 30) < WHOLE_S
    finally:
        cluster.hold("health", "n1")


def log(cluster, node):
    return (cluster.folder(node) / "slurmd.log").read_text(errors="replace")


def test_a_fault_at_the_first_run_drains_the_node_that_slurmctld_knows(faulty):
    faulty.release("health", "n1")
    try:
        faulty.slurmds["n1"].end()
        faulty.slurmds["n1"].start()
        eventually(lambda: faulty.node("n1").reason.startswith(ROW_REMAP), 30)
    finally:
        faulty.hold("health", "n1")
