"""HealthCheckProgram on a real Slurm 22.05: a fault drains its node with a reason, the end of the fault resumes it, and nothing else changes.

The hosts are recordings; slurmctld, the slurmds and scontrol are Slurm's own.
"""

import json
import re
import subprocess

import pytest

from tests.real import slurmrun
from tests.real.daemonrun import Daemon, eventually
from tests.real.slurmrun import ROW_REMAP

INTERVAL = 2
#: A reader of `scontrol show node -o` takes a node for bad by these, from `Comment=` to the end of the line; as such readers are described.
_BAD_WORDS = re.compile(
    r"network diagnostics?|quarantin|do not schedule|unhealthy|hardware diagnostics?|pyxis|enroot|mount failure|i/?o[-_ ]error|lustre[-_ ]error"
    r"|node[-_ ]failure|gpu.*(fail|xid)|xid \d",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with slurmrun.started(tmp_path_factory.mktemp("slurm"), interval=INTERVAL, held=True) as made:
        yield made


@pytest.fixture
def cluster(slurm):
    """All nodes idle, all hosts well, health held off."""
    slurm.hold("health")
    slurm.settled()
    return slurm


@pytest.fixture
def node(cluster):
    """A node that slurmd checks: hostagent has seen it well."""
    cluster.release("health", "n1")
    eventually(lambda: cluster.node("n1").extra, 15)
    yield "n1"
    cluster.hold("health", "n1")


def extra(cluster, name):
    return json.loads(cluster.node(name).extra)


def test_a_fault_drains_within_one_interval_and_its_end_resumes_within_two(cluster, node):
    before, others = cluster.node(node), [cluster.node(one) for one in ("n2", "n3", "n4")]
    cluster.hosts[node].fault(4)
    assert eventually(lambda: cluster.node(node).is_drained, 20) < INTERVAL + 1
    during = cluster.node(node)
    assert during.reason == f"{ROW_REMAP}GPU 4 (0000:9d:00.0) could not remap a memory row. Drain the node."
    assert (during.rest, during.comment) == (before.rest, before.comment)
    cluster.hosts[node].mend()
    assert eventually(lambda: not cluster.node(node).is_drained, 20) < 2 * INTERVAL
    eventually(lambda: cluster.node(node).is_idle, 10)
    assert cluster.node(node) == before
    assert [cluster.node(one) for one in ("n2", "n3", "n4")] == others


def test_a_second_fault_rewrites_the_reason_alone_and_the_same_fault_writes_nothing(cluster, node):
    cluster.hosts[node].fault(4)
    eventually(lambda: cluster.node(node).is_drained, 10)
    before = cluster.calls("update", node)
    seen = len(cluster.calls("show node -o", ""))
    eventually(lambda: len(cluster.calls("show node -o", "")) >= seen + 3, 15)
    assert cluster.calls("update", node) == before, "three runs have found the same"
    cluster.hosts[node].fault(2, 4)
    eventually(lambda: "GPUs 2, 4" in cluster.node(node).reason, 10)
    assert cluster.node(node).is_drained
    (written,) = cluster.calls("update", node)[len(before) :]
    assert written.startswith(f"update NodeName={node} Reason={ROW_REMAP}GPUs 2, 4")


def test_an_unknown_host_is_drained_by_the_second_run_in_a_row(cluster):
    cluster.hosts["n2"].blind()
    assert cluster.health("n2").returncode == 0
    assert not cluster.node("n2").is_drained
    cluster.health("n2")
    assert cluster.node("n2").reason.startswith("hostagent: CouldNotRead: ")
    cluster.hosts["n2"].mend()
    cluster.health("n2")
    assert not cluster.node("n2").is_drained


def test_a_run_that_knows_the_host_comes_between_two_that_do_not(cluster):
    for is_blind in (True, False, True):
        cluster.hosts["n2"].blind() if is_blind else cluster.hosts["n2"].mend()
        cluster.health("n2")
    assert not cluster.node("n2").is_drained


def test_quarantine_is_a_comment_of_a_node_that_stays_in_service(cluster, tmp_path):
    profile = tmp_path / "quarantine.yaml"
    profile.write_text("extends: default\nquarantine: [gpu.row_remap_pending]\n")
    cluster.hosts["n3"].change({"nvml device 4 row_remap": {"json": [0, 0, 1, 0]}})
    cluster.health("n3", "--profile", str(profile))
    shown = cluster.node("n3")
    assert shown.comment == "quarantine: GpuRowRemapPending"
    assert not shown.is_drained
    assert _BAD_WORDS.search(words(cluster, "n3")), "the inventory's reader leaves it out"
    cluster.hosts["n3"].mend()
    cluster.health("n3", "--profile", str(profile))
    assert cluster.node("n3").comment == ""


def test_a_comment_and_an_extra_of_others_stay(cluster, tmp_path):
    profile = tmp_path / "quarantine.yaml"
    profile.write_text("extends: default\nquarantine: [gpu.row_remap]\n")
    cluster.update("n3", Comment="rack 7", Extra='{"rack":7,"hostagent":1}')
    for fault in (True, False):
        cluster.hosts["n3"].fault(4) if fault else cluster.hosts["n3"].mend()
        cluster.health("n3", "--profile", str(profile))
        shown = cluster.node("n3")
        assert (shown.is_drained, shown.comment, shown.extra) == (fault, "rack 7", '{"rack":7,"hostagent":1}')


def test_extra_says_whether_the_node_is_placeable_and_a_healthy_node_has_no_bad_word(cluster):
    cluster.health("n4")
    assert extra(cluster, "n4")["hostagent"] == 1
    assert not _BAD_WORDS.search(words(cluster, "n4"))
    cluster.hosts["n4"].fault(4)
    cluster.health("n4")
    assert extra(cluster, "n4")["hostagent"] == 0
    assert extra(cluster, "n4")["hostagent_coverage"] == "full"


def words(cluster, name):
    """What the inventory's reader looks at."""
    line = cluster.scontrol("show", "node", "-o", name)
    return line.partition("Comment=")[2] if "Comment=" in line else line.partition("Extra=")[2]


def test_state_reason_comment_and_extra_are_one_update(cluster, tmp_path):
    profile = tmp_path / "quarantine.yaml"
    profile.write_text("extends: default\nquarantine: [gpu.row_remap]\n")
    before = cluster.calls("update", "n4")
    cluster.hosts["n4"].fault(4)
    cluster.health("n4", "--profile", str(profile))
    (written,) = cluster.calls("update", "n4")[len(before) :]
    assert all(f"{name}=" in written for name in ("State", "Reason", "Comment", "Extra"))


def test_a_daemon_judges_and_health_writes_what_it_has_found(cluster, tmp_path):
    """The recording that the daemon reads has the fault; the one that health would read has none."""
    folder, recording = cluster.folder("n2"), slurmrun.Host(tmp_path / "tape.json")
    state = folder / "state/state.json"
    recording.fault(4)
    with Daemon(folder, "--from", tmp_path / "tape.json"):
        eventually(lambda: says(state, "not_ready"), 20)
        names = {one.name for one in state.parent.iterdir()}
        cluster.health("n2")
        assert cluster.node("n2").reason.startswith(ROW_REMAP)
        recording.mend()
        eventually(lambda: says(state, "ready"), 20)
        cluster.health("n2")
        assert not cluster.node("n2").is_drained
        assert {one.name for one in state.parent.iterdir()} == {*names, "slurm"}
        assert not (folder / "state/slurm/verdict.json").exists()


def says(state, word):
    """And has looked twice: health takes no verdict of a first pass."""
    text = state.read_text() if state.exists() else "FirstPass"
    return "FirstPass" not in text and json.loads(text)["verdict"]["single_node"] == word


def test_dry_run_says_whose_the_reason_is_and_writes_nothing(cluster):
    before = cluster.calls("update")
    cluster.hosts["n4"].fault(4)
    cluster.update("n4", State="DRAIN", Reason="ticket 17")
    cluster.health("n4", "--dry-run")
    assert cluster.calls("update") == before
    assert "not our reason 'ticket 17'" in cluster.said("n4")


def test_clean_clears_what_is_ours_on_all_nodes_and_nothing_else(cluster):
    cluster.hosts["n1"].fault(4)
    cluster.health("n1")
    cluster.update("n2", State="DRAIN", Reason="ticket 17")
    cluster.update("n3", Comment="rack 7", Extra="rack 7")
    kept = [cluster.node(name) for name in ("n2", "n3")]
    argv = [cluster.home / "hostagent", "slurm", "clean", "--slurm-conf", cluster.home / "slurm.conf"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=40, check=False)
    assert done.returncode == 0, done.stderr
    assert not cluster.node("n1").is_drained
    assert cluster.node("n1").extra == ""
    assert [cluster.node(name) for name in ("n2", "n3")] == kept


def test_a_cluster_with_munge_is_served_alike(tmp_path):
    with slurmrun.started(tmp_path / "munge", interval=3600, held=True, munge=True) as cluster:
        cluster.hosts["n1"].fault(4)
        cluster.health("n1")
        assert cluster.node("n1").reason.startswith(ROW_REMAP)
        cluster.hosts["n1"].mend()
        cluster.health("n1")
        assert not cluster.node("n1").is_drained
