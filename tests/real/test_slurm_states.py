"""States that others have given a node of a real Slurm 22.05, while a fault of its host comes and goes: none is cleared, no reason is overwritten.

health is run by hand, as slurmd starts it; what a person, slurmctld, a prolog or a reservation does is done by Slurm itself.
"""

import json
import signal
from contextlib import contextmanager

import pytest

from tests.children import until
from tests.real import slurmrun
from tests.real.daemonrun import eventually
from tests.real.slurmrun import ROW_REMAP

N = "n1"
#: Nodes can be powered down; none is for want of jobs.
POWER = "SuspendProgram=/bin/true\nResumeProgram=/bin/true\nSuspendTime=36000\nSuspendTimeout=60\nResumeTimeout=60\n"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with slurmrun.started(tmp_path_factory.mktemp("slurm"), interval=3600, more=POWER, held=True) as made:
        yield made


@pytest.fixture
def cluster(slurm):
    slurm.settled(N)
    yield slurm
    slurm.client("scancel", "--user=root")
    slurm.settled(N)


def fault(cluster, node=N):
    """Comes, and health looks."""
    cluster.hosts[node].fault(4)
    assert cluster.health(node).returncode == 0


def end(cluster, node=N):
    """The fault goes, and health looks."""
    cluster.hosts[node].mend()
    assert cluster.health(node).returncode == 0


def drained_by_us(cluster, node=N):
    fault(cluster, node)
    assert cluster.node(node).reason.startswith(ROW_REMAP)


def set_by_others(state, reason):
    @contextmanager
    def sets(cluster):
        cluster.update(N, State=state, Reason=reason)
        yield

    return sets


@contextmanager
def drained_after_ours(cluster):
    drained_by_us(cluster)
    cluster.update(N, State="DRAIN", Reason="ticket 17")
    yield


@contextmanager
def prefix_replaced(cluster):
    drained_by_us(cluster)
    cluster.update(N, Reason=cluster.node(N).reason.replace("hostagent:", "ops:"))
    yield


@contextmanager
def downed_after_ours(cluster):
    drained_by_us(cluster)
    cluster.update(N, State="DOWN", Reason="burnt")
    yield


@contextmanager
def busy(cluster):
    job = cluster.sbatch("echo began; sleep 60", "-w", N)
    eventually(lambda: "began" in cluster.output(job), 15)
    yield
    cluster.client("scancel", job, check=False)


@contextmanager
def reboot_requested(cluster):
    with busy(cluster):
        cluster.scontrol("reboot", "ASAP", "nextstate=RESUME", "reason=new kernel", N)
        yield
        cluster.scontrol("cancel_reboot", N)


@contextmanager
def reboot_requested_without_drain(cluster):
    with busy(cluster):
        cluster.scontrol("reboot", "reason=new kernel", N)
        yield
        cluster.scontrol("cancel_reboot", N)


@contextmanager
def reboot_requested_with_our_reason(cluster):
    with busy(cluster):
        drained_by_us(cluster)
        cluster.scontrol("reboot", "ASAP", "nextstate=RESUME", N)
        assert cluster.node(N).reason.startswith(ROW_REMAP)
        yield
        cluster.scontrol("cancel_reboot", N)


@contextmanager
def reboot_issued(cluster):
    cluster.scontrol("reboot", "ASAP", "nextstate=RESUME", "reason=new kernel", N)
    eventually(lambda: "REBOOT_ISSUED" in cluster.node(N).states, 15)
    yield
    booted(cluster)


@contextmanager
def reboot_issued_with_our_reason(cluster):
    drained_by_us(cluster)
    cluster.scontrol("reboot", "ASAP", "nextstate=RESUME", N)
    eventually(lambda: "REBOOT_ISSUED" in cluster.node(N).states, 15)
    assert cluster.node(N).reason.startswith(ROW_REMAP)
    yield
    booted(cluster)


def booted(cluster):
    cluster.slurmds[N].end()
    cluster.slurmds[N].start("-b")
    eventually(lambda: cluster.node(N).is_idle, 20)


@contextmanager
def inval(cluster):
    """slurmd counts seven GPUs where slurm.conf has eight."""
    cluster.gres(**{N: 7})
    restarted(cluster)
    eventually(lambda: "INVALID_REG" in cluster.node(N).states, 20)
    yield
    cluster.gres()
    restarted(cluster)
    eventually(lambda: "INVALID_REG" not in cluster.node(N).states, 20)


def restarted(cluster):
    cluster.slurmds[N].end()
    cluster.slurmds[N].start()


@contextmanager
def unexpectedly_rebooted(cluster):
    """slurmctld finds that it has booted though no one asked for that: its times are of whole seconds, so it may need another boot."""

    def boots():
        cluster.slurmds[N].end()
        cluster.slurmds[N].start("-b")
        return until(lambda: "DOWN" in cluster.node(N).states, 2)

    eventually(boots, 30)
    assert cluster.node(N).reason == "Node unexpectedly rebooted"
    yield


@contextmanager
def maintenance(cluster):
    """Drained by a person, under a reservation for maintenance."""
    with reservation(cluster):
        cluster.update(N, State="DRAIN", Reason="deep check")
        yield


@contextmanager
def reservation(cluster):
    cluster.scontrol("create", "reservation=deep", "StartTime=now", "Duration=5", "Users=root", "Flags=MAINT,IGNORE_JOBS", f"Nodes={N}")
    eventually(lambda: "MAINTENANCE" in cluster.node(N).states, 15)
    try:
        yield
    finally:
        cluster.scontrol("delete", "reservation=deep")
        eventually(lambda: "MAINTENANCE" not in cluster.node(N).states, 15)


def others_error(program):
    @contextmanager
    def sets(cluster):
        with cluster.another_refuses(program, N):
            cluster.sbatch("true", "-w", N, "--no-requeue")
            eventually(lambda: cluster.node(N).states == {"IDLE", "DRAIN"}, 20)
        assert cluster.node(N).reason == f"{program.capitalize()} error"
        yield
        cluster.client("scancel", "--user=root")

    return sets


OTHERS = {
    "a person drains it": set_by_others("DRAIN", "ticket 17"),
    "a person names hostagent": set_by_others("DRAIN", "see hostagent: GpuXid"),
    "a person downs it": set_by_others("DOWN", "burnt"),
    "a person fails it": set_by_others("FAIL", "burnt"),
    "a person drains it after us": drained_after_ours,
    "a person replaces our prefix": prefix_replaced,
    "a person downs it after us": downed_after_ours,
    "NHC drains it": set_by_others("DRAIN", "NHC: check_hw_ib:  no port"),
    "SUNK drains it": set_by_others("DRAIN", "k8s: cordoned"),
    "Slinky drains it": set_by_others("DRAIN", "slurm-operator: Pod is being deleted"),
    "a reboot is requested": reboot_requested,
    "a reboot is requested without drain": reboot_requested_without_drain,
    "a reboot is requested with our reason": reboot_requested_with_our_reason,
    "a reboot is issued": reboot_issued,
    "a reboot is issued with our reason": reboot_issued_with_our_reason,
    "slurmd counts fewer GPUs": inval,
    "slurmctld finds it rebooted": unexpectedly_rebooted,
    "a reservation for maintenance": maintenance,
    "another prolog refuses": others_error("prolog"),
    "another epilog refuses": others_error("epilog"),
}


@pytest.mark.parametrize("sets", OTHERS.values(), ids=OTHERS)
def test_a_state_of_others_stays_while_a_fault_comes_and_goes(cluster, sets):
    with sets(cluster):
        before = kept(cluster)
        fault(cluster)
        assert kept(cluster) == before
        end(cluster)
        assert kept(cluster) == before


def kept(cluster, node=N):
    shown = cluster.node(node)
    return shown.states, shown.reason, shown.reason_at, shown.rest


def test_a_node_that_slurmctld_finds_down_is_not_cleared_and_comes_back_by_slurm(cluster):
    """`DOWN` with our reason: Slurm keeps it, and what follows is Slurm's `ReturnToService`."""
    drained_by_us(cluster)
    cluster.slurmds[N].end()
    cluster.scontrol("update", f"NodeName={N}", "State=DOWN", f"Reason={cluster.node(N).reason}")
    before = kept(cluster)
    end(cluster)
    assert kept(cluster) == before
    cluster.slurmds[N].start()


@pytest.mark.parametrize(("node", "is_ours"), [("n3", False), ("n4", True)], ids=["in service", "after a drain of ours"])
def test_nothing_is_written_to_a_node_that_is_being_powered_down(cluster, node, is_ours):
    """It stays so: no other test here needs it."""
    if is_ours:
        drained_by_us(cluster, node)
    cluster.scontrol("update", f"NodeName={node}", "State=POWER_DOWN_FORCE")
    calls = cluster.calls("update", node)
    for looks in (fault, end):
        assert any(one.startswith("POWER") for one in cluster.node(node).states)
        looks(cluster, node)
        assert cluster.calls("update", node) == calls


def test_an_edited_reason_behind_our_prefix_is_ours(cluster):
    drained_by_us(cluster)
    cluster.update(N, Reason="hostagent: GpuRowRemap: seen by ana, ticket 17")
    end(cluster)
    assert not cluster.node(N).is_drained


def test_a_drain_of_ours_stays_under_maintenance_and_ends_with_the_first_run_after(cluster):
    with reservation(cluster):
        drained_by_us(cluster)
        end(cluster)
        assert cluster.node(N).is_drained
    assert cluster.health(N).returncode == 0
    assert not cluster.node(N).is_drained


def test_a_reboot_with_our_reason_is_done_and_then_health_writes_again(cluster):
    with reboot_issued_with_our_reason(cluster):
        end(cluster)
    assert not cluster.node(N).is_drained
    drained_by_us(cluster)


@pytest.mark.parametrize("is_mended", [False, True], ids=["the fault stays", "the fault has gone"])
def test_a_prolog_error_of_ours_is_adopted(cluster, is_mended):
    """health is held off and has left no verdict: the prolog looks for itself."""
    cluster.hosts[N].fault(4)
    cluster.sbatch("true", "-w", N)
    eventually(lambda: cluster.node(N).is_drained, 20)
    assert cluster.node(N).reason == "Prolog error"
    if not is_mended:
        cluster.health(N)
        assert cluster.node(N).reason.startswith(ROW_REMAP)
    end(cluster)
    assert not cluster.node(N).is_drained


def test_an_old_refusal_of_ours_does_not_make_a_later_prolog_error_ours(cluster):
    """The refusal's time is moved by two minutes in its file: no test waits for that."""
    cluster.hosts[N].fault(4)
    job = cluster.sbatch("true", "-w", N)
    eventually(lambda: cluster.node(N).reason == "Prolog error", 20)
    marker = cluster.folder(N) / f"state/slurm/{N}.refused.json"
    at = json.loads(marker.read_text())[0]["at"]
    marker.write_text(marker.read_text().replace(str(at), str(at - 120)))
    end(cluster)
    assert cluster.node(N).reason == "Prolog error"
    cluster.client("scancel", job, check=False)


def test_nothing_is_written_to_a_node_that_a_new_slurmctld_does_not_know_yet(cluster):
    """Its state is UNKNOWN until its slurmd has answered."""
    cluster.slurmds[N].end()
    cluster.controller.end(signal.SIGKILL)
    cluster.controller.start("-c")
    try:
        eventually(lambda: "UNKNOWN" in cluster.scontrol("show", "node", N, check=False), 20)
        before = cluster.calls("update", N)
        fault(cluster)
        assert "UNKNOWN" in cluster.node(N).states, "it has not changed meanwhile"
        assert cluster.calls("update", N) == before
    finally:
        cluster.slurmds[N].start()
