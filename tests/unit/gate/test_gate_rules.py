"""Each code of a node: what refuses it, and what does not. The table has a refused and an accepted value of every rule."""

import math

import pytest

from hostagent.core.errors import HostagentError
from hostagent.gate import Request, place
from hostagent.gate.answer import CODES, Reason
from hostagent.gate.candidate import Candidate, parse_candidate
from tests.gate_summaries import ABSENT, NOW, OF_CLUSTERS, summary

WHOLE = {"TooFewNodes", "NoCommonClass"}


def unread(why="denied"):
    return {"unread": why, "detail": "of it"}


def judged(changes=None, nodes=1, gpus=8, **request):
    """The answer for one node of that summary; for two nodes another one stands beside it."""
    candidates = [parse_candidate(summary("n1", changes))] + [parse_candidate(summary(f"o{number}")) for number in range(2, nodes + 1)]
    return place(Request(nodes, gpus, **request), candidates, NOW)


def codes(changes=None, nodes=1, gpus=8, **request):
    answer = judged(changes, nodes, gpus, **request)
    found = next((one.reasons for one in answer.refused if one.node == "n1"), ())
    assert all(one.message and one.found and one.wanted for one in found)
    return [one.code for one in found]


NUMA = "kubelet.numa"
SPLIT = [{"gpus": 4}, {"gpus": 4}]
#: Code, what is changed of the summary, what is asked for.
REFUSED = [
    ("Stale", {"valid_until": NOW - 1}, {}),
    ("Stale", {"valid_until": math.nan}, {}),
    ("Stale", {"valid_until": True}, {}),
    ("Stale", {"valid_until": ABSENT}, {"max_age_s": 900}),
    ("Stale", {"observed_at": NOW + 301}, {}),
    ("Stale", {"observed_at": math.inf}, {}),
    ("Stale", {"observed_at": 10**400}, {}),
    ("Stale", {"observed_at": str(NOW)}, {}),
    ("Stale", {"observed_at": ABSENT}, {}),
    ("Stale", {"observed_at": unread()}, {"max_age_s": 900}),
    ("Stale", {}, {"max_age_s": 59}),
    ("Stale", {"observed_at": NOW + 301}, {"max_age_s": 900}),
    ("NotReady", {"verdict.single_node": "not_ready"}, {}),
    ("Unknown", {"verdict.single_node": "unknown"}, {}),
    ("Unknown", {"verdict.single_node": "READY"}, {}),
    ("Unknown", {"verdict.single_node": True}, {}),
    ("Unknown", {"verdict": ABSENT}, {}),
    ("Unknown", {"verdict": "ready"}, {}),
    ("MultiNodeNotReady", {"verdict.multi_node": "not_ready"}, {"nodes": 2}),
    ("MultiNodeNotReady", {"verdict.multi_node": "unknown"}, {"nodes": 2}),
    ("MultiNodeNotReady", {"verdict.multi_node": ABSENT}, {"nodes": 2}),
    ("Coverage", {"coverage": "no-nvml"}, {"require_coverage": "full"}),
    ("Coverage", {"coverage": ABSENT}, {"require_coverage": "full"}),
    ("TooFewGpus", {"gpus.count": 7}, {}),
    ("TooFewGpus", {"gpus.count": "8"}, {}),
    ("TooFewGpus", {"gpus.count": 8.0}, {}),
    ("TooFewGpus", {"gpus.count": True}, {"gpus": 1}),
    ("TooFewGpus", {"gpus.count": None}, {}),
    ("TooFewGpus", {"gpus.count": -8}, {}),
    ("Product", {}, {"product": "NVIDIA-H100"}),
    ("Product", {"gpus.product": unread()}, {"product": "NVIDIA-H100-80GB-HBM3"}),
    ("ComputeCapability", {}, {"compute_capability": "10.0"}),
    ("ComputeCapability", {"gpus.compute_capability": 9.0}, {"compute_capability": "9.0"}),
    ("ComputeCapability", {"gpus.compute_capability": ABSENT}, {"compute_capability": "1"}),
    ("GpuMemory", {}, {"gpu_memory_gib": 80.5}),
    ("GpuMemory", {"gpus.memory_gib": "80"}, {"gpu_memory_gib": 1}),
    ("GpuMemory", {"gpus.memory_gib": math.inf}, {"gpu_memory_gib": 1}),
    ("Driver", {}, {"driver": ">=590"}),
    ("Driver", {}, {"driver": "==580"}),
    ("Driver", {"driver": "580.178.04~rc1"}, {"driver": "580.178.04"}),
    ("Driver", {"driver": "[N/A]"}, {"driver": "1"}),
    ("Driver", {"driver": unread()}, {"driver": "1"}),
    ("Driver", {}, {"driver": "580", "min_driver_version": "590"}),
    ("Driver", {}, {"driver": "590", "min_driver_version": "580"}),
    ("Driver", {}, {"driver": "==580.178.04", "min_driver_version": "590"}),
    ("Cuda", {}, {"cuda": "13.1"}),
    ("Cuda", {"cuda": 13.0}, {"cuda": "13.0"}),
    ("Cuda", {}, {"min_cuda_version": "13.10"}),
    ("Toolkit", {}, {"toolkit": "1.20"}),
    ("Toolkit", {"toolkit": "1.19.0~rc.1"}, {"toolkit": "1.19"}),
    ("Toolkit", {"toolkit": unread("absent")}, {"toolkit": "1.0"}),
    ("Toolkit", {"toolkit": unread("absent")}, {"toolkit": "1.0", "min_container_toolkit_version": "1.0"}),
    ("Toolkit", {}, {"min_container_toolkit_version": "1.20"}),
    ("Toolkit", {"toolkit": unread("denied")}, {"min_container_toolkit_version": "1.0"}),
    ("Toolkit", {"toolkit": ABSENT}, {"min_container_toolkit_version": "1.0"}),
    ("Mig", {"gpus.mig": True}, {}),
    ("Mig", {"gpus.mig": ABSENT}, {}),
    ("Mig", {"gpus.mig": "off"}, {}),
    ("Mig", {"gpus.mig": unread("denied")}, {}),
    ("PodShape", {NUMA: SPLIT}, {}),
    ("PodShape", {NUMA: [{"gpus": 4}, {"gpus": unread()}]}, {}),
    ("PodShape", {NUMA: [{"gpus": 4}, None]}, {}),
    ("PodShape", {NUMA: [{"gpus": 4}, {}]}, {}),
    ("PodShape", {NUMA: unread()}, {}),
    ("PodShape", {NUMA: ABSENT}, {}),
    ("PodShape", {NUMA: SPLIT, "kubelet.devices": ABSENT}, {}),
    ("PodShape", {NUMA: SPLIT, "kubelet.devices": "other"}, {}),
    ("PodShape", {"kubelet": ABSENT}, {}),
    ("PodShape", {"kubelet": []}, {}),
    ("PodShape", {"kubelet": unread("timeout")}, {}),
    ("PodShape", {"kubelet.policy": ABSENT}, {}),
    ("PodShape", {"kubelet.policy": unread("absent")}, {}),
    ("Excluded", {}, {"exclude": ("n1",)}),
    ("Excluded", {}, {"only": ("o2",)}),
    ("NotInClass", {"fabric.class": unread()}, {"nodes": 2}),
    ("NotInClass", {"fabric.class": ""}, {"nodes": 2}),
    ("NotInClass", {"fabric.class": 7}, {"nodes": 2}),
    ("NotInClass", {"fabric": ABSENT}, {"nodes": 2}),
    ("NotInClass", {"fabric.host_class": ABSENT}, {"nodes": 2, "host_nccl": True}),
    ("NotInDomain", {"fabric.domain": unread("absent")}, {"nodes": 2, "same_domain": True}),
    ("NotInDomain", {"fabric.domain": ABSENT}, {"nodes": 2, "same_domain": True}),
]
ACCEPTED = [
    ("Stale", {"valid_until": NOW}, {}),
    ("Stale", {"observed_at": NOW + 299}, {}),
    ("Stale", {"observed_at": int(NOW)}, {}),
    ("Stale", {"valid_until": NOW - 10**6}, {"max_age_s": 61}),
    ("NotReady", {"verdict.single_node": "degraded"}, {}),
    ("MultiNodeNotReady", {"verdict.multi_node": "not_ready"}, {}),
    ("MultiNodeNotReady", {"verdict.multi_node": "degraded"}, {"nodes": 2}),
    ("Coverage", {"coverage": ABSENT}, {}),
    ("Coverage", {}, {"require_coverage": "full"}),
    ("TooFewGpus", {"gpus.count": 9}, {}),
    ("Product", {}, {"product": "nvidia h100_80gb hbm3"}),
    ("ComputeCapability", {"gpus.compute_capability": "10.0"}, {"compute_capability": "9.0"}),
    ("GpuMemory", {"gpus.memory_gib": 79.6}, {"gpu_memory_gib": 79}),
    ("Driver", {}, {"driver": "580.95.05"}),
    ("Driver", {}, {"driver": "==580.178.4.0", "min_driver_version": "570"}),
    ("Driver", {"driver": "580.178.04-0ubuntu1"}, {"driver": "580.178.04"}),
    ("Cuda", {"cuda": "13"}, {"cuda": ">= 13.0"}),
    ("Toolkit", {"toolkit": "1.19.0-1"}, {"toolkit": "==1.19"}),
    ("Toolkit", {"toolkit": unread("absent")}, {"min_container_toolkit_version": "1.19"}),
    ("Mig", {"gpus.mig": unread("not-supported")}, {}),
    ("Mig", {"gpus.mig": unread("absent")}, {}),
    ("Mig", {"gpus.mig": True}, {"allow_mig": True}),
    ("PodShape", {NUMA: SPLIT}, {"gpus": 4}),
    ("PodShape", {NUMA: [{"gpus": 8}, {"gpus": unread()}]}, {}),
    ("PodShape", {NUMA: SPLIT, "kubelet.policy": "restricted"}, {}),
    ("PodShape", {NUMA: SPLIT, "kubelet.devices": "plain"}, {}),
    ("PodShape", {NUMA: SPLIT, "kubelet.devices": "dra"}, {}),
    ("PodShape", {NUMA: [{"gpus": 0}]}, {}),
    ("PodShape", {"kubelet": unread("absent")}, {}),
    ("PodShape", {"kubelet": unread("not-supported")}, {}),
    ("Excluded", {}, {"exclude": ("n2",), "only": ("n1",)}),
    ("NotInClass", {"fabric": ABSENT}, {}),
    ("NotInClass", {"fabric.class": ABSENT}, {"nodes": 2, "host_nccl": True}),
    ("NotInDomain", {"fabric.domain": ABSENT}, {"nodes": 2}),
    ("NotInDomain", {"fabric.domain": ABSENT}, {"same_domain": True}),
]


@pytest.mark.parametrize(("code", "changes", "request_"), REFUSED)
def test_it_refuses(code, changes, request_):
    assert codes(changes, **request_) == [code]
    assert not judged(changes, **request_).placeable


@pytest.mark.parametrize(("code", "changes", "request_"), ACCEPTED)
def test_it_does_not_refuse(code, changes, request_):
    assert codes(changes, **request_) == []
    assert judged(changes, **request_).placeable


def test_every_code_has_its_rule():
    assert {code for code, *_ in REFUSED} | WHOLE | {*OF_CLUSTERS} | {"OtherBoot", "Unknown"} == set(CODES)


def test_all_reasons_of_a_node_are_listed():
    changes = {"valid_until": NOW - 1, "verdict": {}, "gpus": unread(), "driver": None, "kubelet.policy": None}
    assert codes(changes, nodes=2, driver="1", product="x", exclude=("n1",)) == [
        "Stale", "Unknown", "MultiNodeNotReady", "TooFewGpus", "Product", "Driver", "Mig", "Excluded",
    ]  # fmt: skip


def test_a_node_with_too_few_gpus_is_not_asked_for_its_pods_shape():
    assert codes({"gpus.count": 4, NUMA: SPLIT}) == ["TooFewGpus"]


def test_an_unread_gpu_part_is_no_gpu_without_mig():
    """An absent part says of MIG what an absent value would: off. It has no GPUs all the same."""
    assert codes({"gpus": unread("absent")}) == ["TooFewGpus"]


@pytest.mark.parametrize(
    ("changes", "request_", "text"),
    [
        ({"valid_until": NOW - 5}, {"max_age_s": 900}, "the summary has expired, but is no older than --max-age"),
        ({"toolkit": unread("absent")}, {"min_container_toolkit_version": "1.0"}, "Toolkit"),
        ({NUMA: SPLIT, "kubelet.devices": "plain"}, {}, "plain"),
        ({NUMA: SPLIT, "kubelet.devices": "dra"}, {}, "DRA"),
        ({NUMA: [{"gpus": 4}]}, {}, "aligns nothing"),
        ({}, {"exclude": ("n9", "\x1b[2J")}, "n9, \\x1b[2J"),
        ({}, {"only": ("n1", "n9")}, "--only n9: no node has this name"),
        ({"nccl.env": unread()}, {}, "nccl.env was not read (denied)"),
        ({"nccl.env": {"NCCL_NET": 1}}, {}, "nccl.env"),
        ({"nccl.env": {"NCCL_NET": "a\nb"}}, {}, "nccl.env"),
        ({"nccl.env": {"A;rm": "b"}}, {}, "nccl.env"),
        ({"nccl.env": {"NCCL_NET": "IB", "LD_PRELOAD": "/x"}}, {}, "nccl.env was not read"),
        ({"nccl.env": {"NCCL_net": "b"}}, {}, "nccl.env was not read"),
        ({"fabric.class": "a b"}, {}, "label"),
    ],
)
def test_what_is_no_reason_may_be_a_warning(changes, request_, text):
    answer = judged(changes, **request_)
    assert answer.placeable
    assert [text in one for one in answer.warnings] == [True]
    assert all(one.isprintable() for one in answer.warnings)


@pytest.mark.parametrize(
    ("changes", "request_", "message", "found"),
    [
        ({"valid_until": NOW - 9 * 86400}, {}, "its summary expired 9 d ago", "expired 9 d ago"),
        ({"gpus.count": unread()}, {}, "the number of its GPUs was not read (denied)", "not read (denied)"),
        ({"gpus.count": unread("absent")}, {}, "it has 0 GPUs", "absent"),
        ({"gpus.mig": unread("error")}, {}, "whether MIG is on was not read (error)", "not read (error)"),
        ({"gpus.mig": True}, {}, "MIG is on, wanted off", "on"),
        ({"verdict.multi_node": unread()}, {"nodes": 2}, "the verdict for several nodes was not read (denied)", "not read (denied)"),
        ({"toolkit": unread("absent")}, {"toolkit": "1.0"}, "the NVIDIA Container Toolkit is absent, wanted >=1.0", "absent"),
        ({"toolkit": unread()}, {"toolkit": "1.0"}, "the NVIDIA Container Toolkit was not read (denied), wanted >=1.0", "not read (denied)"),
        ({"gpus.memory_gib": unread("not-supported")}, {"gpu_memory_gib": 1}, "NVML's memory of a GPU is not supported, wanted >=1 GiB", "not supported"),
        ({"cuda": "12.8"}, {"cuda": "13.0"}, "the driver's CUDA version is 12.8, wanted >=13.0", "12.8"),
        ({"fabric.domain": unread("absent")}, {"nodes": 2, "same_domain": True}, "it is in no NVLink domain", "absent"),
        ({"fabric.domain": unread()}, {"nodes": 2, "same_domain": True}, "its NVLink domain was not read (denied)", "not read (denied)"),
    ],
)  # fmt: skip
def test_a_message_names_the_value_or_why_there_is_none(changes, request_, message, found):
    (reason,) = next(one.reasons for one in judged(changes, **request_).refused if one.node == "n1")
    assert (reason.message, reason.found) == (message, found)


def test_a_candidate_of_which_nothing_is_known_is_refused():
    (refused,) = place(Request(1, 1), [Candidate("n1")], NOW).refused
    assert [reason.code for reason in refused.reasons] == ["Stale", "Unknown", "TooFewGpus", "Mig"]


def test_a_warning_of_what_was_not_judged_names_eligible_nodes_only():
    assert judged({NUMA: SPLIT, "kubelet.devices": "plain", "gpus.mig": True}).warnings == ()


def test_ten_names_are_enough_in_a_warning():
    candidates = [parse_candidate(summary(f"n{number:02}", {"kubelet.devices": "dra"})) for number in range(1, 14)]
    (warning,) = place(Request(2, 8), candidates, NOW).warnings
    assert warning.startswith("n01, n02, n03, n04, n05, n06, n07, n08, n09, n10 and 3 more: ")


def test_a_backend_may_refuse_a_node_itself():
    one = parse_candidate(summary("n1"))
    one.own_reasons = (Reason("Cordoned", "the node is cordoned", "cordoned", "not cordoned"),)
    answer = place(Request(1, 8), [one], NOW)
    assert [reason.code for reason in answer.refused[0].reasons] == ["Cordoned"]


def test_found_and_wanted_are_shown_safely_and_short():
    answer = judged({"driver": "\x1b]0;x\x07" + "9" * 5000}, driver="580")
    (reason,) = answer.refused[0].reasons
    assert reason.found.isprintable()
    assert len(reason.message) < 400


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": 0}, {"nodes": True}, {"nodes": "4"}, {"nodes": 1.0}, {"gpus_per_node": -1}, {"product": "-"}, {"product": None},
        {"compute_capability": "sm_90"}, {"compute_capability": ">=9"}, {"gpu_memory_gib": 0}, {"gpu_memory_gib": math.nan},
        {"gpu_memory_gib": math.inf}, {"gpu_memory_gib": 10**400}, {"gpu_memory_gib": True}, {"max_age_s": -1}, {"driver": "x"},
        {"driver": "<580"}, {"cuda": ">="}, {"toolkit": "1..2"}, {"min_driver_version": ">=580"}, {"require_coverage": "no-nvml"},
        {"allow_mig": 1}, {"exclude": "n1"}, {"only": ("",)}, {"only": (1,)}, {"may_differ": ("mtuu",)}, {"may_differ": 3},
    ],
)  # fmt: skip
def test_a_request_that_no_job_can_have_is_no_request(wrong):
    with pytest.raises(HostagentError, match=r"found .*, wanted "):
        Request(**{"nodes": 1, "gpus_per_node": 8, **wrong})


@pytest.mark.parametrize("now", [math.nan, math.inf, -math.inf])
def test_no_time_is_a_mistake_and_makes_no_report_fresh(now):
    with pytest.raises(HostagentError, match="wanted seconds since 1970"):
        place(Request(1, 8), [parse_candidate(summary("n1"))], now)


def test_a_request_says_which_input_was_meant():
    with pytest.raises(HostagentError, match="did you mean mtu"):
        Request(1, 1, may_differ=("mtuu",))
