"""Code of an image that runs in the process that reads it: its parent believes what it says by its shape, in bounded time and memory."""

import json
import pickle
import resource
import time

import pytest

from hostagent.core.deadline import within
from hostagent.core.errors import HostagentError
from hostagent.core.unread import Unread
from hostagent.engine import fact_data
from hostagent.engine.collect import READERS, Fact
from hostagent.engine.collector_process import Forked, Place
from hostagent.engine.target import Evidence, open_host
from hostagent.facts.os import Os
from hostagent.host.answer_file import AnswerFile
from hostagent.host.current_question import CurrentQuestion
from hostagent.host.encoding import STRICT
from tests import recorded

pytestmark = pytest.mark.alone


def said(*messages, raw=False):
    """What the parent of a child that says this has, and in how many seconds."""

    def read(self, send, policy):
        for one in messages:
            send(one if raw else json.dumps(one).encode())

    class Hostile(Forked):
        _read = read

    forked = Hostile(None, Place("/", "image"), ("Os",), within(5))
    started = time.monotonic()
    forked.start()
    try:
        facts = forked.collect().facts
        return facts.of(Os), time.monotonic() - started
    finally:
        forked.close()


GOOD = fact_data.pack(Fact("Os", Unread("error", "x", "read /x"), b"", 1.0, is_new=True))


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x80\x05}N" + b"\x85" * 100_000 + b"Ns.",
        pickle.dumps(("done",)),
        b"[" * 100_000,
        b'["fact", ' + b"[" * 50_000 + b"]" * 50_000 + b"]",
        json.dumps("done").encode(),
        json.dumps(["x"]).encode(),
        json.dumps(["crash"]).encode(),
        json.dumps(["crash", 7, []]).encode(),
        json.dumps(["refused", ["x"], 5]).encode(),
        json.dumps(["cage", "image", 5]).encode(),
        json.dumps({"done": 1}).encode(),
    ],
    ids=range(12),
)
def test_what_is_no_word_of_ours_ends_the_reading(message):
    found, took_s = said(message, raw=True)
    assert isinstance(found, Unread)
    assert took_s < 2


@pytest.mark.parametrize(
    "row",
    [
        5,
        ["Os"],
        ["Os", "os", {}, 1.0, []],
        ["Os", "hostagent.facts.os", {"id": 5}, 1.0, []],
        ["Os", "hostagent.facts.os", [], 1.0, []],
        ["system", "posix", ["id"], 1.0, []],
        ["Os", "hostagent.facts..typed", {}, 1.0, []],
        ["UnreadError", "hostagent.core.unread", {}, 1.0, []],
        ["Os", "", {"unread": "absent", "detail": "x"}, 1.0, []],
        ["Os", "", {"unread": "perfect", "detail": "x"}, 1.0, []],
        ["Os", "", {"unread": "absent", "detail": "x"}, 1.0, [["absent", "x", 5, []]]],
        ["Os", "", None, 1.0, []],
        ["Os", "", 5, 1.0, []],
    ],
    ids=range(13),
)
def test_what_is_no_fact_is_none(row):
    found, took_s = said(["fact", row], ["done"])
    assert isinstance(found, Unread)
    assert took_s < 2


def test_a_fact_is_taken():
    found, _ = said(["fact", GOOD], ["done"])
    assert (found.why, found.detail, found.question) == ("error", "x", "read /x")


@pytest.mark.parametrize(
    "data", [b"[" * 1000, b"5", b'[["read", 5], 1.0]', b'[["read"], "x"]', b'[["read"], Infinity]', b'[["read"], NaN]']
)
def test_a_question_that_is_none_is_not_waited_for(data):
    """In the memory that it shares with its parent."""
    shared = CurrentQuestion(STRICT)
    shared._coding = STRICT._replace(dumps=lambda _: data)
    shared.set(("read",))
    shared._coding = STRICT
    asked, _ = shared.get()
    assert asked in ((), ("read",))
    shared.close()


def test_a_flood_ends_at_its_bound():
    found, took_s = said(*(["imported", ["x" * 1_000_000]] for _ in range(100)))
    assert isinstance(found, Unread)
    assert took_s < 15, "the deadline is 5 s"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1_000_000


def test_answers_that_are_none_end_what_is_read_of_them():
    for damage in (b"[" * 1000, json.dumps([[5], {"text": "x"}]).encode(), json.dumps([["read", "/x"]]).encode(), b"\xff"):
        answers = AnswerFile(STRICT)
        answers.add(("read", "/a"), b"\xff\n")
        answers._coding = STRICT._replace(dumps=lambda _, damage=damage: damage)
        answers.add(("read", "/b"), b"")
        answers._coding = STRICT
        answers.add(("read", "/c"), b"c")
        assert answers.read() == {("read", "/a"): b"\xff\n"}
        answers.close()


def gaps(value):
    return [(one.why, one.detail, one.question, one.evidence) for one in fact_data._gaps(value)]


@pytest.mark.parametrize("name", recorded.NAMES[::6])
def test_every_fact_crosses_as_it_was(name):
    with open_host(Evidence(snapshot=str(recorded.HOSTS / name / "tape.json"))) as reading:
        facts = reading.collect().facts
    for one in READERS:
        value = facts._values[one]
        crossed = fact_data.unpack(json.loads(json.dumps(fact_data.pack(Fact(one, value, b"", 1.5, is_new=True))))).value
        assert isinstance(value, Unread) or isinstance(value, tuple) == (one in fact_data.MANY)
        assert (type(crossed), repr(crossed), gaps(crossed)) == (type(value), repr(value), gaps(value))


def test_a_refusal_is_the_parent_s_word(tmp_path):
    (tmp_path / "etc").mkdir()
    with pytest.raises(HostagentError, match="os-release"), open_host(Evidence(root=str(tmp_path))) as reading:
        reading.collect()
