"""A cluster is asked page by page: the answer is the one that all pages give, and no more is asked than it takes."""

import random
from dataclasses import replace

import pytest

from hostagent.gate import Request, parse_candidate
from hostagent.gate.answer import Reason
from hostagent.gate.placing import place
from hostagent.gate.search import Free, SearchOptions, search
from tests.gate_summaries import NOW, summary

REQUEST = Request(2, 8)
FULL = Reason("NoFreePods", "it takes no more pods", "0", "1")


class FakeCluster:
    """A cluster in memory. It counts what it is asked."""

    now = NOW

    def __init__(self, candidates, free, size=3, incomplete=""):
        self.candidates, self.known, self.size, self.incomplete = candidates, free, size, incomplete
        self.warnings, self.read, self.asked = [], 0, []

    def pages(self):
        for start in range(0, len(self.candidates), self.size):
            page = self.candidates[start : start + self.size]
            self.read += len(page)
            yield page

    def free(self, candidates):
        names = [one.node for one in candidates]
        self.asked += names
        return {name: self.known[name] for name in names}

    def not_examined(self):
        return len(self.candidates) - self.read


def node(name, changes=None, inputs=None):
    return parse_candidate(summary(name, changes, inputs))


def made(free, **inputs):
    """Nodes n0, n1 ... with so many free GPUs each; `inputs` of the class by node."""
    names = [f"n{number}" for number in range(len(free))]
    return FakeCluster(
        [node(name, inputs=inputs.get(name)) for name in names], {name: Free(gpus) for name, gpus in zip(names, free, strict=True)}
    )


def answered(cluster, request=REQUEST, **asked):
    return search(request, cluster, SearchOptions("kubernetes", **asked))


def codes(answer):
    return {one.node: [reason.code for reason in one.reasons] for one in answer.refused}


def test_reading_stops_where_the_job_can_be_placed():
    cluster = made([8] * 9)
    answer = answered(cluster)
    assert (answer.nodes, cluster.read, answer.examined.not_examined) == (("n0", "n1"), 3, 6)


def test_with_all_it_goes_on_to_the_last_page():
    cluster = made([8] * 9)
    assert (answered(cluster, read_all=True).nodes, cluster.read) == (("n0", "n1"), 9)


def test_a_busy_node_is_replaced_by_a_free_one_of_a_later_page():
    answer = answered(made([4, 8, 0, 7, 8, 8]))
    assert answer.nodes == ("n1", "n4")
    assert codes(answer) == {"n0": ["NoFreeGpus"], "n2": ["NoFreeGpus"], "n3": ["NoFreeGpus"]}


def test_a_refusal_has_asked_every_node_that_could_serve():
    cluster = made([0, 8, 7, 1, 0, 2])
    answer = answered(cluster)
    assert (answer.placeable, answer.examined.eligible, sorted(set(cluster.asked))) == (False, 1, [f"n{number}" for number in range(6)])
    assert answer.reasons[0].message == "1 of 6 nodes is eligible"


def test_no_node_is_asked_twice():
    cluster = made([0] * 40)
    answered(cluster)
    assert len(cluster.asked) == len(set(cluster.asked)) == 40


def test_the_largest_class_may_be_busy_and_a_smaller_one_free():
    other = {"mtu": "1500"}
    assert answered(made([0, 0, 0, 8, 8], n3=other, n4=other)).nodes == ("n3", "n4")


def test_a_node_that_takes_no_more_pods_is_refused():
    cluster = made([8, 8, 8])
    cluster.known["n1"] = Free(8, (FULL,))
    answer = answered(cluster)
    assert (answer.nodes, codes(answer)) == (("n0", "n2"), {"n1": ["NoFreePods"]})


def test_one_node_is_the_one_with_the_fewest_free_gpus_to_spare_of_those_asked():
    assert answered(made([8, 4, 6]), Request(1, 4)).nodes == ("n1",)


def test_what_was_not_read_is_a_reason_of_a_refusal_alone():
    cluster = made([0, 8])
    cluster.incomplete = "the list of nodes ended early"
    assert [one.code for one in answered(cluster).reasons] == ["TooFewNodes", "NotEverythingRead"]
    cluster = made([8, 8])
    cluster.incomplete = "the list of nodes ended early"
    assert answered(cluster).reasons == ()


def test_a_node_that_is_not_in_the_pages_read_is_no_wrong_name():
    assert answered(made([8] * 9), Request(2, 8, exclude=("n8",))).warnings == ()
    assert "no node has this name" in answered(made([0] * 9), Request(2, 8, exclude=("x",))).warnings[0]


@pytest.mark.parametrize("seed", range(40))
def test_it_can_be_placed_exactly_where_all_pages_at_once_say_so(seed):
    draw = random.Random(seed)
    candidates, free = [], {}
    for number in range(draw.randrange(1, 30)):
        name = f"n{number:02}"
        changes = draw.choice([{}, {}, {}, {"verdict.multi_node": "not_ready"}, {"gpus.count": 4}])
        candidates.append(node(name, changes, draw.choice([{}, {}, {"mtu": "1500"}])))
        free[name] = Free(draw.choice([0, 2, 4, 8, 8]), draw.choice([(), (), (), (FULL,)]))
    request = Request(draw.randrange(1, 6), draw.choice([1, 2, 4, 8]))
    cluster = FakeCluster(candidates, free, size=draw.randrange(1, 12))
    answer = answered(cluster, request)
    known = [replace(one, free_gpus=free[one.node].gpus, own_reasons=free[one.node].reasons) for one in candidates]
    assert answer.placeable == place(request, known, NOW).placeable
    assert all(free[name].gpus >= request.gpus_per_node and not free[name].reasons for name in answer.nodes)
    assert len(answer.nodes) in (0, request.nodes)
