"""A Node as a candidate: the worst word counts, and each thing that keeps the scheduler's pods away is a reason. One node at a time."""

import json

import pytest

from hostagent.gate import Request
from hostagent.gate.answer import Reason
from hostagent.gate.backends.kubenodes import Reader
from hostagent.gate.classes import Grouping
from hostagent.gate.eligibility import Judge
from tests.gate_summaries import ABSENT, NOW
from tests.kubenodes import GPU, PREFIX, condition, label, node, stamp

MINE = f"{PREFIX}/summary"


def read(made, nodes=1, gpus=8, dra=(), **request):
    return Reader(Request(nodes, gpus, **request), PREFIX, lambda: dra).node(made)


def reasons(made, nodes=1, gpus=8, dra=(), **request):
    asked = Request(nodes, gpus, **request)
    return Judge(asked, NOW, Grouping(asked)).reasons(read(made, nodes, gpus, dra, **request).candidate)


def codes(*args, **more):
    found = reasons(*args, **more)
    assert all(isinstance(one, Reason) and one.message and one.found and one.wanted for one in found)
    return [one.code for one in found]


def of_node(*changes):
    return node("n1", [(path.split(" "), value) for path, value in changes])


def test_a_node_that_is_ready_has_no_reason():
    assert codes(node(), nodes=2) == []


def annotated(text):
    return of_node((f"metadata annotations {MINE}", text))


NO_SUMMARIES = {
    "none": ABSENT,
    "empty": "",
    "no-json": "{",
    "a-list": "[]",
    "deep": "[" * 100_000,
    "long-number": "9" * 10_000,
    "later-version": '{"schema_version": 2, "node": "n1"}',
    "true-for-1": '{"schema_version": true, "node": "n1"}',
    "no-version": '{"node": "n1"}',
}


@pytest.mark.parametrize("text", NO_SUMMARIES.values(), ids=NO_SUMMARIES)
def test_what_is_no_summary_of_this_node_is_that_reason_alone(text):
    assert codes(annotated(text)) == ["NoSummary"]


@pytest.mark.parametrize("name", ["n2", None, 7])
def test_the_name_is_that_of_the_node_whatever_the_summary_says(name):
    made = node("n1")
    said = json.loads(made["metadata"]["annotations"][MINE])
    made["metadata"]["annotations"][MINE] = json.dumps({**said, "node": name})
    assert read(made).candidate.node == "n1"
    assert codes(made) == []


def test_a_node_without_a_summary_has_the_clusters_reasons_too():
    assert codes(of_node((f"metadata annotations {MINE}", ABSENT), ("spec unschedulable", True))) == ["NoSummary", "Cordoned"]


def test_a_node_without_gpus_and_without_an_agent_is_no_candidate():
    bare = {"metadata": {"name": "cpu"}, "status": {"allocatable": {"cpu": "8"}, "conditions": []}}
    assert read(bare) is None


def test_a_node_with_gpus_of_another_vendor_is_no_candidate():
    offered = {"amd.com/gpu": "8", "pods": "110"}
    other = {"metadata": {"name": "mi300x", "labels": {"amd.com/gpu.vram": "192G"}}, "spec": {}}
    assert read({**other, "status": {"allocatable": offered, "capacity": offered}}) is None
    offered = {"nvidia.com/gpu": "8", "pods": "110"}
    assert read({**other, "status": {"allocatable": offered, "capacity": offered}}).candidate.has_summary is False


def test_a_node_without_status_and_labels_is_no_candidate():
    assert read({"metadata": {"name": "x"}}) is None


@pytest.mark.parametrize("key", [GPU, f"{GPU}.shared", "nvidia.com/mig-1g.10gb"])
def test_a_node_that_has_gpus_and_no_agent_is_a_candidate_without_summary(key):
    assert not read({"metadata": {"name": "x"}, "status": {"capacity": {key: "0"}}}).candidate.has_summary


def test_a_node_of_gpu_discovery_is_a_candidate_whatever_is_allocatable():
    assert read({"metadata": {"name": "x", "labels": {f"{GPU}.present": "true"}}}) is not None


@pytest.mark.parametrize(("status", "code"), [("False", "NotReady"), ("Unknown", "Unknown"), (None, "Unknown"), ("true", "Unknown")])
def test_the_condition_of_the_agent_counts(status, code):
    assert codes(condition(node(), f"{PREFIX}/Ready", status)) == [code]


@pytest.mark.parametrize("status", ["False", "Unknown", None])
def test_the_condition_for_several_nodes_counts_for_several_nodes_alone(status):
    made = condition(node(), f"{PREFIX}/MultiNodeReady", status)
    assert (codes(made, nodes=1), codes(made, nodes=2)) == ([], ["MultiNodeNotReady"])


@pytest.mark.parametrize(("value", "expected"), [("false", ["NotReady"]), ("unknown", ["Unknown"]), ("yes", ["Unknown"]), (None, [])])
def test_a_label_counts_where_there_is_one(value, expected):
    assert codes(label(node(), f"{PREFIX}/ready", value)) == expected


def test_the_label_for_several_nodes_counts_for_several_nodes_alone():
    made = label(node(), f"{PREFIX}/multi-node-ready", "false")
    assert (codes(made, nodes=1), codes(made, nodes=2)) == ([], ["MultiNodeNotReady"])


def test_a_good_condition_does_not_mend_the_summary():
    assert codes(node("n1", (), {"verdict.single_node": "not_ready"})) == ["NotReady"]


def test_a_degraded_node_is_eligible():
    assert codes(node("n1", (), {"verdict.single_node": "degraded"})) == []


def test_the_reason_says_what_the_condition_says():
    (found,) = reasons(condition(node(), f"{PREFIX}/Ready", "False", "GPU 3 fell off the bus"))
    assert found.message == "GPU 3 fell off the bus"


def test_the_reason_is_the_headline_where_the_summary_is_worse_than_the_condition():
    (found,) = reasons(node("n1", (), {"verdict.single_node": "not_ready", "headline": "the driver is gone"}))
    assert found.message == "the driver is gone"


def test_the_reason_names_the_label_where_that_is_the_worst():
    (found,) = reasons(label(node(), f"{PREFIX}/ready", "false"))
    assert f"{PREFIX}/ready is false" in found.message


def test_a_message_that_does_not_print_is_shown_as_text():
    (found,) = reasons(condition(node(), f"{PREFIX}/Ready", "False", "a\x1b[31m\nb"))
    assert found.message.isprintable()


@pytest.mark.parametrize(
    ("heartbeat", "is_stale"),
    [
        (stamp(NOW - 900), False),
        (stamp(NOW - 901), True),
        (stamp(NOW + 300), False),
        (stamp(NOW + 301), True),
        (ABSENT, True),
        ("", True),
        ("soon", True),
        (str(NOW), True),
        ("2026-11-30T10:00:00", True),
        ("9999-99-99T99:99:99Z", True),
    ],
    ids=["old", "too-old", "ahead", "too-far-ahead", "none", "empty", "a-word", "a-number", "no-zone", "no-time"],
)
def test_a_heartbeat_holds_for_900_s_and_may_be_300_s_ahead(heartbeat, is_stale):
    assert codes(of_node((f"metadata annotations {PREFIX}/heartbeat", heartbeat))) == (["Stale"] if is_stale else [])


def test_the_times_of_the_summary_count_for_nothing():
    made = of_node((f"metadata annotations {PREFIX}/heartbeat", stamp(NOW - 5000)))
    said = {**json.loads(made["metadata"]["annotations"][MINE]), "observed_at": NOW, "valid_until": NOW + 900}
    made["metadata"]["annotations"][MINE] = json.dumps(said)
    assert codes(made) == ["Stale"]


@pytest.mark.parametrize("boot", ["b2", "", ABSENT, None])
def test_another_boot_and_none_refuse(boot):
    assert codes(of_node(("status nodeInfo bootID", boot))) == ["OtherBoot"]


def test_a_summary_without_a_boot_refuses_on_a_node_without_one():
    made = node("n1", [(("status", "nodeInfo"), {})], {"boot_id": ""})
    assert codes(made) == ["OtherBoot"]


@pytest.mark.parametrize("status", ["False", "Unknown", None])
def test_a_node_that_kubernetes_finds_not_ready_is_refused(status):
    assert codes(condition(node(), "Ready", status)) == ["NodeNotReady"]


def test_a_node_that_is_being_deleted_is_refused():
    assert codes(of_node(("metadata deletionTimestamp", stamp(NOW)))) == ["NodeNotReady"]


CORDON = ({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},)


def test_a_cordon_is_one_reason_with_its_taint():
    assert codes(of_node(("spec unschedulable", True), ("spec taints", list(CORDON)))) == ["Cordoned"]


def test_a_cordon_that_is_tolerated_is_none():
    made = of_node(("spec unschedulable", True), ("spec taints", list(CORDON)))
    assert codes(made, tolerations=("node.kubernetes.io/unschedulable:NoSchedule",)) == []


def test_the_taint_of_a_cordon_alone_keeps_pods_away():
    assert codes(of_node(("spec taints", list(CORDON)))) == ["Tainted"]


def test_all_taints_that_are_not_tolerated_are_named():
    taints = [
        {"key": "a", "value": "1", "effect": "NoSchedule"},
        {"key": "b", "effect": "NoExecute"},
        {"key": "c", "effect": "PreferNoSchedule"},
    ]
    (found,) = reasons(of_node(("spec taints", taints)))
    assert (found.code, found.found) == ("Tainted", "a=1:NoSchedule, b:NoExecute")


@pytest.mark.parametrize(
    ("allocatable", "code"),
    [
        ({GPU: "16"}, "Shared"),
        ({f"{GPU}.shared": "32"}, "Shared"),
        ({GPU: "0", f"{GPU}.shared": "32"}, "Shared"),
        ({"nvidia.com/mig-1g.10gb": "56"}, "Mig"),
        ({GPU: "0", "nvidia.com/mig-1g.10gb": "56"}, "Mig"),
        ({}, "NoFreeGpus"),
        ({GPU: "0"}, "NoFreeGpus"),
        ({GPU: "7"}, "NoFreeGpus"),
        ({GPU: "8x"}, "NoFreeGpus"),
        ({GPU: None}, "NoFreeGpus"),
        ({GPU: "8k"}, "Shared"),
    ],
)
def test_what_the_device_plug_in_offers_counts(allocatable, code):
    assert codes(of_node(("status allocatable", {"pods": "110", **allocatable}))) == [code]


@pytest.mark.parametrize("pods", ["0", "x", ABSENT])
def test_a_kubelet_that_takes_no_pods_is_refused(pods):
    assert codes(of_node(("status allocatable pods", pods))) == ["NoFreePods"]


def test_a_job_that_takes_mig_gets_no_node_without_whole_gpus():
    made = node("n1", [(("status", "allocatable"), {"pods": "110", "nvidia.com/mig-1g.10gb": "56"})], {"gpus.mig": True})
    assert codes(made, allow_mig=True) == ["Mig"]


def test_mig_is_one_reason():
    made = node("n1", [(("status", "allocatable"), {"pods": "110", "nvidia.com/mig-1g.10gb": "56"})], {"gpus.mig": True})
    assert codes(made) == ["Mig"]


def test_gpus_of_dynamic_resource_allocation_are_refused_by_that_name():
    assert codes(of_node(("status allocatable", {"pods": "110"})), dra={"n1"}) == ["Dra"]


@pytest.mark.parametrize(("term", "expected"), [("pool=train", ["Selector"]), ("pool=eval", []), ("gone=", ["Selector"])])
def test_the_jobs_own_selector_has_to_match(term, expected):
    assert codes(label(node(), "pool", "eval"), node_selector=(term,)) == expected


def test_what_was_not_read_is_not_shared_with_a_text_of_the_same_words():
    reader = Reader(Request(1, 8), PREFIX, tuple)
    gap = reader.node(node("n1", (), {"fabric.inputs.mtu": {"unread": "denied"}})).candidate
    word = reader.node(node("n2", (), {"fabric.inputs.mtu": "denied"})).candidate
    assert (str(gap.inputs["mtu"].why), word.inputs["mtu"]) == ("denied", "denied")


def test_only_labels_that_the_gate_uses_are_kept():
    kept = read(label(node(), "other", "x")).candidate.labels
    assert set(kept) == {
        "kubernetes.io/hostname",
        *(f"{PREFIX}/{name}" for name in ("ready", "multi-node-ready", "fabric-class", "gpu-product")),
    }


def test_nodes_that_are_alike_share_what_they_have():
    reader = Reader(Request(1, 8), PREFIX, tuple)
    one, other = reader.node(node("n1")).candidate, reader.node(node("n2")).candidate
    assert (one.inputs is other.inputs, one.env is other.env, one.numa_gpus is other.numa_gpus) == (True, True, True)


@pytest.mark.parametrize("value", [None, 7, "x", [], [1], {"a": 1}])
@pytest.mark.parametrize(
    "path",
    [
        "metadata labels",
        "metadata annotations",
        "spec",
        "spec taints",
        "status",
        "status conditions",
        "status allocatable",
        "status nodeInfo",
    ],
)
def test_an_object_of_another_shape_ends_in_a_refusal_or_in_no_candidate(path, value):
    made = of_node((path, value))
    found = read(made)
    spares = (path, value) in [("metadata labels", value), ("spec", value), ("spec taints", value)]
    assert found is None or spares or reasons(made)


@pytest.mark.parametrize(("kind", "code"), [("hostagent.dev/Ready", "NotReady"), ("Ready", "NodeNotReady")])
def test_of_a_condition_that_comes_twice_the_worse_counts(kind, code):
    made = node()
    made["status"]["conditions"].append({"type": kind, "status": "False", "message": "it is broken"})
    assert code in codes(made)
