"""The programs on newer Slurms: 24.11 (Debian 13) and 26.05 (Debian testing), each in a root of its own."""

import re

import pytest

from tests.real import slurmroots, slurmrun
from tests.real.daemonrun import eventually
from tests.real.slurmrun import ROW_REMAP

pytestmark = pytest.mark.full
#: Debian 13, and what Debian has in testing: the first version of each year that it may be.
SUITES = {"trixie": 24, "forky": 26}


@pytest.fixture(scope="module", params=SUITES)
def slurm(request, tmp_path_factory):
    home = tmp_path_factory.mktemp("slurm")
    more = f"SchedulerParameters={slurmrun.AT_ONCE},nohold_on_prolog_fail,extra_constraints\n"
    with slurmroots.root(request.param, home) as root:
        assert root.version >= SUITES[request.param]
        more += "SlurmctldParameters=enable_expedited_requeue\n" if root.version >= 26 else ""
        with slurmrun.started(home / "c", interval=3600, more=more, held=True, place=root) as made:
            yield made


@pytest.fixture
def cluster(slurm):
    slurm.settled()
    yield slurm
    slurm.client("scancel", "--user=root")
    eventually(lambda: not slurm.client("squeue", "-h").stdout.strip(), 20)


def test_a_fault_drains_and_its_end_resumes(cluster):
    cluster.health("n1")
    before = cluster.node("n1")
    assert before.extra
    cluster.hosts["n1"].fault(4)
    cluster.health("n1")
    during = cluster.node("n1")
    assert (during.is_drained, during.rest) == (True, before.rest)
    assert during.reason == f"{ROW_REMAP}GPU 4 (0000:9d:00.0) could not remap a memory row. Drain the node."
    cluster.hosts["n1"].mend()
    cluster.health("n1")
    eventually(lambda: cluster.node("n1").is_idle, 20)
    after = cluster.node("n1")
    assert (after.comment, after.extra, after.rest) == (before.comment, before.extra, before.rest)
    keeps_it = cluster.place.version == 24  # of a node that is in service: its RESUME does not empty it, and `Reason=` does not either
    assert after.reason == (during.reason if keeps_it else "")
    assert "changed at the same moment" not in cluster.said("n1")


def test_a_drain_of_a_person_stays(cluster):
    cluster.update("n1", State="DRAIN", Reason="ticket 17")
    cluster.hosts["n1"].fault(4)
    cluster.health("n1")
    cluster.hosts["n1"].mend()
    cluster.health("n1")
    assert (cluster.node("n1").is_drained, cluster.node("n1").reason) == (True, "ticket 17")


@pytest.mark.parametrize("is_own", [True, False], ids=["ours", "another's"])
def test_the_error_of_a_prolog_is_adopted_if_it_was_ours(cluster, is_own):
    if is_own:
        cluster.hosts["n1"].fault(4)
        cluster.sbatch("true", "-w", "n1")
    else:
        with cluster.another_refuses("prolog", "n1"):
            cluster.sbatch("true", "-w", "n1")
            eventually(lambda: cluster.node("n1").is_drained, 20)
    eventually(lambda: cluster.node("n1").is_drained, 20)
    error = cluster.node("n1").reason
    assert error == "Prolog error"
    cluster.hosts["n1"].fault(4)
    cluster.health("n1")
    assert cluster.node("n1").reason.startswith(ROW_REMAP) if is_own else cluster.node("n1").reason == error


def test_the_error_of_our_epilog_is_adopted(cluster):
    job = cluster.sbatch("echo began; sleep 2", "-w", "n2", "--gres=gpu:8")
    eventually(lambda: "began" in cluster.output(job), 20)
    cluster.hosts["n2"].xid(4)
    eventually(lambda: cluster.node("n2").is_drained, 20)
    assert cluster.node("n2").reason == "Epilog error"
    cluster.health("n2")
    assert re.match(r"hostagent: GpuXid: GPU 4 .*Xid 79", cluster.node("n2").reason)


@pytest.mark.parametrize("program", ["prolog", "epilog"])
def test_what_another_refuses_after_a_drain_of_ours_stays(cluster, program):
    """Also where Slurm has kept our reason of the node that was resumed."""
    cluster.hosts["n3"].fault(4)
    cluster.health("n3")
    cluster.hosts["n3"].mend()
    cluster.health("n3")
    eventually(lambda: cluster.node("n3").is_idle, 20)
    with cluster.another_refuses(program, "n3"):
        cluster.sbatch("true", "-w", "n3")
        eventually(lambda: cluster.node("n3").is_drained, 20)
    cluster.health("n3")
    assert (cluster.node("n3").is_drained, cluster.node("n3").reason) == (True, f"{program.capitalize()} error")


def test_a_count_of_gpus_after_a_drain_of_ours_stays(cluster):
    cluster.hosts["n4"].fault(4)
    cluster.health("n4")
    cluster.hosts["n4"].mend()
    cluster.health("n4")
    cluster.gres(n4=7)
    cluster.slurmds["n4"].end()
    cluster.slurmds["n4"].start()
    eventually(lambda: "INVALID_REG" in cluster.node("n4").states, 20)
    cluster.gres()
    cluster.slurmds["n4"].end()
    cluster.slurmds["n4"].start()
    eventually(lambda: "INVALID_REG" not in cluster.node("n4").states, 20)
    before = cluster.node("n4")
    cluster.health("n4")
    assert cluster.node("n4")[:3] == before[:3], before


def test_jobs_choose_nodes_by_extra(cluster):
    for name in slurmrun.NODES:
        cluster.hosts[name].fault(4) if name != "n3" else None
        cluster.health(name)
        cluster.scontrol("update", f"NodeName={name}", "State=RESUME", check=False)
    eventually(lambda: all(cluster.node(name).is_idle for name in slurmrun.NODES), 20)
    cluster.hold("prolog")
    try:
        job = cluster.sbatch("echo began $SLURMD_NODENAME", "--extra=hostagent=1")
        eventually(lambda: "began" in cluster.output(job), 20)
    finally:
        cluster.release("prolog")
    assert cluster.output(job) == "began n3\n"


@pytest.mark.parametrize("slurm", ["forky"], indirect=True, scope="module")
@pytest.mark.parametrize("is_host", [True, False], ids=["the host's fault", "its own fault"])
def test_a_job_that_fails_is_requeued_at_once_exactly_for_the_hosts_fault(cluster, is_host):
    job = cluster.sbatch("echo began $SLURMD_NODENAME; sleep 2; [ $SLURMD_NODENAME != n1 ]", "--requeue=expedite", "--gres=gpu:8")
    eventually(lambda: "began n1" in cluster.output(job), 20)
    if is_host:
        cluster.hosts["n1"].xid(4)
        eventually(lambda: "began n2" in cluster.output(job), 30)
        eventually(lambda: cluster.job(job)["JobState"] == "COMPLETED", 30)
        assert cluster.node("n1").reason == "Epilog error"
    else:
        eventually(lambda: cluster.job(job)["JobState"] == "REQUEUE_HOLD", 30)
        assert cluster.output(job) == "began n1\n"
        assert not cluster.node("n1").is_drained
