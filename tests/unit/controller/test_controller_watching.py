"""The threads that list and watch: what each answer of the server becomes in the queue. The waits between requests are recorded, not waited."""

import queue
import threading
import time

import pytest

from hostagent.controller.contact import Contact
from hostagent.controller.rules import NONE, PATH
from hostagent.controller.watching import NODES, ListMark, NewRules, NodeChange, NodeWatcher, Prober, RuleWatcher
from hostagent.kube.api import ApiError, Event, Page

SELECTOR = "gpu=true"


class Instant(threading.Event):
    """The end of a watcher, which does not make it wait."""

    def __init__(self):
        super().__init__()
        self.waits = []

    def wait(self, timeout=None):
        self.waits.append(timeout)
        return self.is_set()


class Stream:
    """A watch: its events, then an error, its end, or (None) nothing until it is closed."""

    def __init__(self, events, ending):
        self._events, self._ending, self._closed = events, ending, threading.Event()

    def __iter__(self):
        yield from self._events
        if self._ending is None:
            self._closed.wait(20)
        elif self._ending != "end":
            raise self._ending

    def close(self):
        self._closed.set()


class Server:
    """Answers with the next of a script: a list of pages, or what `Stream` is made of, or an error. Behind it a watch has no events."""

    def __init__(self, *script):
        self.script, self.asked, self.is_closed, self.is_through = list(script), [], False, threading.Event()

    def pages(self, path, *, limit, selector="", form="whole"):
        self.asked.append(("list", path, limit, selector, form))
        pages = self._next("list")
        for page in pages if isinstance(pages, list) else [pages]:
            if isinstance(page, Exception):
                raise page
            yield page

    def watch(self, path, version, *, selector="", form="whole", timeout_s=300):
        self.asked.append(("watch", path, version, selector, form))
        self.timeout_s = timeout_s
        if not self.script:
            self.is_through.set()
            return Stream((), None)
        found = self._next("watch")
        if isinstance(found, Exception):
            raise found
        return Stream(*found)

    def _next(self, what):
        expected, answer = self.script.pop(0)
        assert what == expected
        return answer

    def close(self):
        self.is_closed = True


def node(name, version, **more):
    metadata = {
        "name": name,
        "uid": f"u-{name}",
        "resourceVersion": version,
        "labels": {"a": "b"},
        "annotations": {"hostagent.dev/heartbeat": "x" * 300, "example.com/c": "d"},
    }
    return {"kind": "PartialObjectMetadata", "metadata": {**metadata, "managedFields": ["much"], "ownerReferences": []}, **more}


def kept(name, version):
    """Others' annotations may be long, and so may what somebody writes into ours."""
    metadata = {key: one for key, one in node(name, version)["metadata"].items() if key not in ("managedFields", "ownerReferences")}
    return {"metadata": {**metadata, "annotations": {"hostagent.dev/heartbeat": "x" * 256}}}


def bookmark(version):
    return Event("BOOKMARK", {"metadata": {"resourceVersion": version}})


def page(version, *items):
    return Page(list(items), version)


@pytest.fixture
def run():
    """Starts a watcher; what was put and asked when the server's script is through."""
    started = []

    def through(watcher):
        watcher._is_over = Instant()
        watcher.start()
        started.append(watcher)
        assert watcher._api.is_through.wait(20)
        return messages(watcher)

    yield through
    for one in started:
        one.end()
        one.join(5)
        assert not one.is_alive()


def messages(watcher):
    found = []
    while not watcher._messages.empty():
        found.append(watcher._messages.get_nowait())
    return found


def nodes(*script):
    lines = []
    watcher = NodeWatcher(Server(*script), queue.Queue(), SELECTOR, lines.append)
    watcher.lines = lines
    return watcher


def asked(watcher):
    return [(what, version if what == "watch" else "") for what, _, version, *_ in watcher._api.asked]


BEGIN, END = ListMark(SELECTOR, is_over=False), ListMark(SELECTOR, is_over=True)


def changed(name, version, *, is_gone=False):
    return NodeChange(SELECTOR, kept(name, version), is_gone)


def test_nodes_are_listed_in_pages_then_watched_by_their_metadata(run):
    events = [Event("ADDED", node("c", "12")), Event("MODIFIED", node("a", "13")), Event("DELETED", node("b", "14"))]
    watcher = nodes(("list", [page("9", node("a", "5")), page("10", node("b", "6"))]), ("watch", (events, "end")))
    found = run(watcher)
    assert found == [
        BEGIN,
        changed("a", "5"),
        changed("b", "6"),
        END,
        changed("c", "12"),
        changed("a", "13"),
        changed("b", "14", is_gone=True),
    ]
    assert watcher._api.asked == [
        ("list", "/api/v1/nodes", 500, SELECTOR, "metadata"),
        ("watch", "/api/v1/nodes", "10", SELECTOR, "metadata"),
        ("watch", "/api/v1/nodes", "14", SELECTOR, "metadata"),
    ]
    assert 240 <= watcher._api.timeout_s < 360


def test_a_watch_goes_on_where_it_ended_also_after_a_bookmark_or_an_error(run):
    """Without a list: 10 000 nodes are not read again each 5 minutes, nor because a load balancer closes a connection."""
    watcher = nodes(
        ("list", page("10")),
        ("watch", ([bookmark("20")], "end")),
        ("watch", ([bookmark("30")], ApiError("timed out"))),
        ("watch", ApiError("overloaded", 503)),
        ("watch", ([Event("ADDED", {"metadata": {}}), Event("ADDED", {"metadata": 7})], "end")),
    )
    found = run(watcher)
    assert asked(watcher) == [("list", ""), ("watch", "10"), ("watch", "20"), ("watch", "30"), ("watch", "30"), ("watch", "30")]
    assert [one for one in found if isinstance(one, ListMark)] == [BEGIN, END]
    assert watcher._is_over.waits.count(1.0) >= 4, "a pause before each new one"


@pytest.mark.parametrize("where", ["its begin", "an event", "a page"])
def test_a_version_that_the_server_has_forgotten_is_a_new_list_after_a_pause_by_chance(run, where):
    gone, after = ApiError("too old", 410), ("list", page("40", node("a", "35")))
    before = {
        "its begin": [("list", page("10")), ("watch", gone)],
        "an event": [("list", page("10")), ("watch", ([bookmark("20")], gone))],
        "a page": [("list", [page("10"), gone])],
    }[where]
    watcher = nodes(*before, after)
    found = [one for one in run(watcher) if isinstance(one, ListMark)]
    assert found[-2:] == [ListMark(SELECTOR, is_over=False, is_lost=True, is_restart=True), END]
    assert asked(watcher)[-2:] == [("list", ""), ("watch", "40")]
    assert watcher.lines == []
    assert any(seconds not in (1.0, None) and 0 <= seconds <= 3 for seconds in watcher._is_over.waits)


def test_a_list_that_breaks_off_is_begun_anew(run):
    """What it has brought counts; that a node is not in it does not."""
    watcher = nodes(("list", [page("9", node("a", "5")), ApiError("no", 500)]), ("list", page("11", node("b", "6"))))
    assert run(watcher) == [BEGIN, changed("a", "5"), BEGIN, changed("b", "6"), END]


def test_a_failure_is_reported_and_its_end(run):
    no, other = ApiError("the API server answers 403: no", 403), ApiError("the API server answers 500", 500)
    watcher = nodes(("list", no), ("list", page("1")), ("watch", other), ("watch", ([bookmark("2")], "end")))
    run(watcher)
    refused, failed = "nodes are not watched: the API server answers 403: no", "nodes are not watched: the API server answers 500"
    assert watcher.lines == [refused, failed, ""]


def test_a_watch_that_is_always_refused_is_replaced_by_lists_with_growing_pauses(run):
    no = ApiError("no", 403, retry_after_s=0.0)
    refused = [("watch", no)] * 3
    watcher = nodes(*[one for number in range(4) for one in (("list", page(str(number + 1), node("a", str(number + 1)))), *refused)])
    watcher._api.script.append(("list", page("5")))
    found = run(watcher)
    assert [one.item["metadata"]["resourceVersion"] for one in found if isinstance(one, NodeChange)] == ["1", "2", "3", "4"]
    pauses = [wait for wait in watcher._is_over.waits if wait not in (None, 1.0)]
    assert max(pauses) == 15.0


def test_a_server_that_is_away_is_asked_each_second_and_goes_on_where_it_was(run):
    watcher = nodes(("list", page("7")), *[("watch", ApiError("not reached", 0))] * 40, ("watch", ([bookmark("9")], "end")))
    run(watcher)
    assert [one for one, _ in asked(watcher)].count("list") == 1
    assert set(watcher._is_over.waits) <= {None, 1.0}


def test_what_the_server_asks_to_wait_is_waited_for_up_to_a_minute(run):
    watcher = nodes(*(("list", ApiError("busy", 429, retry_after_s=seconds)) for seconds in (7.0, 3600.0)), ("list", page("1")))
    run(watcher)
    assert {7.0, 60.0} <= set(watcher._is_over.waits)


def test_relist_ends_the_watch_and_lists(run):
    watcher = nodes(("list", page("10", node("a", "5"))))
    run(watcher)
    watcher._api.is_through.clear()
    watcher._api.script = [("list", page("20", node("b", "15")))]
    watcher.relist()
    assert watcher._api.is_through.wait(20)
    assert messages(watcher) == [BEGIN, changed("b", "15"), END], "no change was lost"
    assert asked(watcher)[-2:] == [("list", ""), ("watch", "20")]


def test_the_end_of_a_watcher_does_not_wait_for_the_queue():
    watcher = NodeWatcher(Server(("list", page("1", *(node(str(number), "1") for number in range(9))))), queue.Queue(2), SELECTOR, print)
    watcher.start()
    while watcher._messages.qsize() < 2:
        time.sleep(0.01)
    watcher.end()
    watcher.join(5)
    assert not watcher.is_alive()
    assert watcher._api.is_closed


@pytest.mark.parametrize("kind", ["nodes", "rules"])
def test_a_bug_in_a_watcher_reaches_the_queue(kind):
    bug = TypeError("a bug")
    server = Server(("list", bug))
    watcher = NodeWatcher(server, queue.Queue(), SELECTOR, print) if kind == "nodes" else RuleWatcher(server, queue.Queue())
    watcher.start()
    watcher.join(5)
    assert messages(watcher)[-1] is bug


# -- rules


def rule(name, **spec):
    taint = {"key": "readiness.k8s.io/hostagent-not-ready", "effect": "NoSchedule"}
    return {"metadata": {"name": name}, "spec": {"taint": taint, "enforcementMode": "continuous", **spec}}


def rules(*script):
    return RuleWatcher(Server(*script), queue.Queue())


def owners(found):
    """Of each message the names of the rules, or its problem."""
    return [one.problem if one.rules is None else [rule.name for rule in one.rules.rules] for one in found if isinstance(one, NewRules)]


def test_rules_are_listed_and_each_event_changes_them(run):
    events = [Event("ADDED", rule("b")), bookmark("3"), Event("MODIFIED", rule("a", dryRun=True)), Event("DELETED", rule("b"))]
    watcher = rules(("list", [page("1", rule("a")), page("2")]), ("watch", (events, "end")), ("list", page("9", rule("c"))))
    found = run(watcher)
    assert owners(found) == [["a"], ["a", "b"], ["a", "b"], ["a"], ["c"]]
    assert [one.rules.rules[0].is_in_force for one in found] == [True, True, False, False, True]
    assert watcher._api.asked[:2] == [("list", PATH, 500, "", "whole"), ("watch", PATH, "2", "", "whole")]
    assert watcher._api.timeout_s == 30


@pytest.mark.parametrize("text", ["no such kind", "the server could not find the requested resource", ""])
def test_404_is_no_rules_whatever_it_says(run, text):
    watcher = rules(("list", ApiError(text, 404, {"reason": "Other"})), ("list", page("1")))
    assert run(watcher)[0] == NewRules(NONE, "")
    assert watcher._is_over.waits[0] == 30


@pytest.mark.parametrize(
    "error",
    [ApiError("the API server answers", code) for code in (0, 200, 400, 401, 403, 410, 429, 500, 503)],
    ids=lambda one: str(one.code),
)
def test_rules_that_cannot_be_read_are_unknown(run, error):
    """Nobody's are not the same."""
    watcher = rules(("list", error), ("list", [page("1", rule("a")), error]), ("list", page("2", rule("b"))))
    problem = "rules of node-readiness-controller cannot be read: the API server answers"
    assert owners(run(watcher)) == [problem, problem, ["b"]], "half of a list is none"


def test_a_rule_of_another_form_makes_all_unknown_until_it_is_gone(run):
    odd = {"metadata": {"name": "odd"}, "spec": {"taint": 7}}
    watcher = rules(("list", page("1", rule("a"), odd)), ("watch", ([Event("DELETED", odd)], "end")), ("list", page("2", odd)))
    first, second, third = owners(run(watcher))
    assert "found a NodeReadinessRule of another form" in first
    assert (second, third) == (["a"], first)


@pytest.mark.parametrize("code", [0, 403, 410, 503])
def test_a_watch_of_rules_that_fails_is_a_new_list(run, code):
    """The list says whether they can be read."""
    watcher = rules(("list", page("1", rule("a"))), ("watch", ApiError("no", code)), ("list", page("2", rule("b"))))
    assert owners(run(watcher)) == [["a"], ["b"]]


def test_the_probe_asks_where_nothing_else_is_answered():
    """Also while a write hangs: it is a thread of its own."""
    clock = [100.0]
    contact = Contact(lambda: clock[0])
    server = Server(("list", page("1", node("a", "1"))))
    prober = Prober(server, queue.Queue(), contact)
    contact()
    clock[0] += 4.9
    prober._once()
    assert server.asked == []
    clock[0] += 0.2
    prober._once()
    assert server.asked == [("list", NODES, 1, "", "metadata")]
