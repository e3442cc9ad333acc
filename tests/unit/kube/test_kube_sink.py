"""When the node is written, by clocks and a server that are given: nothing without a change, no storm, and no transition lost."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from hostagent.engine.report.node_status import Condition, NodeWords
from hostagent.kube.nodestatus import stamp
from hostagent.kube.pacing import ALL, Bucket, next_heartbeat
from hostagent.kube.sink import Pace, Reply, Sink

PREFIX = "hostagent.dev"
PACE = Pace(PREFIX, 300.0, lambda: 0.5)
DAY = 1_700_000_000.0


def words(status="True", reason="Ready", labels=None):
    return NodeWords(
        (Condition("Ready", status, reason, "m", DAY),), (), {"ready": "true"} if labels is None else labels, {"summary": "{}"}
    )


class Server:
    """Answers as it is told, and keeps what was written. A node that is `labelled` has our label already."""

    def __init__(self, *problems, labelled=False):
        self.problems, self.labels, self.bodies = list(problems), {f"{PREFIX}/ready": "true"} if labelled else {}, []
        self.uid, self.overrides = "uid", {}

    def patch_node_status(self, name, body):
        problem = self.problems.pop(0) if self.problems else ""
        if problem:
            return Reply("", {}, problem, 60.0 if "429" in problem else 0.0)
        self.bodies.append(body)
        self.labels |= body["metadata"].get("labels", {})
        return Reply(self.uid, {**self.labels, **self.overrides})

    @property
    def status(self):
        return self.bodies[-1]["status"]["conditions"][0]["status"]


def run(sink, until, now=0.0):
    """Let time pass: the moments at which it wrote."""
    moments = []
    while now <= until:
        left = sink.due(now)
        if left > 0:
            now += min(left, until + 1 - now) or 0.001
            continue
        sink.write(now, DAY + now)
        moments.append(now)
    return moments


def sink_of(server):
    return Sink(server, "n1", PACE, 0.0)


def test_nothing_is_written_before_there_is_something_to_say():
    assert run(sink_of(server := Server()), 1000) == []
    assert server.bodies == []


def test_one_change_is_one_write_and_then_only_heartbeats_come():
    sink = sink_of(server := Server())
    sink.offer(words(), DAY)
    moments = run(sink, 3000)
    assert moments[0] == 0
    apart = [after - before for before, after in itertools.pairwise(moments[1:])]
    assert 8 <= len(moments) <= 12
    assert all(180 <= one <= 420 for one in apart)
    assert all(body["metadata"]["annotations"][f"{PREFIX}/heartbeat"] for body in server.bodies)


def test_words_that_change_again_and_again_without_a_status_are_few_and_a_status_does_not_wait_for_them():
    """A host with now one of two faults and now the other, for half an hour; then it is mended."""
    sink, moments = sink_of(server := Server()), []
    for now in range(0, 1800, 5):
        sink.offer(words("False", ("GpuXid", "GpuLost")[now // 5 % 2]), DAY)
        moments += run(sink, now + 4.9, now)
    assert moments[:3] == [0, 5, 10]
    assert len(moments) <= 3 + 1800 / 60
    sink.offer(words("True"), DAY)
    assert run(sink, 1800 + 10, 1800)[0] < 1810
    assert server.status == "True"


def test_the_same_words_again_are_no_change():
    sink = sink_of(server := Server())
    sink.offer(words(), DAY)
    run(sink, 1)
    sink.offer(words(), DAY)
    assert run(sink, 30, 2.0) == []
    assert len(server.bodies) == 1


def test_a_heartbeat_is_the_time_of_the_last_judged_pass_whenever_it_is_written():
    sink = sink_of(server := Server())
    sink.offer(words("Unknown", "FirstPass"), 0.0)
    run(sink, 1)
    assert f"{PREFIX}/heartbeat" not in server.bodies[0]["metadata"]["annotations"], "none was judged: that of the boot before stays"
    sink.offer(words(), DAY)
    run(sink, 1000, 2.0)
    assert len(server.bodies) > 3
    assert {body["metadata"]["annotations"][f"{PREFIX}/heartbeat"] for body in server.bodies[1:]} == {stamp(DAY)}
    assert {one["lastHeartbeatTime"] for body in server.bodies for one in body["status"]["conditions"]} == {stamp(DAY)}
    sink.offer(words(), DAY + 60)
    run(sink, 1500, 1001.0)
    assert server.bodies[-1]["metadata"]["annotations"][f"{PREFIX}/heartbeat"] == stamp(DAY + 60)


def test_what_is_last_is_written_until_it_is_answered_and_then_nothing_is():
    sink = sink_of(server := Server())
    sink.offer(words(), DAY)
    run(sink, 1)
    server.problems = ["503", "the API server answers 422: denied", "503"]
    sink.offer(words("Unknown", "AgentStale"), DAY, is_last=True)
    tries = run(sink, 200, 2.0)
    assert (len(tries), server.status) == (4, "Unknown")
    assert run(sink, 10_000, 201.0) == []
    sink.offer(words(), DAY + 10_000)
    assert run(sink, 10_010, 10_001.0) == [10_001.0]
    assert server.status == "True"


def test_a_refusal_is_tried_again_as_an_outage_is():
    def moments(problem):
        sink = sink_of(Server(*[problem] * 12))
        sink.offer(words(), DAY)
        return run(sink, 900)

    assert moments("the API server answers 422: denied by a policy") == moments("the API server was not reached")


def test_three_writes_at_once_and_one_more_every_ten_seconds():
    bucket, moments, now = Bucket(0.0, ALL), [], 0.0
    for _ in range(6):
        now = bucket.ready_at(now)
        bucket.take(now)
        moments.append(now)
    assert moments == [0, 0, 0, 10, 20, 30]


def test_what_the_server_asks_to_wait_for_is_waited_for():
    sink = sink_of(server := Server("the API server answers 429"))
    sink.offer(words(), DAY)
    assert run(sink, 100) == [0, 60]
    assert server.status == "True"


def test_a_transition_does_not_wait_out_the_long_pause_of_a_heartbeat():
    sink = sink_of(server := Server(*[""], *["down"] * 12))
    sink.offer(words(), DAY)
    tries = run(sink, 2000)
    server.problems = ["down"]
    now = tries[-1] + 0.1
    assert sink.due(now) > 30
    sink.offer(words("False", "GpuXid"), DAY)
    assert sink.due(now) <= 30


def test_a_clock_that_is_set_back_holds_up_no_heartbeat():
    sink = sink_of(server := Server())
    sink.offer(words(), DAY)
    sink.write(0.0, DAY)
    sink.write(sink.due(0.0), DAY - 86_400)
    assert sink.due(400.0) <= 420
    assert len(server.bodies) == 2


def test_another_node_under_the_same_name_hears_everything_once_more():
    sink = sink_of(server := Server())
    sink.offer(words(), DAY)
    run(sink, 1)
    server.uid = "another"
    sink.offer(words("False", "GpuXid"), DAY)
    assert len(run(sink, 60, 2.0)) == 2
    assert server.bodies[1]["metadata"]["labels"] == server.bodies[2]["metadata"]["labels"] == {f"{PREFIX}/ready": "true"}
    assert server.bodies[1]["status"]["conditions"][0]["status"] == server.bodies[2]["status"]["conditions"][0]["status"] == "False"


def test_a_reply_with_another_label_than_was_written_is_written_again_without_a_storm():
    sink = sink_of(server := Server())
    server.overrides = {f"{PREFIX}/ready": "false"}
    sink.offer(words(), DAY)
    assert 2 <= len(run(sink, 60)) <= 9
    assert 8 <= len(run(sink, 3600, 61.0)) <= 60, "whoever changes it does so each time"
    server.overrides = {}
    assert len(run(sink, 3601 + 3600, 3601.0)) <= 22


def test_a_pause_begins_when_the_answer_came():
    sink = sink_of(server := Server())
    server.patch_node_status = lambda *_: Reply("", {}, "429", retry_after_s=4.0, took_s=9.0)
    sink.offer(words(), DAY)
    sink.write(0.0, DAY)
    assert sink.due(9.0) == 4.0


def test_a_newer_word_wins_while_one_waits():
    sink = sink_of(server := Server("down"))
    sink.offer(words("False", "GpuXid"), DAY)
    run(sink, 0)
    sink.offer(words("True"), DAY)
    run(sink, 100, 0.1)
    assert [body["status"]["conditions"][0]["status"] for body in server.bodies] == ["True"]


def test_the_phase_of_the_heartbeat_is_the_nodes_own():
    at = {name: next_heartbeat(name, DAY, 300.0, 0.5) for name in ("a", "b", "c", "d")}
    assert len({round(one % 300) for one in at.values()}) > 1
    assert all(0 < one - DAY <= 360 for one in at.values())


@given(
    st.lists(st.sampled_from(["", "503", "429", "timeout"]), max_size=40),
    st.lists(st.sampled_from(["True", "False", "Unknown"]), min_size=1, max_size=20),
)
def test_no_transition_is_lost_and_there_is_no_storm(answers, statuses):
    """Whatever the server answers and whatever is told meanwhile: in the end it has the last word, and few tries were made."""
    sink = sink_of(server := Server(*answers))
    tries, now = [], 0.0
    for status in statuses:
        sink.offer(words(status, status), DAY)
        tries += run(sink, now + 2.0, now)
        now += 2.01
    tries += run(sink, now + 15_000, now)
    assert server.status == statuses[-1]
    for place, moment in enumerate(tries):
        assert sum(moment <= other < moment + 60 for other in tries[place:]) <= 9
