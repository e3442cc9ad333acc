"""Nodes, verdicts and a simulated cluster for tests of the programs of Slurm."""

from dataclasses import replace

from hostagent.slurm.client import SlurmError
from hostagent.slurm.node import Node
from hostagent.slurm.programs.verdict import NodeVerdict

OURS = "hostagent: GpuRowRemapped: GPU 3 needs a reset. Drain the node."


def node(states="IDLE", reason="", **more):
    whole = {
        "name": "n1",
        "reason_by": "root" if reason else "",
        "reason_at": 1000.0 if reason else 0.0,
        "comment": "",
        "extra": "",
        "gres": "gpu:h100:8",
    }
    return Node(**{**whole, "states": frozenset(states.split("+")), "reason": reason, **more})


def verdict(word="ready", **more):
    bad = {"ready": "Ready", "degraded": "Degraded", "unknown": "CouldNotRead", "not_ready": "GpuRowRemapped"}[word]
    whole = NodeVerdict(word, word, bad, bad, "", "", "full", "1-c0ffee", "", 1000.0, 1900.0, "health")
    faulty = {"headline": "GPU 3 needs a reset", "step": "Drain the node."} if word in ("not_ready", "unknown") else {}
    return replace(whole, **{**faulty, **more})


class Cluster:
    """A simulation of one node's record in slurmctld: as far as these tests need it, it does what Slurm 22.05 does."""

    def __init__(self, found):
        self.node, self.updates, self.refuses = found, [], ""

    def show(self, name):
        if name != self.node.name:
            raise SlurmError(f"no node {name}")
        return self.node

    def show_all(self):
        return (self.node,)

    def update(self, name, values):
        if self.refuses:
            raise SlurmError(self.refuses)
        self.updates.append(dict(values))
        changes = {key.lower(): value for key, value in values.items() if key != "State"}
        states = self.node.states
        if values.get("State") == "DRAIN":
            states |= {"DRAIN"}
        if values.get("State") == "RESUME":
            states, changes["reason"] = states - {"DRAIN"}, ""
        self.node = replace(self.node, states=states, **changes)
