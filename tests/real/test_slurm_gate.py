"""``hostagent gate`` on a real Slurm 22.05: what it accepts begins at once on the named nodes, what it refuses does not begin; and what it says
of a slurmctld that does not answer. Words about the hosts are written to Extra as health does.
"""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hostagent.core.errors import HostagentError
from tests.children import children
from tests.gate_summaries import summary
from tests.real import slurmrun
from tests.real.daemonrun import eventually
from tests.real.slurmgate import PARTITIONS, Site, foretold, of_one_user
from tests.real.slurmrun import NODES

SEEDS = 12


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with slurmrun.started(tmp_path_factory.mktemp("slurm"), interval=3600, more=PARTITIONS, held=True) as made:
        yield Site(made)


@pytest.fixture
def settled(site):
    site.settle()
    yield site
    site.settle()


def gate(site, *argv, within_s=60.0):
    options = ("--backend", "slurm", "--slurm-conf", str(site.conf), "--bin-dir", str(site.bin_dir))
    command = [sys.executable, "-m", "hostagent", "gate", *options, *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=within_s, cwd="/", check=False)


KINDS = {"n1": "gpu:h100:4,gpu:a100:4", "n2": "gpu:h100:4,shard:16", "n3": "gpu:1g.10gb:7,gpu:3g.40gb:1", "n4": "gpu:4"}
_OF_ONE = "NodeName={name} Name=gpu {kind}File={home}/dev/nvidia[{first}-{last}]\n"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """GPUs of two types, with shards, of MIG, and without a type."""
    home = tmp_path_factory.mktemp("kinds")
    made = slurmrun.Cluster(home, 3600, PARTITIONS, slurmrun.Place(), munge=False)
    conf = made.conf.replace("GresTypes=gpu\n", "GresTypes=gpu,shard\n")
    for name, gres in KINDS.items():
        conf = conf.replace(f"NodeName={name} ", f"NodeName={name} Gres={gres} ", 1)
    (home / "slurm.conf").write_text(conf.replace(" Gres=gpu:h100:8 Feature", " Feature"))
    rows = ["NodeName=n2 Name=shard Count=16\n"]
    for name, gres in KINDS.items():
        first = 0
        for one in gres.split(","):
            kind, _, number = one.removeprefix("gpu:").rpartition(":")
            if kind != "shard":
                rows.append(_OF_ONE.format(name=name, kind=kind and f"Type={kind} ", home=home, first=first, last=first + int(number) - 1))
                first += int(number)
    (home / "gres.conf").write_text("".join(sorted(rows)))
    try:
        made.start()
        yield Site(made)
    finally:
        made.stop()


JOBS = {
    "nothing": {},
    "some of each": {"n1": "gpu:h100:1,gpu:a100:2", "n2": "gpu:1", "n3": "gpu:1g.10gb:3", "n4": "gpu:1"},
    "parts": {"n1": "gpu:h100:4", "n2": "shard:3", "n3": "gpu:3g.40gb:1", "n4": "gpu:3"},
    "both": {"n1": "gpu:a100:3", "n2": "gpu:2,shard:1", "n3": "gpu:1g.10gb:7", "n4": "gpu:4"},
}


@pytest.mark.parametrize("jobs", JOBS)
def test_gpus_of_every_kind_are_counted_as_slurm_gives_them_out(kinds, jobs):
    kinds.settle()
    for name, gres in JOBS[jobs].items():
        for one in gres.split(",") if "shard" in gres else [gres]:
            kinds.runs("-w", name, f"--gres={one}", "--ntasks=1")
    kinds.quiet()
    wrong = []
    for name in NODES:
        whole = kinds.answer(1, 1, only=(name,), allow_mig=True)
        free = whole.gpus[name] if whole.placeable else 0
        for gpus in {max(1, free), free + 1}:
            answer = kinds.answer(1, gpus, only=(name,), allow_mig=True)
            began = kinds.starts(answer)
            if began != answer.nodes:
                wrong.append((name, gpus, answer.nodes, began, kinds.cluster.scontrol("show", "node", "-d", "-o", name)))
    assert wrong == []


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_job_begins_exactly_where_the_gate_says(site, seed):
    assert foretold(site, random.Random(seed)) == []


def test_what_health_writes_is_what_the_gate_reads(settled):
    cluster = settled.cluster
    for name in NODES:
        cluster.update(name, Extra="")
    assert {one.reasons[0].code for one in settled.answer(4, 8).refused} == {"NoSummary"}
    cluster.hosts["n1"].fault(4)
    try:
        for name in NODES:
            cluster.health(name)
        done = gate(settled, "--nodes", "4", "--gpus-per-node", "8")
        assert (done.returncode, "hostagent: GpuRowRemap" in done.stdout) == (1, True), done.stdout + done.stderr
        cluster.hosts["n1"].mend()
        cluster.health("n1")
        eventually(lambda: cluster.node("n1").is_idle, 20)
        done = gate(settled, "--nodes", "4", "--gpus-per-node", "8", "--json")
        answer = json.loads(done.stdout)
        assert (done.returncode, answer["placeable"], tuple(answer["nodes"])) == (0, True, NODES), done.stdout
    finally:
        cluster.hosts["n1"].mend()


def test_the_emitted_script_runs_on_the_named_nodes(settled):
    done = gate(settled, "--nodes", "2", "--gpus-per-node", "4", "--exclude", "n1", "--emit", "sbatch", "--", "true")
    assert done.returncode == 0, done.stderr
    script = settled.cluster.home / "emitted.sh"
    script.write_text(done.stdout)
    number = settled.cluster.client("sbatch", "--parsable", "--output=/dev/null", str(script)).stdout.strip()
    eventually(lambda: settled.cluster.job(number)["JobState"] not in ("PENDING", "RUNNING", "COMPLETING"), 30)
    job = settled.cluster.job(number)
    assert (job["JobState"], job["NodeList"]) == ("COMPLETED", "n[2-3]")


def test_a_node_with_fewer_gpus_than_slurm_has_been_told_is_refused(settled):
    cluster = settled.cluster
    cluster.gres(n4=7)
    try:
        cluster.slurmds["n4"].end()
        cluster.slurmds["n4"].start()
        eventually(lambda: "INVALID_REG" in cluster.node("n4").states, 20)
        (refused,) = settled.answer(4, 1).refused
        assert (refused.node, refused.reasons[0].code, "INVALID_REG" in refused.reasons[0].message) == ("n4", "Drained", True)
    finally:
        cluster.gres()
        cluster.slurmds["n4"].end()
        cluster.slurmds["n4"].start()
        eventually(lambda: "INVALID_REG" not in cluster.node("n4").states, 20)


def test_a_report_of_an_earlier_boot_is_refused(settled):
    now = time.time()
    made = {
        name: summary(name, {"observed_at": at, "valid_until": now + 600})
        for name, at in (("n1", now - 5), ("n2", now - 1e6), ("n3", now - 5))
    }
    for name in NODES:
        settled.cluster.update(name, Extra="")
    answer = settled.answer(2, 8, made)
    assert answer.nodes == ("n1", "n3")
    codes = {one.node: [reason.code for reason in one.reasons] for one in answer.refused}
    assert codes["n2"] == ["OtherBoot"]
    assert codes["n4"] == ["NoSummary"]


def test_json_and_text_give_one_answer(settled):
    """The client's folder of plug-ins has none for JSON."""
    folder = settled.cluster.home / "plugins"
    folder.mkdir()
    out = settled.cluster.scontrol("show", "config")
    (plugins,) = [line.split("=")[1].strip() for line in out.splitlines() if line.startswith("PluginDir ")]
    for path in Path(plugins).iterdir():
        if "json" not in path.name:
            (folder / path.name).symlink_to(path)
    conf = settled.cluster.home / "without-json.conf"
    conf.write_text(f"{settled.conf.read_text()}PluginDir={folder}\n")
    said = subprocess.run([settled.bin_dir / "sinfo", "--json"], env={"SLURM_CONF": str(conf)}, capture_output=True, text=True, check=False)
    assert said.stdout == ""
    settled.runs("-w", "n1", "--gres=gpu:3", "--ntasks=1")
    with_json = settled.answer(4, 5)
    before, settled.conf = settled.conf, conf
    try:
        in_text = settled.answer(4, 5)
    finally:
        settled.conf = before
    assert (in_text.nodes, in_text.gpus) == (with_json.nodes, with_json.gpus)


def test_a_slurmctld_that_is_silent_is_a_failure_in_time_and_nothing_is_left(settled):
    before = children()
    with settled.silent():
        began = time.monotonic()
        done = gate(settled, "--nodes", "1", "--gpus-per-node", "1")
        took = time.monotonic() - began
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot read the cluster of Slurm" in done.stderr
    assert took < 25
    assert (children(), settled.cluster.left("sinfo"), settled.cluster.left("submit/scontrol")) == (before, [], [])


def test_a_slow_slurmctld_is_waited_for(settled):
    settled.cluster.controller.send(signal.SIGSTOP)
    later = threading.Timer(3.0, settled.cluster.controller.send, (signal.SIGCONT,))
    later.start()
    try:
        assert settled.answer(4, 8).placeable
    finally:
        later.join()


def test_without_slurmctld_there_is_no_answer(settled):
    """sinfo prints an empty list then, with errors, and exits with 0."""
    cluster = settled.cluster
    eventually((cluster.home / "controller/node_state").exists, 20)
    cluster.controller.end(signal.SIGTERM)  # it writes what it knows
    try:
        with pytest.raises(HostagentError, match="cannot read the cluster of Slurm: sinfo --json has errors"):
            settled.answer(1, 1)
    finally:
        cluster.controller.start()
        eventually(lambda: cluster.scontrol("ping", check=False).count("UP") == 1, 30)


def test_a_partition_and_a_reservation_that_are_not_there_are_mistakes(settled):
    for option, known in (("--partition", "small"), ("--reservation", "r-1")):
        settled.reserve("r-1", "n1") if option == "--reservation" else None
        done = gate(settled, "--nodes", "1", "--gpus-per-node", "1", option, "none")
        assert (done.returncode, known in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


def test_a_node_of_one_user_serves_that_user_alone(site, monkeypatch):
    assert of_one_user(site, monkeypatch) == [(("n1",), ("n1",)), (("n1",), ("n1",)), ((), ()), (("n2",), ("n2",))]
