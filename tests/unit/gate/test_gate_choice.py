"""The choice by hand: examples of each rule, and what the answer gives a submitter."""

import pytest

from hostagent.domains.nccl.class_inputs import CLASS_INPUTS
from hostagent.gate import Request, place
from hostagent.gate.candidate import parse_candidate
from tests.gate_summaries import ABSENT, NOW, summary


def answered(documents, nodes=2, gpus=8, **request):
    return place(Request(nodes, gpus, **request), [parse_candidate(one, f"{number}.json") for number, one in enumerate(documents)], NOW)


def refusals(answer):
    return {one.node: [(reason.code, reason.message) for reason in one.reasons] for one in answer.refused}


def several(names, *arguments, **options):
    return [summary(name, *arguments, **options) for name in names]


def test_one_node_is_the_one_with_the_fewest_gpus_to_spare_then_by_name():
    documents = [summary("n10"), summary("n9"), summary("n1", {"gpus.count": 16, "kubelet.policy": "none"})]
    assert answered(documents, 1).nodes == ("n10",)
    assert answered([*documents, summary("n99", {"gpus.count": 9})], 1, 9).nodes == ("n99",)


def test_nodes_of_one_class_come_by_the_fewest_to_spare_then_by_name():
    documents = several(["n10", "n2", "n1"]) + several(["n0"], {"gpus.count": 10})
    assert answered(documents, 3).nodes == ("n1", "n10", "n2")


def test_a_class_with_a_domain_that_holds_the_job_comes_before_a_larger_class():
    small = several(["a1", "a2"], {"fabric.domain": "x"})
    large = [summary(f"b{number}", {"fabric.domain": f"y{number}"}, {"mtu": "1500"}) for number in range(3)]
    answer = answered(small + large)
    assert (answer.nodes, answer.domain) == (("a1", "a2"), "x")
    assert answered(large + small[:1]).domain == ""


def test_of_two_such_classes_the_larger_one_then_the_first_by_name():
    small, large = several(["a1", "a2"]), several(["b1", "b2", "b3"], inputs={"mtu": "1500"})
    assert answered(small + large).nodes == ("b1", "b2")
    even = answered(small + large[:2])
    assert even.fabric_class == min(one["fabric"]["class"] for one in small + large)


def test_the_domain_with_most_nodes_is_filled_first():
    documents = several(["a1", "a2"], {"fabric.domain": "x"}) + several(["b1", "b2", "b3"], {"fabric.domain": "y"})
    assert answered(documents).nodes == ("b1", "b2")
    assert answered(documents, 4).nodes == ("a1", "a2", "b1", "b2")


def test_one_domain_is_needed_only_where_it_is_asked_for():
    documents = several(["a1", "a2", "a3"], {"fabric.domain": "x"}) + several(["b1"], {"fabric.domain": "y"})
    assert answered(documents, 4).placeable
    answer = answered(documents, 4, same_domain=True)
    assert [one.code for one in answer.reasons] == ["NoCommonClass"]
    assert refusals(answer) == {"b1": [("NotInDomain", "domain y, 3 others x")]}


def test_the_most_nodes_of_one_domain_may_be_of_another_class_than_the_largest():
    large = [summary(f"a{number}", {"fabric.domain": f"x{number}"}) for number in range(3)]
    small = several(["b1", "b2"], {"fabric.domain": "y"}, {"mtu": "1500"})
    answer = answered(large + small, 3, same_domain=True)
    assert [(one.code, one.found) for one in answer.reasons] == [("NoCommonClass", "2")]
    assert answer.reasons[0].message == "5 of 5 nodes are eligible, and at most 2 of one class and domain"


@pytest.mark.parametrize("name", CLASS_INPUTS)
def test_a_job_is_refused_with_node_and_both_values_where_one_node_differs(name):
    answer = answered([*several(["n1", "n2", "n3"]), summary("n7", inputs={name: "odd"})], 4)
    assert [one.code for one in answer.reasons] == ["NoCommonClass"]
    assert list(refusals(answer)) == ["n7"]
    (reason,) = answer.refused[0].reasons
    assert reason.message.startswith(f"{name} odd, 3 others ")
    assert reason.found == "odd"


def test_an_eligible_node_of_another_class_is_not_refused_where_the_job_is_placed():
    assert refusals(answered([*several(["n1", "n2"]), summary("n7", inputs={"mtu": "1500"}), summary("n8", {"gpus.count": 2})])) == {
        "n8": [("TooFewGpus", "it has 2 GPUs")]
    }


def test_two_nodes_without_a_class_do_not_share_one():
    answer = answered(several(["n1", "n2"], inputs={"gdr": {"unread": "denied"}}))
    assert refusals(answer) == {name: [("NotInClass", "its class could not be read: gdr was not read (denied)")] for name in ("n1", "n2")}
    assert [one.code for one in answer.reasons] == ["TooFewNodes"]


def test_the_class_of_the_hosts_nccl_is_compared_where_the_job_uses_it():
    documents = [summary("n1"), summary("n2", inputs={"nccl": "2.27.3"})]
    assert answered(documents).placeable
    answer = answered(documents, host_nccl=True)
    assert refusals(answer) in (
        {"n2": [("NotInClass", "nccl 2.27.3, 1 other 2.28.9")]},
        {"n1": [("NotInClass", "nccl 2.28.9, 1 other 2.27.3")]},
    )


def test_inputs_of_the_class_asked_for_come_before_the_others():
    documents = [*several(["n1", "n2"]), summary("n3", inputs={"nccl": "2.27.3", "traffic_class": "0"})]
    assert refusals(answered(documents, 3)) == {"n3": [("NotInClass", "traffic_class 0, 2 others 104")]}


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"hidden": "more"}, "differs in an input that was cut (class 1-"),
        ({"version": "2"}, "is of another release of hostagent (class 2-"),
        ({"inputs": {"mtu": ABSENT}, "changes": {"fabric.class": "1-x"}}, "mtu not read, 2 others 9000"),
        ({"inputs": {"new": "1"}, "version": "2"}, "new 1, 2 others not read"),
    ],
)
def test_what_sets_a_node_apart_is_said_even_where_no_shown_input_differs(odd, message):
    answer = answered([*several(["n1", "n2"]), summary("n3", **odd)], 3)
    (code, found), *_ = refusals(answer)["n3"]
    assert code == "NotInClass"
    assert found.startswith(message)


def test_long_inputs_are_shown_where_they_differ():
    long = ", ".join(f"mlx5_{number}:1" for number in range(30))
    documents = [*several(["n1", "n2"], inputs={"hca_names": f"{long}, a"}), summary("n3", inputs={"hca_names": f"{long}, b"})]
    (reason,) = answered(documents, 3, host_nccl=True).refused[0].reasons
    assert (reason.found[-3:], reason.wanted[-3:]) == (", b", ", a")


class TestMayDiffer:
    def test_nodes_that_differ_in_that_input_alone_are_one_group(self):
        documents = [summary("n1"), summary("n2", inputs={"mtu": "1500"})]
        assert not answered(documents).placeable
        answer = answered(documents, may_differ=("mtu",))
        assert answer.placeable
        assert set(answer.selector) == {"hostagent.dev/ready", "hostagent.dev/multi-node-ready", "hostagent.dev/gpu-product"}
        assert values(answer, "hostagent.dev/fabric-class") == sorted(one["fabric"]["class"] for one in documents)
        assert answer.fabric_class == ""

    def test_another_input_still_sets_them_apart(self):
        documents = [*several(["n1", "n2"]), summary("n3", inputs={"mtu": "1500", "gdr": "no"})]
        assert refusals(answered(documents, 3, may_differ=("mtu",))) == {"n3": [("NotInClass", "gdr no, 2 others yes")]}

    def test_what_only_the_hosts_nccl_is_compared_by_does_not_count_for_other_jobs(self):
        documents = [summary("n1", inputs={"settings": "NCCL_ALGO=Ring"}), summary("n2", inputs={"mtu": "1500"})]
        assert answered(documents, may_differ=("mtu",)).placeable
        assert not answered(documents, may_differ=("mtu",), host_nccl=True).placeable

    def test_an_input_of_a_newer_release_sets_them_apart(self):
        documents = [summary("n1"), summary("n2", inputs={"mtu": "1500", "new": "1"}, version="2")]
        assert not answered(documents, may_differ=("mtu",)).placeable

    def test_releases_are_not_mixed(self):
        documents = [summary("n1"), summary("n2", inputs={"mtu": "1500"}, version="2")]
        assert not answered(documents, may_differ=("mtu",)).placeable

    @pytest.mark.parametrize("lost", [{"unread": "denied"}, ABSENT, "9000, … (+3)"])
    def test_what_is_left_has_to_be_known_whole(self, lost):
        documents = [summary("n1", inputs={"gdr": lost}), summary("n2", inputs={"gdr": lost, "mtu": "1500"})]
        assert not answered(documents, may_differ=("mtu",)).placeable

    def test_a_node_without_a_class_is_in_no_group(self):
        """Also where only the input that may differ was not read: of which release its list of inputs is is not known."""
        documents = [summary("n1", inputs={"gdr": {"unread": "denied"}}), summary("n2")]
        assert refusals(answered(documents, may_differ=("gdr",)))["n1"][0][0] == "NotInClass"

    def test_without_such_an_input_nodes_are_grouped_by_class_as_ever(self):
        cut = {"traffic_class": "1, 2, … (+9)"}
        assert answered(several(["n1", "n2"], inputs=cut), may_differ=("mtu",)).placeable


def values(answer, key):
    terms = answer.affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return next((one["values"] for one in terms[0]["matchExpressions"] if one["key"] == key), None)


def test_selector_and_affinity_name_the_labels_that_the_daemon_sets():
    answer = answered(several(["n1", "n2", "n3"]))
    own = answer.fabric_class
    labels = {"hostagent.dev/fabric-class": own, "hostagent.dev/gpu-product": "NVIDIA-H100-80GB-HBM3", "hostagent.dev/ready": "true"}
    assert answer.selector == {**labels, "hostagent.dev/multi-node-ready": "true"}
    assert (values(answer, "hostagent.dev/multi-node-ready"), values(answer, "hostagent.dev/fabric-class")) == (["true"], [own])
    assert values(answer, "kubernetes.io/hostname") == ["n1", "n2"]
    assert answered(several(["n1"]), 1).selector == labels


def test_with_the_hosts_nccl_only_the_names_are_sure():
    answer = answered(several(["n1", "n2"]), host_nccl=True)
    assert answer.selector == {}
    assert (values(answer, "hostagent.dev/fabric-class"), values(answer, "kubernetes.io/hostname")) == (None, ["n1", "n2"])


def test_the_labels_are_those_of_the_daemon():
    from hostagent.daemon.labels import unknown_labels

    assert {f"hostagent.dev/{name}" for name in unknown_labels()} == set(list(answered(several(["n1", "n2"])).selector)[:2])


def test_settings_are_common_or_by_node():
    first = summary("n1", {"nccl.env": {"NCCL_NET": "IB", "NCCL_IB_HCA": "=a", "NCCL_IB_TC": "104"}})
    other = summary("n2", {"nccl.env": {"NCCL_NET": "IB", "NCCL_IB_HCA": "=b"}})
    answer = answered([first, other])
    assert answer.env == {"NCCL_NET": "IB"}
    assert answer.env_by_node == {"n1": {"NCCL_IB_HCA": "=a", "NCCL_IB_TC": "104"}, "n2": {"NCCL_IB_HCA": "=b"}}


def test_settings_that_were_not_read_on_one_node_are_given_to_none():
    answer = answered([summary("n1"), summary("n2", {"nccl.env": {"unread": "denied"}})])
    assert (answer.placeable, answer.env, answer.env_by_node) == (True, {}, {})
    assert answer.warnings == ("n2: nccl.env was not read (denied): there is no environment for NCCL",)


def test_all_chosen_nodes_without_settings_are_named():
    whys = ("denied", "error", "denied")
    answer = answered([summary("n0"), *(summary(f"n{number}", {"nccl.env": {"unread": why}}) for number, why in enumerate(whys, 1))], 4)
    assert answer.warnings == ("n1, n2, n3: nccl.env was not read (denied) or was not read (error): there is no environment for NCCL",)


def test_what_cannot_be_placed_has_nothing_to_paste():
    answer = answered([summary("n1")], 2)
    assert (answer.nodes, answer.selector, answer.affinity, answer.tolerations, answer.env, answer.env_by_node) == ((), {}, {}, (), {}, {})


class TestSeveralFilesOfANode:
    def test_the_latest_counts(self):
        documents = [summary("n1", {"observed_at": NOW - 90, "boot_id": "b0"}), summary("n1", {"verdict.single_node": "not_ready"})]
        assert refusals(answered(documents, 1))["n1"][0][0] == "NotReady"
        documents[0]["observed_at"] = NOW - 30
        assert answered(documents, 1).placeable

    def test_two_boots_of_one_time_are_refused(self):
        documents = [summary("n1"), summary("n1", {"boot_id": "b2"})]
        assert refusals(answered(documents, 1)) == {"n1": [("OtherBoot", "reports of one moment are of different boots")]}
        assert refusals(answered([*documents, summary("n1")], 1)).keys() == {"n1"}
        assert answered([*documents, summary("n1", {"observed_at": NOW - 1})], 1).placeable

    def test_a_boot_that_is_missing_is_another_one(self):
        assert not answered([summary("n1"), summary("n1", {"boot_id": ABSENT})], 1).placeable

    def test_of_one_time_and_boot_the_worse_verdict_counts(self):
        documents = [summary("n1"), summary("n1", {"verdict.single_node": "not_ready"})]
        assert not answered(documents, 1).placeable
        assert not answered(documents[::-1], 1).placeable

    def test_a_time_that_is_none_is_older_than_any(self):
        assert answered([summary("n1", {"observed_at": "x"}), summary("n1")], 1).placeable

    def test_it_is_one_node(self):
        answer = answered([summary("n1"), summary("n1", {"observed_at": NOW - 90})])
        assert (answer.placeable, answer.examined.nodes) == (False, 1)


def test_nothing_at_all_is_too_few():
    answer = answered([])
    assert ([one.code for one in answer.reasons], answer.examined.nodes, answer.placeable) == (["TooFewNodes"], 0, False)


def test_a_generator_will_do():
    assert place(Request(2, 8), (parse_candidate(summary(name)) for name in ("n1", "n2")), NOW).placeable
