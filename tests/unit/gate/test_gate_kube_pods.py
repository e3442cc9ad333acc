"""What pods take of a node: GPUs as the scheduler counts them, and one place each."""

import pytest

from hostagent.gate.backends.kubepods import PodSums, gpus_of
from tests.kubenodes import GPU, pod


def asks(requests=None, limits=None, **more):
    named = {"requests": requests, "limits": limits}
    parts = {name: {GPU: size} for name, size in named.items() if size is not None}
    return {"resources": parts, **more}


def spec(*containers, init=(), **more):
    return {"spec": {"containers": list(containers), "initContainers": list(init), **more}}


SIDECAR = {"restartPolicy": "Always"}
COUNTED = {
    "none": (spec({}), 0),
    "one": (spec(asks("8", "8")), 8),
    "the-sum-of-containers": (spec(asks("2"), asks("3"), {}), 5),
    "limits-make-requests": (spec(asks(limits="4")), 4),
    "a-request-of-none-counts": (spec(asks("0", "4")), 0),
    "the-largest-init-container": (spec(asks("2"), init=[asks("8"), asks("4")]), 8),
    "containers-larger-than-init": (spec(asks("6"), asks("6"), init=[asks("8")]), 12),
    "a-sidecar-adds-to-containers": (spec(asks("2"), init=[asks("1", **SIDECAR)]), 3),
    "a-sidecar-adds-to-later-init": (spec(asks("2"), init=[asks("1", **SIDECAR), asks("6")]), 7),
    "a-sidecar-does-not-add-to-earlier-init": (spec(asks("2"), init=[asks("6"), asks("1", **SIDECAR)]), 6),
    "an-overhead-adds": (spec(asks("2"), overhead={GPU: "1"}), 3),
    "an-overhead-alone": (spec({}, overhead={GPU: "1"}), 1),
    "a-whole-pod-asks-for-none": (spec(asks("2"), resources={"requests": {GPU: "7"}}), 2),
    "thousands": (spec(asks("1k")), 1000),
    "rounded-up": (spec(asks("1500m")), 2),
}


@pytest.mark.parametrize(("made", "expected"), COUNTED.values(), ids=COUNTED)
def test_a_pod_takes_what_the_scheduler_counts(made, expected):
    assert gpus_of(made) == expected


@pytest.mark.parametrize("size", ["8x", None, [], "-1", "1e99", True])
def test_a_request_that_is_no_quantity_takes_the_whole_node(size):
    assert gpus_of(spec({"resources": {"requests": {GPU: size}}})) > 1_000_000


@pytest.mark.parametrize("made", [{}, {"spec": None}, {"spec": {"containers": [None, 7]}}, {"spec": {"containers": {"a": 1}}}])
def test_a_pod_of_another_shape_takes_no_gpu(made):
    assert gpus_of(made) == 0


def test_pods_are_summed_by_node():
    counted = PodSums()
    counted.add([pod("a", 2), pod("b", 4), pod("a", 1), pod("a")])
    assert (counted.of("a"), counted.of("b"), counted.of("c")) == ((3, 3), (4, 1), (0, 0))


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_takes_nothing(phase):
    counted = PodSums()
    counted.add([pod("a", 2, phase)])
    assert counted.of("a") == (0, 0)


@pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown", ""])
def test_a_pod_that_has_not_ended_takes_its_gpus(phase):
    counted = PodSums()
    counted.add([pod("a", 2, phase)])
    assert counted.of("a") == (2, 1)
