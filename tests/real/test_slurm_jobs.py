"""Jobs on a real Slurm 22.05: a prolog that refuses sends the job elsewhere, an epilog says whether the host failed during the job."""

import re
import time

import pytest

from tests.real import slurmrun
from tests.real.daemonrun import eventually
from tests.real.slurmrun import ROW_REMAP

MORE = f"SchedulerParameters={slurmrun.AT_ONCE},nohold_on_prolog_fail\n"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with slurmrun.started(tmp_path_factory.mktemp("slurm"), interval=3600, more=MORE, held=True) as made:
        yield made


@pytest.fixture
def cluster(slurm):
    slurm.settled()
    yield slurm
    slurm.client("scancel", "--user=root")
    eventually(lambda: not slurm.client("squeue", "-h").stdout.strip(), 20)


def ended(cluster, job):
    eventually(lambda: cluster.job(job)["JobState"] not in ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING"), 30)
    return cluster.job(job)["JobState"]


def begun(cluster, job):
    eventually(lambda: "began" in cluster.output(job), 20)


def idle(cluster, name):
    eventually(lambda: "COMPLETING" not in cluster.node(name).states, 20)
    return cluster.node(name).is_idle


def test_a_refused_job_runs_on_another_node_and_the_reason_becomes_ours(cluster):
    """Slurm takes the first node first. It holds a refused job for two minutes, which are not waited for here."""
    cluster.hosts["n1"].fault(4)
    job = cluster.sbatch("echo began $SLURMD_NODENAME")
    eventually(lambda: cluster.node("n1").reason == "Prolog error", 20)
    eventually(lambda: cluster.job(job)["JobState"] == "PENDING", 20)
    assert cluster.output(job) == "", "not one line of the job has run"
    cluster.scontrol("update", f"JobId={job}", "StartTime=now")
    assert ended(cluster, job) == "COMPLETED"
    assert cluster.output(job) == "began n2\n"
    assert "GpuRowRemap" in cluster.said("n1", "prolog")
    cluster.health("n1")
    assert cluster.node("n1").reason.startswith(ROW_REMAP)


def test_a_verdict_of_health_is_enough_for_the_prolog(cluster):
    """The recording is without a fault again when the job comes, so that a second look would have let it begin."""
    cluster.hosts["n1"].fault(4)
    cluster.health("n1")
    cluster.hosts["n1"].mend()
    cluster.update("n1", State="RESUME")
    eventually(lambda: cluster.node("n1").is_idle, 20)
    job = cluster.sbatch("echo began", "-w", "n1")
    eventually(lambda: cluster.node("n1").reason == "Prolog error", 20)
    cluster.client("scancel", job)


def test_the_epilog_drains_after_an_xid_in_the_job_although_its_script_exits_with_0(cluster):
    job = cluster.sbatch("echo began; sleep 2; exit 0", "-w", "n2", "--gres=gpu:8")
    begun(cluster, job)
    cluster.hosts["n2"].xid(4)
    assert ended(cluster, job) == "COMPLETED"
    assert cluster.job(job)["ExitCode"] == "0:0"
    eventually(lambda: cluster.node("n2").reason == "Epilog error", 20)
    assert "79" in cluster.said("n2", "epilog")
    cluster.health("n2")
    assert re.match(r"hostagent: GpuXid: GPU 4 .*Xid 79", cluster.node("n2").reason)


def test_an_xid_of_a_gpu_that_the_job_did_not_have_is_not_of_the_job(cluster):
    job = cluster.sbatch("echo began; sleep 1", "-w", "n3", "--gres=gpu:1")
    begun(cluster, job)
    cluster.hosts["n3"].xid(4)
    assert ended(cluster, job) == "COMPLETED"
    assert idle(cluster, "n3")


def test_an_xid_from_before_the_job_is_not_of_the_job(cluster):
    """The line comes late: its time is a minute before the job's begin."""
    job = cluster.sbatch("echo began; sleep 1", "-w", "n3", "--gres=gpu:8")
    begun(cluster, job)
    cluster.hosts["n3"].xid(4, at=time.time() - 60)
    assert ended(cluster, job) == "COMPLETED"
    assert idle(cluster, "n3")


def test_a_job_that_fails_by_itself_leaves_its_node_in_service(cluster):
    job = cluster.sbatch("echo began; exit 3", "-w", "n4")
    assert ended(cluster, job) == "FAILED"
    assert idle(cluster, "n4")


def test_a_degraded_node_takes_jobs_and_passes_their_epilog(cluster):
    cluster.hosts["n4"].change({"nvml device 4 row_remap": {"json": [0, 0, 1, 0]}})
    job = cluster.sbatch("echo began", "-w", "n4", "--gres=gpu:8")
    assert ended(cluster, job) == "COMPLETED"
    assert idle(cluster, "n4")


@pytest.mark.parametrize(("word", "is_refused"), [("refuse", True), ("allow", False)])
def test_an_unknown_host_is_refused_or_allowed_as_asked(cluster, word, is_refused):
    cluster.hosts["n4"].blind()
    cluster.more("prolog", "n4", f"--on-unknown {word}")
    job = cluster.sbatch("echo began", "-w", "n4")
    if is_refused:
        eventually(lambda: cluster.node("n4").reason == "Prolog error", 20)
    else:
        assert ended(cluster, job) == "COMPLETED"
        assert not cluster.node("n4").is_drained
    cluster.more("prolog", "n4")


def test_no_program_of_a_job_calls_slurm(cluster):
    before = [*cluster.calls("show"), *cluster.calls("update")]
    cluster.hosts["n1"].fault(4)
    cluster.sbatch("echo began", "-w", "n1")
    job = cluster.sbatch("echo began", "-w", "n2")
    assert ended(cluster, job) == "COMPLETED"
    eventually(lambda: cluster.node("n1").reason == "Prolog error", 20)
    assert [*cluster.calls("show"), *cluster.calls("update")] == before
