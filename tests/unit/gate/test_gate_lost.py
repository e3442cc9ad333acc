"""What is lost of a summary never turns a refusal into a yes, with one file a node: no field, whatever else stands in its place."""

import math
import random

import pytest

from hostagent.gate import Request, place
from hostagent.gate.candidate import parse_candidate
from tests.gate_summaries import ABSENT, NOW, changed, paths, summary
from tests.unit.gate.test_gate_oracle import cluster, request

LOST = (ABSENT, None, {"unread": "denied", "detail": "of it"}, {"unread": "no such why"}, {"unread": 7})
#: Values that a field of that type cannot have.
OTHER = {
    str: (7, True, [], {}, ["x"]),
    float: ("9", True, math.nan, math.inf, -math.inf, 10**400, []),
    int: ("9", True, 8.5, math.nan, math.inf, [8]),
    bool: ("false", 0, []),
    dict: ([], "x", 7, True),
    list: ({}, "x", 7, True),
}


def values(present):
    yield from LOST
    yield from OTHER.get(type(present), ())


def at(document, path):
    for key in path:
        document = document[int(key) if isinstance(document, list) else key]
    return document


def answer(documents, asked):
    return place(asked, [parse_candidate(one, f"{number}.json") for number, one in enumerate(documents)], NOW)


def one_each(documents):
    return list({one["node"]: one for one in documents}.values())


@pytest.mark.parametrize("share", range(3))
def test_a_lost_value_of_a_node_never_places_a_job(share):
    refused = 0
    for seed in range(share, 300, 3):
        dice = random.Random(seed)
        documents, asked = one_each(cluster(dice)), Request(**request(dice))
        before = answer(documents, asked)
        if before.placeable:
            continue
        refused += 1
        number = dice.randrange(len(documents))
        lost = [path for path in paths(documents[number]) if path not in (("node",), ("schema_version",))]
        for path in dice.sample(lost, 8):
            for value in values(at(documents[number], path)):
                mutated = [*documents[:number], changed(documents[number], path, value), *documents[number + 1 :]]
                assert not answer(mutated, asked).placeable, (seed, path, value)
    assert refused > 30


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"verdict.single_node": "not_ready"}, {"gpus.mig": True}, {"kubelet.numa": [{"gpus": 4}, {"gpus": 4}]}, {"valid_until": NOW - 1},
        {"gpus.count": 4}, {"driver": "570"}, {"toolkit": "1.0"}, {"coverage": "no-nvml"}, {"verdict.multi_node": "unknown"},
        {"fabric.class": {"unread": "denied"}}, {"fabric.domain": {"unread": "absent"}},
    ],
)  # fmt: skip
def test_a_refused_node_stays_refused_whatever_of_it_is_lost(changes):
    """Each field, each value; beside it stands a healthy node, so that the other one decides."""
    demands = {
        "product": "NVIDIA-H100-80GB-HBM3", "compute_capability": "9.0", "gpu_memory_gib": 80.0, "driver": "580", "cuda": "13",
        "toolkit": "1.19", "require_coverage": "full", "same_domain": True,
    }  # fmt: skip
    asked = Request(2, 8, **demands)
    whole, beside = summary("n1", changes), summary("n2")
    assert answer([whole, beside], asked).placeable == (not changes)
    for path in paths(whole):
        for value in values(at(whole, path)) if path not in (("node",), ("schema_version",)) and changes else ():
            assert not answer([changed(whole, path, value), beside], asked).placeable, (path, value)


def test_each_value_that_a_demand_needs_refuses_when_it_is_lost():
    """The other way about: of a healthy node these fields are needed, and no others."""
    demands = {
        "product": "NVIDIA-H100-80GB-HBM3", "compute_capability": "9.0", "gpu_memory_gib": 80.0, "driver": "580", "cuda": "13",
        "toolkit": "1.19", "require_coverage": "full", "same_domain": True,
    }  # fmt: skip
    asked, whole, beside = Request(2, 8, **demands), summary("n1"), summary("n2")
    needed = {
        ".".join(path)
        for path in paths(whole)
        if path not in (("node",), ("schema_version",)) and not answer([changed(whole, path, ABSENT), beside], asked).placeable
    }
    assert needed == {
        "observed_at", "valid_until", "verdict", "verdict.single_node", "verdict.multi_node", "coverage", "gpus", "gpus.count",
        "gpus.product", "gpus.memory_gib", "gpus.compute_capability", "gpus.mig", "driver", "cuda", "toolkit", "fabric", "fabric.class",
        "fabric.domain", "kubelet", "kubelet.policy", "kubelet.numa", "kubelet.numa.0.gpus",
    }  # fmt: skip
