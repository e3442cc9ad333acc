"""What carries out the controller's decisions: live, only while it may write; in a dry run, only as if."""

import copy

import pytest

from hostagent.controller.node import MULTI_NODE, NOT_READY, parse_whole
from hostagent.controller.writer import Dry, Live, Notice, NotLeader
from hostagent.controller.writing import Moment, Wish, change, closing
from hostagent.kube.api import ApiError
from tests.fakecluster import PREFIX, made_node

EVENTS = "/api/v1/namespaces/default/events"
NOTICE = Notice("n/1", "AgentSilent", "silent since noon", "silent u1")
MARK, CLOSED, WHY, BEAT = (f"{PREFIX}/{name}" for name in ("tainted", "closed", "why", "heartbeat"))


class Requests:
    """Keeps what was asked; `refusals` are raised, the first first."""

    def __init__(self, *refusals):
        self.asked, self.refusals = [], list(refusals)

    def patch(self, path, body, kind, *, may_send):
        self._ask("PATCH", path, body, kind, may_send)
        return {"metadata": {"name": "patched"}}

    def create(self, path, body, *, may_send):
        self._ask("POST", path, body, "", may_send)
        return body

    def _ask(self, method, path, body, kind, may_send):
        if not may_send():
            raise ApiError("the request was not sent")
        self.asked.append((method, path, body, kind))
        if self.refusals and (refusal := self.refusals.pop(0)):
            raise refusal


def test_live_sends_nothing_without_the_lease():
    api, may = Requests(), [False]
    live = Live(api, lambda: may[0])
    for call in (lambda: live.patch(made_node("n", "u"), {}, "node"), lambda: live.notice(NOTICE, 0.0)):
        with pytest.raises(NotLeader):
            call()
    assert api.asked == []
    may[0] = True
    live.notice(NOTICE, 0.0)
    assert len(api.asked) == 1, "it is asked anew each time"


def test_a_node_is_patched_in_the_form_of_its_part():
    api = Requests()
    live = Live(api, lambda: True)
    assert live.patch({"metadata": {"name": "a/b"}}, {"x": 1}, "node") == {"metadata": {"name": "patched"}}
    live.patch({"metadata": {"name": "n"}}, {"x": 2}, "status")
    assert api.asked == [
        ("PATCH", "/api/v1/nodes/a%2Fb", {"x": 1}, "merge"),
        ("PATCH", "/api/v1/nodes/n/status", {"x": 2}, "strategic"),
    ]


def test_an_event_is_made_and_counts_on():
    api = Requests()
    live = Live(api, lambda: True)
    for now in (0.0, 60.0, 120.0):
        live.notice(NOTICE, now)
    (made, path, event, _), *more = api.asked
    assert (made, path, event["metadata"]["namespace"]) == ("POST", EVENTS, "default")
    assert event["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "n/1", "uid": "n/1"}
    assert (event["reason"], event["message"], event["count"]) == ("AgentSilent", "silent since noon", 1)
    assert event["source"] == {"component": "hostagent-controller"}
    assert [(method, path) for method, path, *_ in more] == [("PATCH", f"{EVENTS}/{event['metadata']['name']}")] * 2
    assert [(body["count"], body["lastTimestamp"]) for _, _, body, _ in more] == [(2, "1970-01-01T00:01:00Z"), (3, "1970-01-01T00:02:00Z")]


def test_another_key_is_another_event():
    api = Requests()
    live = Live(api, lambda: True)
    live.notice(NOTICE, 0.0)
    live.notice(NOTICE._replace(key="silent u2"), 0.0)
    assert [method for method, *_ in api.asked] == ["POST", "POST"]
    assert api.asked[0][2]["metadata"]["name"] != api.asked[1][2]["metadata"]["name"]


def test_an_event_that_the_server_has_forgotten_is_made_anew():
    api = Requests(None, ApiError("gone", 404))
    live = Live(api, lambda: True)
    for now in (0.0, 60.0, 120.0):
        live.notice(NOTICE, now)
    assert [(method, body["count"]) for method, _, body, _ in api.asked] == [("POST", 1), ("PATCH", 2), ("POST", 1), ("PATCH", 2)]
    assert api.asked[2][2]["metadata"]["name"] != api.asked[0][2]["metadata"]["name"]


def test_the_newest_thousand_events_are_counted_on():
    api = Requests()
    live = Live(api, lambda: True)
    for number in (*range(1001), 1, 0):
        live.notice(NOTICE._replace(key=str(number)), 0.0)
    assert [method for method, *_ in api.asked] == ["POST"] * 1001 + ["PATCH", "POST"]


@pytest.mark.parametrize("code", [0, 403, 500])
def test_an_event_that_is_refused_is_an_error_and_tried_again(code):
    api = Requests(ApiError("no", code))
    live = Live(api, lambda: True)
    with pytest.raises(ApiError, match="no"):
        live.notice(NOTICE, 0.0)
    live.notice(NOTICE, 60.0)
    assert [(method, body["count"]) for method, _, body, _ in api.asked] == [("POST", 1), ("POST", 1)]


def test_an_event_that_is_there_already_counts_on():
    """Its first request was answered, and the answer was lost."""
    api = Requests(ApiError("exists", 409))
    live = Live(api, lambda: True)
    live.notice(NOTICE, 0.0)
    live.notice(NOTICE, 60.0)
    assert [(method, body["count"]) for method, _, body, _ in api.asked] == [("POST", 1), ("PATCH", 2)]


# -- a dry run

AT = Moment(PREFIX, 1.8e9)


def node(*, taints=(), beat="b1", ready="true", **marks):
    item = made_node("n", "u", labels={f"{PREFIX}/ready": ready, f"{PREFIX}/multi-node-ready": ready}, taints=taints)
    item["metadata"]["resourceVersion"] = "1"
    item["metadata"]["annotations"] |= {f"{PREFIX}/summary": "{}", BEAT: beat} | {f"{PREFIX}/{name}": one for name, one in marks.items()}
    return item


def wished(item, *wanted):
    wish = Wish(frozenset(wanted), frozenset((NOT_READY, MULTI_NODE)), frozenset(), may_taint=True, has_returned=False)
    return change(parse_whole(item, PREFIX, ()), wish, AT).body


def seen(item):
    whole = parse_whole(item, PREFIX, ())
    return whole.node.ready, whole.node.tainted, whole.node.is_closed, [one["key"] for one in whole.taints]


def test_dry_a_taint_is_seen_as_it_would_be():
    dry, item = Dry(PREFIX), node(ready="false")
    before = copy.deepcopy(item)
    after = dry.patch(item, wished(item, NOT_READY), "node")
    assert item == before
    assert seen(after) == seen(dry.view(item)) == ("false", (NOT_READY,), False, [NOT_READY])
    assert item["metadata"]["annotations"].keys() == before["metadata"]["annotations"].keys()
    dry.patch(dry.view(item), wished(dry.view(item)), "node")
    assert seen(dry.view(item)) == ("false", (), False, [])


def test_dry_metadata_alone_gets_no_spec():
    dry, item = Dry(PREFIX), node(ready="false")
    dry.patch(item, wished(item, NOT_READY), "node")
    slim = {"metadata": item["metadata"]}
    assert dry.view(slim).keys() == {"metadata"}
    assert seen(dry.view(slim))[1] == (NOT_READY,)


def test_dry_a_closed_node_is_unknown_until_its_agent_writes():
    dry, item = Dry(PREFIX), node()
    dry.patch(item, closing(parse_whole(item, PREFIX, ()), AT, 900), "status")
    assert seen(dry.view(item))[::2] == ("unknown", True)
    dry.patch(dry.view(item), wished(dry.view(item), NOT_READY), "node")
    assert seen(dry.view(item)) == ("unknown", (NOT_READY,), True, [NOT_READY])
    assert seen(dry.view(node(beat="b2")))[0] == "true", "of the agent's write on, its own label counts"


def test_dry_another_node_of_the_name_is_as_it_is():
    dry, item = Dry(PREFIX), node()
    dry.patch(item, closing(parse_whole(item, PREFIX, ()), AT, 900), "status")
    anew = node(ready="false")
    anew["metadata"]["uid"] = "u2"
    assert dry.view(anew) == anew
    dry.patch(anew, wished(anew, MULTI_NODE), "node")
    assert seen(dry.view(anew)) == ("false", (MULTI_NODE,), False, [MULTI_NODE])


def test_dry_a_taint_that_a_live_controller_set_and_somebody_took_off_is_seen_again():
    """That change has no annotation."""
    item = node(ready="false", tainted=NOT_READY, why="not ready since noon")
    body = wished(item, NOT_READY)
    assert body["metadata"]["annotations"] == {}
    dry = Dry(PREFIX)
    dry.patch(item, body, "node")
    assert seen(dry.view(item)) == ("false", (NOT_READY,), False, [NOT_READY])


def test_dry_no_event_is_made():
    assert Dry(PREFIX).notice(NOTICE, 0.0) is None
