"""One term by a clock of the test: what is reported once, what is tried again and when, and what a turn costs."""

import contextlib
import itertools
import random
import time

import pytest

from hostagent.controller.counts import Counts
from hostagent.controller.limits import parse_limit
from hostagent.controller.node import NOT_READY
from hostagent.controller.rules import NONE, parse_rules
from hostagent.controller.settings import Settings
from hostagent.controller.term import Term, Tools
from hostagent.controller.watching import ListMark, NewRules, NodeChange, Prober
from hostagent.controller.writer import Live
from hostagent.kube.api import ApiError
from hostagent.outputs.log import Log
from tests.fakecluster import GPU, NODES, PREFIX, Cluster, made_node, metadata_of

SELECTOR = f"{GPU}=true"


class Server(Cluster):
    """Keeps the names of the nodes that were read, and each write of an Event."""

    def __init__(self):
        super().__init__()
        self.reads, self.written = [], []

    def get(self, path, **form):
        self.reads.append(path.removeprefix(f"{NODES}/"))
        return super().get(path, **form)

    def patch(self, path, body, kind, **more):
        if not path.startswith(NODES):
            self.written.append((body["count"], body["message"]))
        return super().patch(path, body, kind, **more)

    def create(self, path, body, **more):
        self.written.append((body["count"], body["message"]))
        return super().create(path, body, **more)


class Stepped(Term):
    """One turn at a time, without a wait."""

    def _turn(self):
        """With the request of the thread that probes."""
        prober = Prober(self._api, self._queue, self._contact)
        with contextlib.suppress(ApiError):
            prober._once()
        super()._turn()

    def _receive(self, wait_s):
        super()._receive(0.0)


class Scene:
    """A term that begins with `nodes` nodes, which are ready. ``is_deaf``: the watch is behind."""

    def __init__(self, nodes, *, max_silent="2", max_tainted="2", stale_after_s=900.0, taints="on", clock=None):
        limits = {"max_silent": parse_limit(max_silent), "max_tainted": parse_limit(max_tainted)}
        settings = Settings(
            prefix=PREFIX, selectors=(SELECTOR,), stale_after_s=stale_after_s, taints=taints, is_multi_node=False, is_dry_run=False,
            is_elected=False, namespace="ns", **limits,
        )  # fmt: skip
        self.now, self.lines, self.counts, self.relists, self.is_deaf = 1000.0, [], Counts(), [], False
        self.server, self.beats = Server(), itertools.count()
        for number in range(nodes):
            self.server.put(made_node(f"n{number}", f"u{number}"))
            self.write(f"n{number}", "true")
        tools = Tools(self.api, lambda api: Live(api, lambda: True), lambda: True, Log("text", self.lines.append), self.counts)
        self.term = Stepped(settings, tools, clock or (lambda: self.now))
        self.term._watchers = [self]
        if taints == "on":
            self.term._fleet.own(NONE)
        self.term._dispatch(ListMark(SELECTOR, is_over=False))
        for node in self.server.nodes.values():
            self.term._dispatch(NodeChange(SELECTOR, metadata_of(node), is_gone=False))
        self.term._dispatch(ListMark(SELECTOR, is_over=True))
        self.server.emit = self.emit

    def api(self, answered):
        self.server.answered = answered
        return self.server

    def emit(self, item, is_gone):
        if not self.is_deaf:
            self.term._queue.put(NodeChange(SELECTOR, item, is_gone))

    def relist(self):
        self.relists.append(self.now)

    def write(self, name, ready):
        """Of an agent."""
        beat = str(next(self.beats))

        def act(node):
            node["metadata"]["labels"][f"{PREFIX}/ready"] = ready
            node["metadata"]["annotations"].update({f"{PREFIX}/summary": "{}", f"{PREFIX}/heartbeat": beat})

        self.server.change(name, act)

    def write_all(self, ready):
        for name in list(self.server.nodes):
            self.write(name, ready)

    def turns(self, seconds, step=1.0):
        for _ in range(round(seconds / step)):
            self.now += step
            self.term._turn()

    def tainted(self):
        return [name for name, node in self.server.nodes.items() if any(one["key"] == NOT_READY for one in node["spec"]["taints"])]

    def logged(self, text):
        return [line for line in self.lines if text in line]


def refuse(_):
    raise ApiError("the API server answers 403: no", 403)


def test_a_node_that_cannot_be_written_to_is_reported_once_until_a_write_succeeds():
    scene = Scene(1)
    scene.server.before_patch = refuse
    scene.write("n0", "false")
    scene.turns(30)
    assert len(scene.logged("node n0 is not written to: the API server answers 403: no")) == len(scene.logged("403")) == 1
    scene.server.before_patch = lambda _: None
    scene.turns(61)
    assert scene.tainted() == ["n0"]
    scene.server.before_patch = refuse
    scene.write("n0", "true")
    scene.turns(30)
    assert len(scene.logged("node n0 is not written to")) == 2


@pytest.mark.parametrize("write", ["a taint", "a closing"])
def test_a_node_is_tried_again_after_pauses_of_a_minute_at_most(write):
    scene = Scene(1, stale_after_s=9e9 if write == "a taint" else 20.0)
    tries = []

    def refuse_slowly(name):
        tries.append(scene.now)
        scene.now += 0.3
        refuse(name)

    scene.turns(2)
    scene.server.before_patch = refuse_slowly
    if write == "a taint":
        scene.write("n0", "false")
    scene.turns(400, 0.25)
    pauses = [after - before for before, after in itertools.pairwise(tries)]
    assert all(least < pause < least + 2 for pause, least in zip(pauses, (1, 2, 4, 8, 16, 32, 60, 60), strict=False)), pauses
    assert len(pauses) >= 8
    assert len(scene.logged("node n0 is not written to")) == 1
    scene.server.before_patch = lambda _: None
    scene.turns(70)
    assert scene.tainted() == ["n0"]
    assert not scene.term._retries._retries["n0"].failures


def test_a_server_that_is_away_is_asked_for_one_node_a_second():
    scene = Scene(9)
    scene.turns(2)
    scene.write_all("false")
    scene.server.is_down = True
    before = len(scene.server.reads)
    scene.turns(10, 0.25)
    assert 8 <= len(scene.server.reads) - before <= 11
    scene.server.is_down = False
    scene.turns(10)
    assert len(scene.tainted()) == 2


TAINTED = "not tainted although it is not ready: 2 of 4 nodes are tainted or silent, the maximum (--max-tainted)"
SILENT = "stays open although its agent is silent: 2 nodes are already closed for silence, the maximum (--max-silent)"
NO_AGENT = "not tainted although it has no verdict: fewer than half of the selected nodes have one"


@pytest.mark.parametrize(
    ("limit", "reason", "text"), [("tainted", "TaintLimit", TAINTED), ("silent", "SilentLimit", SILENT), ("no-agent", "NoAgent", NO_AGENT)]
)
def test_a_limit_is_reported_when_it_is_reached_and_after_each_ten_minutes(limit, reason, text):
    scene = Scene(4, stale_after_s=60.0 if limit == "silent" else 9e9, taints="off" if limit == "silent" else "on")
    if limit == "tainted":
        scene.write_all("false")
    elif limit == "no-agent":
        for number in range(3):
            scene.server.remove(f"n{number}")
            scene.server.put(made_node(f"n{number}", f"new{number}"))

    def written():
        return [(count, message) for count, message in scene.server.written if text in message]

    scene.turns(70)
    assert {"tainted": scene.tainted() == ["n0", "n1"], "no-agent": scene.tainted() == []}.get(limit, True)
    name = "n0" if limit == "no-agent" else "n2"
    assert written() == [(1, f"{name}: {text}")]
    assert reason in [one["reason"] for one in scene.server.events]
    assert len(scene.logged("event=limit")) == len(scene.logged(f'limit={limit} node={name} message="{text}"')) == 1
    scene.turns(500)
    assert len(written()) == 1
    scene.turns(100)
    assert [count for count, _ in written()] == [1, 2]
    assert len(scene.logged("event=limit")) == 2
    scene.write_all("true")
    scene.turns(30)
    assert scene.counts.stopped[limit] == ""
    if limit == "tainted":
        scene.turns(60)
        scene.write_all("false")
        scene.turns(30)
        assert [count for count, _ in written()] == [1, 2, 3], "it is reached anew"
        assert len(scene.logged("event=limit")) == 3


def test_a_limit_that_is_reached_again_and_again_is_reported_once_a_minute():
    scene = Scene(4, stale_after_s=9e9)
    for _ in range(60):
        for ready in ("false", "true"):
            scene.write_all(ready)
            scene.turns(5)
    assert 2 < len(scene.server.written) <= 11
    assert len(scene.logged("event=limit")) == len(scene.server.written)


def test_a_taint_of_our_key_with_another_effect_is_reported_once():
    scene = Scene(0, stale_after_s=9e9)
    scene.server.put(made_node("odd", "u", taints=[{"key": NOT_READY, "effect": "NoExecute"}]))
    scene.write("odd", "true")
    scene.turns(5)
    text = f"taint {NOT_READY} with effect NoExecute was not set by hostagent and is kept"
    assert scene.server.written == [(1, text)]
    reads = scene.server.full_reads
    scene.turns(2000, 10)
    assert scene.server.full_reads >= reads + 3
    assert scene.server.written == [(1, text)]


def test_a_watch_that_is_behind_is_listed_anew_at_most_once_a_minute():
    scene = Scene(3, stale_after_s=20.0)
    scene.turns(2)
    scene.is_deaf = True
    for _ in range(130):
        scene.write_all("true")
        scene.turns(1)
    assert len(scene.relists) == 2, "three nodes, and six times of 20 seconds"
    assert scene.relists[1] - scene.relists[0] >= 60
    assert scene.counts.closings == {}


def test_rules_that_are_as_before_change_nothing():
    rule = {"metadata": {"name": "r"}, "spec": {"taint": {"key": NOT_READY, "effect": "NoSchedule"}, "enforcementMode": "continuous"}}
    scene = Scene(2, taints="auto")
    unreadable, ruled = NewRules(None, "rules cannot be read"), NewRules(parse_rules([rule]), "")
    for message, reads in ((ruled, 1), (unreadable, 0), (ruled, 0), (unreadable, 0), (NewRules(NONE, ""), 1)):
        before = scene.server.full_reads
        for _ in range(5):
            scene.term._queue.put(message)
            scene.turns(10, 5)
        assert scene.server.full_reads == before + reads, "all nodes are read once for each change"
    assert len(scene.logged("rules cannot be read")) == 2


def test_thousands_of_nodes_that_wait_make_a_turn_no_dearer():
    """They are looked through in a small part of the time, however many events come."""
    scene = Scene(3000, clock=time.monotonic)
    for name in list(scene.server.nodes):
        scene.write(name, "false")
        scene.term._receive(0.0)
    while not scene.counts.is_settled or not scene.counts.stopped["tainted"]:
        scene.term._turn()
    asking = scene.term._fleet._asking
    assert len(asking) == 2998
    began = time.process_time()
    for _ in range(20):
        sorted(asking.values())
    floor_s = (time.process_time() - began) / 20
    began = time.process_time()
    for _ in range(400):
        scene.term._queue.put(NodeChange(SELECTOR, metadata_of(scene.server.nodes["n7"]), is_gone=False))
        scene.term._turn()
    assert time.process_time() - began < 1000 * floor_s


def unselected(node):
    for name in list(node["metadata"]["labels"]):
        del node["metadata"]["labels"][name]


def gone(scene, name):
    scene.server.remove(name)


def anew(scene, name):
    scene.server.remove(name)
    scene.server.put(made_node(name, "new"))


def left(scene, name):
    item = scene.server.nodes[name]
    unselected(item)
    scene.term._queue.put(NodeChange(SELECTOR, metadata_of(item), is_gone=True))


@pytest.mark.parametrize(("change", "uid"), [(gone, ""), (left, ""), (anew, "new")])
def test_a_full_read_brings_nothing_back(change, uid):
    """Its pages are as of its beginning: what they have of a node may be over."""
    scene = Scene(150, stale_after_s=9e9)
    scene.turns(1)
    change(scene, "n99")
    scene.turns(5)
    assert scene.counts.is_settled
    known = scene.term._fleet.nodes.get("n99")
    assert (known.uid if known else "") == uid


def conflicting(scene, names):
    def write(name):
        if name in names:
            scene.server.change(name, lambda node: node["metadata"]["annotations"].update({"other": str(next(scene.beats))}))

    scene.server.before_patch = write


def test_nodes_that_change_all_the_time_keep_no_other_node_waiting():
    scene = Scene(40, stale_after_s=9e9, max_tainted="30")
    scene.turns(3)
    conflicting(scene, [f"n{number}" for number in range(25)])
    for number in range(26):
        scene.write(f"n{number}", "false")
    scene.turns(5)
    assert scene.tainted() == ["n25"]
    before = len(scene.server.reads)
    scene.turns(300)
    assert len(scene.server.reads) - before < 25 * 8 * (300 / 60 + 8)
    assert len(scene.logged("it changes all the time")) == 25


def test_many_silent_nodes_are_closed_a_few_a_turn():
    scene = Scene(90, stale_after_s=60.0, max_silent="90", taints="off")
    scene.turns(65, 5)
    scene.term._turn()
    first = scene.counts.closings["close"]
    scene.term._turn()
    assert 0 < scene.counts.closings["close"] - first <= 20
    scene.turns(10)
    assert scene.counts.closings["close"] == 90


def test_a_server_that_asks_to_wait_for_an_hour_is_asked_after_a_minute():
    scene = Scene(1, stale_after_s=9e9)
    scene.turns(3)

    def busy(_):
        raise ApiError("busy", 429, retry_after_s=3600.0)

    scene.server.before_patch = busy
    scene.write("n0", "false")
    scene.turns(2)
    scene.server.before_patch = lambda _: None
    scene.turns(62)
    assert scene.tainted() == ["n0"]


def test_a_node_made_anew_does_not_wait_for_its_predecessor():
    scene = Scene(1, stale_after_s=9e9)
    scene.turns(3)
    scene.server.before_patch = refuse
    scene.write("n0", "false")
    scene.turns(200)
    scene.server.before_patch = lambda _: None
    anew(scene, "n0")
    scene.write("n0", "false")
    scene.turns(3)
    assert scene.tainted() == ["n0"]


def test_an_agent_that_changes_its_mind_all_the_time_is_followed_once_a_second():
    scene = Scene(1, stale_after_s=9e9)
    scene.turns(3)
    before = len(scene.server.patches)
    draw = random.Random(1)
    for _ in range(400):
        scene.write("n0", draw.choice(("true", "false")))
        scene.turns(0.05, 0.05)
    assert 5 <= len(scene.server.patches) - before <= 21


def test_a_restored_server_has_older_versions():
    scene = Scene(2, stale_after_s=9e9)
    scene.turns(3)
    scene.server.version = 3
    for name in scene.server.nodes:
        scene.server.nodes[name]["metadata"]["resourceVersion"] = "2"
    scene.write("n0", "false")
    for message in (ListMark(SELECTOR, is_over=False, is_restart=True), ListMark(SELECTOR, is_over=True)):
        if message.is_over:
            for node in scene.server.nodes.values():
                scene.term._queue.put(NodeChange(SELECTOR, metadata_of(node), is_gone=False))
        scene.term._queue.put(message)
    scene.turns(3)
    assert scene.tainted() == ["n0"]


def test_an_agent_that_returned_while_no_controller_ran_is_open_again():
    """Its label is unknown still; its conditions are its own."""
    scene = Scene(0, stale_after_s=9e9)
    scene.server.put(made_node("n0", "u", labels={f"{PREFIX}/ready": "unknown"}))

    def act(node):
        node["metadata"]["annotations"].update({f"{PREFIX}/summary": "{}", f"{PREFIX}/heartbeat": "1", f"{PREFIX}/closed": "silent"})
        node["status"]["conditions"].append({"type": f"{PREFIX}/Ready", "status": "Unknown", "reason": "CouldNotRead"})

    scene.server.change("n0", act)
    scene.turns(5)
    assert f"{PREFIX}/closed" not in scene.server.nodes["n0"]["metadata"]["annotations"]


def test_a_node_that_changed_while_rules_could_not_be_read_is_not_a_rules_for_want_of_its_labels():
    selector = {"matchExpressions": [{"key": "canary", "operator": "DoesNotExist"}]}
    spec = {"taint": {"key": NOT_READY, "effect": "NoSchedule"}, "enforcementMode": "continuous", "nodeSelector": selector}
    ruled = NewRules(parse_rules([{"metadata": {"name": "r"}, "spec": spec}]), "")
    scene = Scene(1, taints="auto", stale_after_s=9e9)
    scene.server.change("n0", lambda node: node["metadata"]["labels"].update({"canary": "yes"}))
    for message in (ruled, NewRules(None, "rules cannot be read")):
        scene.term._queue.put(message)
        scene.turns(5)
    scene.write("n0", "false")
    scene.turns(5)
    assert scene.tainted() == []
    scene.term._queue.put(ruled)
    scene.turns(5)
    assert scene.tainted() == ["n0"]
