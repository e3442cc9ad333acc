"""The gate on a real Slurm, and the jobs that it lets through or not: what slurmctld does with them is what has to be foretold."""

import shlex
import signal
import time
from contextlib import contextmanager

from hostagent.gate.backends.slurm import Slurm
from hostagent.gate.emit import emit
from hostagent.gate.emit.options import Options
from hostagent.gate.request import Request
from hostagent.gate.search import SearchOptions, search
from hostagent.slurm.client import Client
from tests.real.daemonrun import eventually
from tests.real.slurmrun import NODES

EXTRA = '{"hostagent":1,"hostagent_multi":1,"hostagent_class":"1-c0ffee","hostagent_coverage":"full"}'
#: A partition of two nodes, one that gives out whole nodes, and three with defaults that a job has to have free.
PARTITIONS = """PartitionName=small Nodes=n1,n2 MaxTime=5 DefaultTime=1
PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE MaxTime=5 DefaultTime=1
PartitionName=cpus Nodes=ALL DefCpuPerGPU=2 MaxTime=5 DefaultTime=1
PartitionName=memory Nodes=ALL SelectTypeParameters=CR_CORE_MEMORY DefMemPerCPU=600 MaxTime=5 DefaultTime=1
PartitionName=all-memory Nodes=ALL SelectTypeParameters=CR_CORE_MEMORY MaxTime=5 DefaultTime=1
PartitionName=user Nodes=ALL ExclusiveUser=YES MaxTime=5 DefaultTime=1
PartitionName=pairs Nodes=ALL MaxNodes=2 MaxTime=5 DefaultTime=1
PartitionName=closed Nodes=ALL State=DOWN MaxTime=5 DefaultTime=1
PartitionName=hours Nodes=ALL MaxTime=600
"""
_OTHER = {"DRAIN", "DOWN", "FAIL"}
_NOBODY = 65534
_PASSING = {"COMPLETING", "PLANNED"}


class Site:
    """Somebody who submits jobs to a cluster, with Slurm's programs as they are found there."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.bin_dir = cluster.home / "submit"
        self.bin_dir.mkdir()
        for name in ("scontrol", "sinfo"):
            command = shlex.join(cluster.place.command(f"/usr/bin/{name}"))
            (self.bin_dir / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            (self.bin_dir / name).chmod(0o755)
        self.conf = cluster.home / "slurm.conf"
        for program in ("prolog", "epilog", "health"):
            cluster.hold(program)

    def answer(self, nodes, gpus, summaries=None, **asked):
        request = Request(nodes, gpus, **asked)
        return search(request, Slurm(Client(str(self.bin_dir), str(self.conf)), request, summaries), SearchOptions("slurm"))

    def submit(self, answer, *options):
        """The emitted lines of an answer; of a refusal the same lines without names, but with those that the request names."""
        request = answer.request
        if answer.placeable:
            text = emit("sbatch", answer, Options())
        else:
            values = {
                "nodes": request.nodes,
                "ntasks-per-node": 1,
                "gres": f"gpu:{request.gpus_per_node}",
                "nodelist": ",".join(request.only),
                "partition": request.partition,
                "reservation": request.reservation,
            }
            text = "\n".join(["#!/bin/bash", *(f"#SBATCH --{key}={value}" for key, value in values.items() if value), ""])
        script = self.cluster.home / "job.sh"
        script.write_text(f"{text}sleep 60\n")
        done = self.cluster.client("sbatch", "--parsable", "--output=/dev/null", *options, str(script), check=False)
        return done.stdout.strip() or done.stderr.strip()

    def starts(self, answer, *options):
        """The nodes on which a job with the answer's lines began at once, none for one that slurmctld looked at and left waiting, or refused."""
        number = self.submit(answer, *options)
        if not number.isdecimal():
            return ()
        eventually(lambda: self.looked_at(number), 20)
        job = self.cluster.job(number)
        began = job["JobState"] != "PENDING" and job["NodeList"] != "(null)"  # it may have ended since
        nodes = self.cluster.scontrol("show", "hostnames", job["NodeList"]).split() if began else ()
        self.cluster.client("scancel", number)
        self.quiet()
        return tuple(nodes)

    def looked_at(self, number):
        job = self.cluster.job(number)
        return job["JobState"] != "PENDING" or job["Reason"] not in ("None", "Priority")

    def runs(self, *argv):
        """A job of others, at work."""
        done = self.cluster.client("sbatch", "--parsable", "--output=/dev/null", *argv, "--wrap", "sleep 120")
        eventually(lambda: self.cluster.job(done.stdout.strip())["JobState"] == "RUNNING", 20)

    def quiet(self):
        """No node is about to change its state by itself."""
        eventually(lambda: not any(self.cluster.node(name).states & _PASSING for name in NODES), 30)

    def settle(self):
        """All nodes idle and placeable."""
        cluster = self.cluster
        cluster.client("scancel", "--user=root")
        eventually(lambda: not cluster.client("squeue", "-h").stdout.strip(), 30)
        for line in cluster.scontrol("show", "reservation", "-o").splitlines():
            if line.startswith("ReservationName="):
                cluster.scontrol("delete", line.split()[0])
        for name in NODES:
            if cluster.node(name).states & _OTHER:
                cluster.scontrol("update", f"NodeName={name}", "State=RESUME", check=False)
            cluster.update(name, Extra=EXTRA)
        eventually(lambda: all(cluster.node(name).is_idle for name in NODES), 30)

    def reserve(self, name, nodes, start="now", **values):
        wanted = {"ReservationName": name, "StartTime": start, "Duration": "60", "Nodes": nodes, "Users": "root", **values}
        self.cluster.scontrol("create", "reservation", *(f"{key}={value}" for key, value in wanted.items()))

    @contextmanager
    def silent(self):
        """slurmctld has stopped, and goes on afterwards."""
        self.cluster.controller.send(signal.SIGSTOP)
        try:
            yield
        finally:
            self.cluster.controller.send(signal.SIGCONT)


def of_one_user(site, monkeypatch):
    """Where jobs of a node's owner and of another user are foretold to begin, and where they do."""
    site.settle()
    site.runs("-w", "n1", "--partition=user", "--gres=gpu:1", "--ntasks=1")
    found = []
    for partition in ("user", ""):
        answer = site.answer(1, 1, only=("n1",), partition=partition)
        found.append((answer.nodes, site.starts(answer)))
    monkeypatch.setattr("os.getuid", lambda: _NOBODY)
    for name in ("n1", "n2"):
        answer = site.answer(1, 1, only=(name,))
        found.append((answer.nodes, site.starts(answer, f"--uid={_NOBODY}", "--chdir=/")))
    return found


def busy(*argv):
    return lambda site, node: site.runs("-w", node, *argv)


#: What may be the matter with a node, as others have set it.
CONDITIONS = {
    "idle": lambda _, __: None,
    "three GPUs in use": busy("--gres=gpu:3", "--ntasks=1"),
    "six GPUs and six CPUs in use": busy("--gres=gpu:6", "--ntasks=6"),
    "all GPUs in use": busy("--gres=gpu:8", "--ntasks=1"),
    "all CPUs in use, no GPU": busy("--ntasks=8"),
    "all but one CPU in use": busy("--ntasks=7"),
    "memory in use": busy("--partition=memory", "--gres=gpu:1", "--ntasks=1"),
    "given out whole": busy("--partition=whole", "--gres=gpu:1"),
    "given to one user": busy("--partition=user", "--gres=gpu:1", "--ntasks=1"),
    "drained": lambda site, node: site.cluster.update(node, State="DRAIN", Reason="ticket 17"),
    "draining": lambda site, node: (busy("--gres=gpu:1")(site, node), site.cluster.update(node, State="DRAIN", Reason="ticket 17")),
    "down": lambda site, node: site.cluster.update(node, State="DOWN", Reason="ticket 18"),
    "failing": lambda site, node: site.cluster.update(node, State="FAIL", Reason="ticket 19"),
    "reserved": lambda site, node: site.reserve(f"r-{node}", node),
    "in maintenance": lambda site, node: site.reserve(f"m-{node}", node, Flags="MAINT"),
    "reserved soon": lambda site, node: site.reserve(f"s-{node}", node, start="now+45seconds"),
    "reserved later": lambda site, node: site.reserve(f"l-{node}", node, start="now+30minutes"),
}
ASKED = (
    {},
    {},
    {"partition": "small"},
    {"partition": "whole"},
    {"partition": "cpus"},
    {"partition": "memory"},
    {"partition": "all-memory"},
)
ASKED += ({"partition": "pairs"}, {"partition": "closed"}, {"partition": "hours"}, {"reservation": "*"})


def requests(dice, nodes):
    """For each node a job of its own, and two of several nodes."""
    yield from ((1, dice.randint(1, 8), {"only": (name,)}) for name in nodes)
    yield from ((dice.randint(1, 4), dice.randint(1, 8), {}) for _ in range(2))


def foretold(site, dice):
    """Conditions and requests by the dice: what was foretold and what slurmctld did, where both differ."""
    site.settle()
    found = {name: dice.choice(list(CONDITIONS)) for name in NODES}
    for name, condition in found.items():
        CONDITIONS[condition](site, name)
    site.quiet()
    wrong = []
    ends = time.monotonic() + 35  # then "reserved soon" holds
    for nodes, gpus, more in requests(dice, NODES):
        asked = dict(dice.choice(ASKED))
        if asked.get("reservation"):
            held = [f"{condition[0]}-{name}" for name, condition in found.items() if condition in ("reserved", "in maintenance")]
            held = [one.replace("i-", "m-") for one in held]
            asked = {"reservation": dice.choice(held)} if held else {}
        if time.monotonic() > ends and "reserved soon" in found.values():
            break
        answer = site.answer(nodes, gpus, **asked, **more)
        began = site.starts(answer)
        if sorted(began) != sorted(answer.nodes):
            reasons = {one.node: [reason.message for reason in one.reasons] for one in answer.refused}
            wrong.append((found, nodes, gpus, {**asked, **more}, f"foretold {answer.nodes}", f"began on {began}", reasons))
    return wrong
