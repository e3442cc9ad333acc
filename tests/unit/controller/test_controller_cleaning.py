"""What `hostagent kubernetes` reads of a node: what hostagent has left there, and why it is closed. No server."""

import copy

import pytest

from hostagent.controller.cleaning import heartbeat, leftovers, status_patch, taints_patch
from hostagent.controller.node import KEYS, MULTI_NODE, NOT_READY, parse_whole
from hostagent.controller.reasons import render_why
from hostagent.core.errors import HostagentError
from tests.fakecluster import PREFIX, made_node

OURS = {"key": NOT_READY, "effect": "NoSchedule", "value": "x"}
OTHERS = [
    {"key": NOT_READY, "effect": "NoExecute"},
    {"key": "x", "effect": "NoSchedule"},
    {"key": MULTI_NODE, "effect": "PreferNoSchedule"},
]
#: Names that look like ours.
FOREIGN = (
    "hostagent.dev",
    "hostagent.devil/ready",
    "x.hostagent.dev/ready",
    "hostagent.de/ready",
    "HOSTAGENT.DEV/ready",
    "a/hostagent.dev/ready",
)


def condition(kind, status="True", reason="Judged", message="all is well"):
    return {"type": kind, "status": status, "reason": reason, "message": message}


@pytest.fixture
def node():
    item = made_node("n", "u", labels={f"{PREFIX}/ready": "false", **dict.fromkeys(FOREIGN, "1")}, taints=[OURS, *OTHERS])
    item["metadata"]["resourceVersion"] = "7"
    item["metadata"]["annotations"] |= {f"{PREFIX}/heartbeat": "h", f"{PREFIX}/tainted": NOT_READY, **dict.fromkeys(FOREIGN, "1")}
    item["status"]["conditions"] += [condition(f"{PREFIX}/Ready"), *map(condition, FOREIGN)]
    return item


def test_leftovers_are_names_below_exactly_the_prefix(node):
    found = leftovers(node, PREFIX, with_taints=True)
    assert found == ((f"{PREFIX}/ready",), (f"{PREFIX}/heartbeat", f"{PREFIX}/tainted"), (f"{PREFIX}/Ready",), (NOT_READY,))
    assert str(found) == "1 label, 2 annotations, 1 condition, 1 taint"
    assert leftovers(node, PREFIX, with_taints=False).taints == ()
    assert leftovers(node, "other.example", with_taints=False) == ((), (), (), ())
    nothing = leftovers(made_node("n", "u", taints=OTHERS), PREFIX, with_taints=True)
    assert (bool(nothing), str(nothing)) == (False, "nothing")


def test_the_patches_name_what_was_found_alone(node):
    found = leftovers(node, PREFIX, with_taints=True)
    identity = {"uid": "u", "resourceVersion": "7"}
    annotations = {f"{PREFIX}/heartbeat": None, f"{PREFIX}/tainted": None}
    assert status_patch(node, found) == {
        "metadata": {**identity, "labels": {f"{PREFIX}/ready": None}, "annotations": annotations},
        "status": {"conditions": [{"$patch": "delete", "type": f"{PREFIX}/Ready"}]},
    }
    newest = {"metadata": {**node["metadata"], "resourceVersion": "8"}}
    body = taints_patch(newest, parse_whole(node, PREFIX, ()), found)
    assert body == {"metadata": {**identity, "resourceVersion": "8"}, "spec": {"taints": OTHERS}}


def test_a_patch_without_conditions_touches_no_status(node):
    node["status"]["conditions"] = []
    assert status_patch(node, leftovers(node, PREFIX, with_taints=False))["status"] == {}


def test_the_heartbeat_of_a_node(node):
    assert heartbeat(node, PREFIX) == "h"
    assert heartbeat(made_node("n", "u"), PREFIX) == heartbeat({}, PREFIX) == ""


JUNK = (None, 7, "x", [], [None, 7], {}, {"a": {}})
PLACES = (("metadata", "labels"), ("metadata", "annotations"), ("spec",), ("spec", "taints"), ("status",), ("status", "conditions"))


@pytest.mark.parametrize("place", PLACES)
def test_an_odd_node_has_less_and_is_no_error(node, place):
    for junk in JUNK:
        odd = copy.deepcopy(node)
        part = odd
        for name in place[:-1]:
            part = part[name]
        part[place[-1]] = junk
        found = leftovers(odd, PREFIX, with_taints=True)
        status_patch(odd, found)
        taints_patch(odd, parse_whole(odd, PREFIX, ()), found)
        heartbeat(odd, PREFIX)
        assert render_why(odd, PREFIX)[0].startswith("n is ")


# -- why


def why(item):
    text, is_open = render_why(item, PREFIX)
    assert text.endswith("\n")
    return is_open, text.splitlines()


def set_up(*, ready="", conditions=(), taints=(), **annotations):
    item = made_node("gpu-7", "u", labels={f"{PREFIX}/ready": ready} if ready else {}, taints=taints)
    item["metadata"]["annotations"] |= {f"{PREFIX}/{name}": one for name, one in annotations.items()}
    item["status"]["conditions"] += conditions
    return item


def test_why_of_an_open_node():
    is_open, lines = why(set_up(ready="true", summary='{"headline": "all is well"}', heartbeat="2026-01-01T00:00:00Z"))
    assert is_open
    assert lines == [
        "gpu-7 is open",
        "  label      ready=true",
        "  heartbeat  2026-01-01T00:00:00Z",
        "  verdict    all is well",
    ]


def test_why_of_a_closed_node_is_the_reason_of_the_controller_and_the_words_of_the_agent():
    conditions = [condition(f"{PREFIX}/Ready", "False", "GpuXid", "Xid 79"), condition(f"{PREFIX}/MultiNodeReady")]
    item = set_up(
        ready="false", conditions=conditions, taints=[OURS], summary="{}", why="closed since noon: Ready is False", tainted=NOT_READY
    )
    is_open, lines = why(item)
    assert not is_open
    assert lines == [
        "gpu-7 is closed since noon: Ready is False",
        f"  taint      {NOT_READY}:NoSchedule",
        "  label      ready=false",
        "  heartbeat  none",
        "  Ready is False (GpuXid): Xid 79",
    ]


@pytest.mark.parametrize(
    ("item", "is_open"),
    [
        (set_up(), True),
        (set_up(taints=[OURS]), False),
        (set_up(taints=OTHERS), True),
        (set_up(ready="true", taints=[{**OURS, "key": KEYS[1]}]), False),
        (set_up(ready="unknown"), False),
        (set_up(ready="false"), False),
        (set_up(summary="{}"), False),
        (set_up(conditions=[condition(f"{PREFIX}/Ready", "Unknown", "FirstPass")]), False),
    ],
)
def test_a_node_is_closed_by_a_taint_of_ours_or_a_verdict_that_is_not_true(item, is_open):
    assert why(item)[0] == is_open


def test_a_taint_that_the_controller_has_not_set_is_named_as_such():
    lines = why(set_up(taints=[OURS]))[1]
    assert lines[1:] == [
        f"  taint      {NOT_READY}:NoSchedule (without a mark of the controller)",
        "  agent      has not written to this node",
    ]


def test_a_node_that_is_not_ready_and_has_no_taint_is_not_called_closed():
    is_ready, lines = why(set_up(ready="false", summary="{}"))
    assert (is_ready, lines[0]) == (False, "gpu-7 is not ready, and has no taint of hostagent: pods may still be scheduled on it")


def test_a_taint_that_a_rule_owns_is_not_explained_by_the_mark_of_the_other_one():
    both = [OURS, {**OURS, "key": KEYS[1]}]
    assert (
        why(set_up(ready="false", taints=both, tainted=KEYS[1], why="closed to jobs on several nodes since noon"))[1][0]
        == "gpu-7 is closed"
    )


def test_a_cordon_is_named():
    item = set_up(ready="true", summary="{}")
    item["spec"]["unschedulable"] = True
    assert "  cordoned   not by hostagent" in why(item)[1]


@pytest.mark.parametrize("summary", ["{", "[" * 100_000, "7", "[]", '{"headline": 7}', '{"headline": null}', ""])
def test_a_summary_that_is_none_is_no_error(summary):
    assert not why(set_up(summary=summary, ready="false"))[0]


def test_no_text_of_a_node_controls_the_terminal():
    evil = "a\x1b[2Jb\nc\u202e"
    conditions = [condition(f"{PREFIX}/Ready", evil, evil, evil)]
    text, _ = render_why(
        set_up(ready=evil, conditions=conditions, summary=f'{{"headline": "{evil[0:1]}\\u001b"}}', why=evil, heartbeat=evil), PREFIX
    )
    assert not [one for one in text.replace("\n", "") if not one.isprintable()]
    assert len(text.splitlines()) == 5


def test_what_is_no_node():
    with pytest.raises(HostagentError, match="is no node"):
        render_why({"kind": "NodeList", "metadata": {}, "items": []}, PREFIX)
