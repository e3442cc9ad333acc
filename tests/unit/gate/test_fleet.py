"""A fleet out of summaries: states, causes, classes and what sets nodes apart."""

import copy
import itertools
import json
import math

import pytest

from hostagent.domains.nccl.class_inputs import CLASS_INPUTS
from hostagent.gate import Request, parse_candidate, place
from hostagent.gate.fleet import fleet
from tests.fleet_hosts import FOLDER

NOW = 1_795_900_000.0
HEALTHY = json.loads((FOLDER / "gpu-01.json").read_text(encoding="utf-8"))


def node(name="n1", inputs=None, **values):
    made = copy.deepcopy(HEALTHY) | {"node": name, "observed_at": NOW, "valid_until": NOW + 900}
    made["fabric"]["inputs"] |= inputs or {}
    return made | values


def many(count, first=0, **values):
    return [node(f"n{number:03}", **values) for number in range(first, first + count)]


def of_class(name, inputs=None):
    return {"fabric": {**HEALTHY["fabric"], "class": name, "inputs": {**HEALTHY["fabric"]["inputs"], **(inputs or {})}}}


def states(*summaries):
    return {one.node: one.state for one in fleet(summaries, NOW).nodes}


def reason(check="gpu.xid", code="xid-79", severity="critical"):
    return {"id": check, "code": code, "severity": severity, "subject": "", "action": "reboot"}


@pytest.mark.parametrize("word", ["ready", "degraded", "not_ready", "unknown"])
def test_a_node_is_what_its_verdict_of_one_node_says(word):
    found = fleet([node(verdict={"single_node": word, "multi_node": "unknown"})], NOW)
    assert getattr(found.counts, word) == found.counts.nodes == 1
    assert found.counts.multi_node == 0


@pytest.mark.parametrize(
    "verdict", [{}, None, [], "ready", {"single_node": True}, {"single_node": "READY"}, {"single_node": {"unread": "error"}}]
)
def test_any_other_verdict_is_unknown(verdict):
    assert states(node(verdict=verdict)) == {"n1": "unknown"}


@pytest.mark.parametrize(
    ("times", "code"),
    [
        ({"valid_until": NOW - 0.1}, "expired"),
        ({"observed_at": NOW + 301}, "future"),
        ({"observed_at": None}, "no-time"),
        ({"observed_at": True}, "no-time"),
        ({"valid_until": math.nan}, "no-time"),
        ({"valid_until": math.inf}, "no-time"),
        ({"valid_until": "4102444800"}, "no-time"),
        ({"valid_until": 10**400}, "no-time"),
        ({"valid_until": {"unread": "error"}}, "no-time"),
    ],
)
def test_a_summary_that_does_not_count_is_stale_and_its_own_causes_do_not_count(times, code):
    found = fleet([node(reasons=[reason()], **times)], NOW)
    assert (found.counts.stale, found.counts.single_node, found.counts.multi_node) == (1, 0, 0)
    assert [(one.id, one.code, one.nodes) for one in found.causes] == [("", code, ("n1",))]


@pytest.mark.parametrize("times", [{"valid_until": NOW}, {"observed_at": NOW + 300}, {"valid_until": int(NOW) + 1}])
def test_a_summary_counts_up_to_its_last_second_and_with_a_clock_that_is_a_little_ahead(times):
    assert states(node(**times)) == {"n1": "ready"}


def test_the_newest_of_several_summaries_of_a_node_counts_in_any_order():
    old = node(observed_at=NOW - 60, verdict={"single_node": "not_ready", "multi_node": "not_ready"})
    timeless = node(observed_at=None, verdict={"single_node": "unknown", "multi_node": "unknown"})
    for order in ([old, node(), timeless], [timeless, node(), old], [node(), timeless, old]):
        assert states(*order) == {"n1": "ready"}


VERDICTS = ["ready", "degraded", "unknown", "not_ready", "perfect"]


def test_of_two_summaries_of_one_time_the_worse_counts_as_at_the_gate():
    made = [node(verdict={"single_node": single, "multi_node": multi}) for single, multi in itertools.product(VERDICTS, repeat=2)]
    for order in itertools.product(made, repeat=2):
        found = fleet(order, NOW).counts
        for count, nodes in ((found.single_node, 1), (found.multi_node, 2)):
            candidates = [parse_candidate(one, f"{number}.json") for number, one in enumerate(order)]
            answer = place(Request(nodes, 1, allow_mig=True), [*candidates, *map(parse_candidate, many(nodes - 1))], NOW)
            assert answer.placeable == bool(count)


def test_of_two_summaries_that_differ_in_the_verdict_for_several_nodes_alone_the_worse_counts():
    made = [node(verdict={"single_node": "ready", "multi_node": multi}) for multi in ("ready", "not_ready")]
    assert [fleet(order, NOW).nodes[0].multi_node for order in (made, made[::-1])] == ["not_ready", "not_ready"]


def test_jobs_on_several_nodes_need_both_verdicts():
    verdicts = [("ready", "ready"), ("degraded", "degraded"), ("ready", "not_ready"), ("ready", "unknown"), ("not_ready", "ready")]
    made = [node(f"n{number}", verdict={"single_node": one, "multi_node": many}) for number, (one, many) in enumerate(verdicts)]
    found = fleet(made, NOW)
    assert (found.counts.single_node, found.counts.multi_node) == (4, 2)
    assert [one.node for one in found.nodes if one.takes_multi_node] == ["n0", "n1"]


def test_causes_come_by_frequency_with_the_headline_of_a_node_that_has_them_first():
    mtu, xid = reason("network.mtu", "differs", "warning"), reason()
    made = [
        node("a", reasons=[mtu, xid], headline="Port 3 has MTU 1500"),
        node("b", reasons=[mtu], headline="Port 7 has MTU 1500"),
        node("c", reasons=[xid, xid], headline="GPU 4 has fallen off the bus"),
        node("d", reasons=[mtu], headline=""),
    ]
    found = fleet(made, NOW)
    assert [(one.id, one.code, one.nodes) for one in found.causes] == [
        ("network.mtu", "differs", ("a", "b", "d")),
        ("gpu.xid", "xid-79", ("a", "c")),
    ]
    assert [(one.headline, one.headline_of, one.headlines) for one in found.causes] == [
        ("Port 3 has MTU 1500", "a", 2),
        ("GPU 4 has fallen off the bus", "c", 1),
    ]
    assert [one.cause for one in found.nodes] == [0, 0, 1, 0]


def test_a_node_that_is_not_ready_without_a_reason_says_so():
    (cause,) = fleet([node(verdict={"single_node": "not_ready", "multi_node": "not_ready"}, reasons=[])], NOW).causes
    assert (cause.id, cause.code, cause.headline) == ("", "no-reason", "The summary names no reason")


def test_no_check_can_name_a_cause_that_is_not_its_own():
    found = fleet([node(reasons=[reason("", "expired")])], NOW)
    assert found.causes == ()


def test_classes_come_by_size_and_say_which_inputs_differ_from_the_largest():
    made = [
        *many(3, **of_class("1-b")),
        *many(1, 10, **of_class("1-a", {"driver_branch": "570", "mtu": "1500"})),
        *many(1, 20, **of_class("1-c")),
    ]
    largest, first, second = fleet(made, NOW).classes
    assert (largest.fabric_class, len(largest.nodes), largest.differs, largest.differs_hidden) == ("1-b", 3, (), "")
    assert [(one.name, one.found, one.wanted) for one in first.differs] == [("driver_branch", "570", "580"), ("mtu", "1500", "9000")]
    assert (second.differs, second.differs_hidden) == ((), "an input that was cut")


def test_a_class_of_another_list_of_inputs_is_of_another_release():
    made = [*many(2, **of_class("2-b")), *many(1, 10, **of_class("1-b"))]
    assert fleet(made, NOW).classes[1].differs_hidden == "another release of hostagent"


def test_the_inputs_of_the_host_s_class_set_no_class_apart():
    made = [*many(2, **of_class("1-b")), *many(1, 10, **of_class("1-c", {"nccl": "2.18.3"}))]
    assert fleet(made, NOW).classes[1].differs == ()


@pytest.mark.parametrize("name", CLASS_INPUTS)
def test_an_input_that_was_not_read_is_why_there_is_no_class(name):
    made = node(inputs={name: {"unread": "denied"}})
    made["fabric"]["class"] = {"unread": "denied"}
    (group,) = fleet([made, *many(2)], NOW).without_class
    assert (group.why, group.nodes) == (f"{name}: not read (denied)", ("n1",))


@pytest.mark.parametrize("fabric", [None, {}, {"class": ""}, {"class": 7}, {"class": None, "inputs": {"unread": "error"}}, [], "1-a"])
def test_two_nodes_without_a_class_share_none(fabric):
    found = fleet([node("a", fabric=fabric), node("b", fabric=fabric)], NOW)
    assert found.classes == ()
    assert [one.nodes for one in found.without_class] == [("a", "b")]


def test_nodes_of_a_class_that_differ_in_a_fact_are_named_with_both_values():
    made = [*many(61), *(node(f"odd{number}", driver="580.95.05") for number in range(3)), node("bare", toolkit={"unread": "absent"})]
    (group,) = fleet(made, NOW).classes
    assert [(one.fact, one.found, one.wanted, one.nodes, one.others) for one in group.odd] == [
        ("driver", "580.95.05", HEALTHY["driver"], ("odd0", "odd1", "odd2"), 62),
        ("toolkit", "absent", HEALTHY["toolkit"], ("bare",), 64),
    ]


def test_what_a_job_with_the_host_s_nccl_needs_is_compared_inside_a_class_too():
    made = [*many(3), node("odd", inputs={"socket_ifname": "=ens9"}, nccl={"version": "2.18.3", "env": {}})]
    assert [(one.fact, one.found) for one in fleet(made, NOW).classes[0].odd] == [("nccl", "2.18.3"), ("socket_ifname", "=ens9")]


def test_the_firmware_of_rails_sets_nodes_of_a_class_apart():
    made = [of_firmware(f"n{number}", "8 x 28.42.1000") for number in range(3)]
    (odd,) = fleet([*made, of_firmware("odd", "7 x 28.42.1000, 28.43.1014")], NOW).classes[0].odd
    assert (odd.fact, odd.found, odd.wanted, odd.nodes) == ("firmware", "7 x 28.42.1000, 28.43.1014", "8 x 28.42.1000", ("odd",))
    (odd,) = fleet([*made, of_firmware("odd", {"unread": "denied"})], NOW).classes[0].odd
    assert odd.found == "not read (denied)"


def test_summaries_of_earlier_releases_have_no_firmware_to_compare():
    assert fleet([without_firmware("a"), without_firmware("b")], NOW).classes[0].odd == ()


def of_firmware(name, text):
    made = node(name)
    made["fabric"]["firmware"] = text
    return made


def without_firmware(name):
    made = of_firmware(name, "")
    del made["fabric"]["firmware"]
    return made


def test_nodes_of_one_class_are_grouped_by_domain_and_those_without_come_last():
    made = [
        node(name, fabric={**HEALTHY["fabric"], "domain": domain})
        for name, domain in (("a", {"unread": "absent"}), ("b", "x.1"), ("c", "x.0"), ("d", "x.1"))
    ]
    (group,) = fleet(made, NOW).classes
    assert [(one.domain, one.nodes) for one in group.domains] == [("x.1", ("b", "d")), ("x.0", ("c",)), ("", ("a",))]


def test_the_order_of_the_files_changes_nothing():
    made = [*many(5), *many(3, 10, **of_class("1-z", {"mtu": "1500"})), node("late", valid_until=0.0), node("ill", reasons=[reason()])]
    assert fleet(made, NOW) == fleet(reversed(made), NOW)


def test_no_summary_at_all_is_an_empty_fleet():
    found = fleet([], NOW, ["x.json: found no JSON"])
    assert (found.counts.nodes, found.nodes, found.warnings) == (0, (), ("x.json: found no JSON",))


WRONG = [None, True, 7, "x", [], ["x"], {}, {"unread": 7}, [[]], [{"id": 7}], math.nan, 10**400]


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_a_value_of_a_type_that_no_summary_has_is_no_traceback(wrong):
    for key in HEALTHY.keys() - {"node"}:
        assert fleet([node(**{key: wrong}), *many(2)], NOW).counts.nodes == 3
        if isinstance(HEALTHY[key], dict):
            for name in HEALTHY[key]:
                assert fleet([node(**{key: {**HEALTHY[key], name: wrong}}), *many(2)], NOW).counts.nodes == 3
    for name in HEALTHY["fabric"]["inputs"]:
        assert fleet([node(inputs={name: wrong}), *many(2, **of_class("1-other"))], NOW).counts.nodes == 3
