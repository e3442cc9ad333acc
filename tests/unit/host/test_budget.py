"""What a host may answer in one pass: counted whatever it is made of, for each fact alone, live and from a tape alike."""

import os

import pytest

from hostagent.core.retention import Filtered, Keep
from hostagent.core.unread import Unread
from hostagent.engine.collect import Reader, collect
from hostagent.host.budget import LARGE_BYTES, MIB, MOST_BYTES, SHARE_BYTES, SHARE_QUESTIONS, weight
from hostagent.host.recording import ReplayBackend, Tape, encode, question
from hostagent.host.source import Source

LINK = "a" * 4000


class Generous:
    """A host that has whatever it is asked for."""

    kind = "live"

    def __init__(self, answers):
        self.answers = answers
        self.asked = 0

    def ask(self, method, *arguments):
        self.asked += 1
        return self.answers[method]


def reads(ask):
    """A reader that asks without end, and makes something of whatever it gets."""

    def read(source, known):
        for number in range(4 * SHARE_QUESTIONS):
            ask(source, f"/{number}")
        return "made of what came"

    return read


def once(ask):
    return lambda source, _: ask(source, "/other")


FLOODS = {
    "bytes": (lambda source, path: source.read(path), {"read": b"x" * MIB}),
    "text": (lambda source, path: source.readlink(path), {"readlink": LINK}),
    "places": (lambda source, path: source.realpath(path), {"realpath": LINK}),
    "lists": (lambda source, path: source.listdir(path), {"list": ["a" * 20] * 100}),
    "numbers": (lambda source, path: source.stat(path), {"stat": {"kind": "file", **dict.fromkeys(("mode", "uid", "gid", "size", "mtime", "major", "minor"), 1)}}),
    "nothing": (lambda source, path: source.stat(path), {"stat": Unread("absent", "")}),
    "a program's output": (lambda source, path: source.run(path), {"run": {"exit_code": 0, "stdout": "x" * MIB, "stderr": ""}}),
    "databases": (lambda source, path: source.read(path, 64 * MIB), {"read": b"x" * 8 * MIB}),
    "rows": (lambda source, path: source._ask("nvml", path), {"nvml": [{"name": "x" * 100}] * 1000}),
}  # fmt: skip


class Loaded(Reader):
    """One whose function is here."""

    def load(self):
        return self.place


@pytest.mark.parametrize("kind", FLOODS)
def test_a_fact_that_reads_too_much_is_unread_and_no_other(kind):
    ask, answers = FLOODS[kind]
    backend, heard = Generous(answers), {}
    source = Source(backend, on_answer=heard.__setitem__)
    readers = {"Flood": Loaded(reads(ask)), "Other": Loaded(once(ask))}
    facts, _ = collect(source, readers=readers)
    flood, other = (facts.of(type(name, (), {})) for name in readers)
    assert isinstance(flood, Unread)
    assert (flood.why, "that one fact may read of a host" in flood.detail) == ("error", True)
    assert not isinstance(other, Unread) or other.why == "absent"
    assert backend.asked <= SHARE_QUESTIONS + 2
    assert sum(map(weight, heard.values())) <= LARGE_BYTES + SHARE_BYTES


@pytest.mark.parametrize("kind", ["bytes", "text", "nothing"])
def test_a_tape_of_it_says_the_same(kind):
    ask, answers = FLOODS[kind]
    heard = {}
    readers = {"Flood": Loaded(reads(ask)), "Other": Loaded(once(ask))}
    live, _ = collect(Source(Generous(answers), on_answer=heard.__setitem__), readers=readers)
    taped = Tape(1, "test", 0.0, "live", False, {question(*asked): encode(answer) for asked, answer in heard.items()})
    replayed, _ = collect(Source(ReplayBackend(taped)), readers=readers)
    for name in readers:
        kind = type(name, (), {})
        assert repr(replayed.of(kind)) == repr(live.of(kind))


def test_all_facts_together_have_a_limit_too():
    heard = {}
    source = Source(Generous({"read": b"x" * 8 * MIB}), on_answer=heard.__setitem__)
    for fact in range(6):
        source.budget.charge_to(f"Fact{fact}")
        for number in range(8):
            source.read(f"/{fact}/{number}", 64 * MIB)
    assert MOST_BYTES - 8 * MIB < sum(map(weight, heard.values())) < MOST_BYTES + MIB


def test_a_fact_inside_another_has_its_own_share():
    source = Source(Generous({"read": b"x" * MIB, "stat": Unread("absent", "")}))
    source.budget.charge_to("Outer")
    before = source.budget.charge_to("Inner")
    while source.budget.share.over is None:
        source.read(f"/{id(source)}{weight(source.question)}{len(source._answers)}")
    assert source.budget.charge_to(before) == "Inner"
    assert source.budget.share.over is None
    assert source.exists("/x") is False


def test_a_question_that_was_answered_costs_nothing():
    backend = Generous({"read": b"x" * MIB})
    source = Source(backend)
    for _ in range(100):
        assert source.read("/x") == b"x" * MIB
    assert (backend.asked, source.budget.share.over) == (1, None)


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize(
    ("limit", "size", "is_read"), [(MIB, MIB, True), (MIB, MIB + 1, False), (100, 101, False), (2 * MIB, MIB + 1, True)]
)
def test_a_file_on_a_tape_has_no_more_than_on_a_host(limit, size, is_read, filtered):
    keep = Keep("matches", ("x",))
    answer = Filtered(b"x" * size, keep) if filtered else b"x" * size
    asked = question("read", "/x", *([] if limit == MIB else [str(limit)]))
    source = Source(ReplayBackend(Tape(1, "test", 0.0, "live", False, {asked: encode(answer)})))
    found = source.read("/x", limit, keep=keep)
    assert isinstance(found, bytes) if is_read else found.why == "error"
    assert source.budget.share.over is None, "a file that is too long costs no other"


def test_what_is_weighed():
    assert weight(["a" * 10] * 1000) > 10_000
    assert weight({"a": [1.5, "b" * 100]}) > 100
    assert weight(Filtered(b"x" * 100, Keep("whole"))) > 100
    assert weight(Unread("error", "x")) < 100


def test_a_directory_of_more_names_than_anybody_has_is_an_error(tmp_path):
    from hostagent.host.files import MOST_NAMES, Files
    from hostagent.host.paths import Root

    for number in range(MOST_NAMES + 1):
        os.symlink("x", tmp_path / str(number))
    found = Files(Root(str(tmp_path))).list("/")
    assert found.why == "error"
    os.unlink(tmp_path / "0")
    assert len(Files(Root(str(tmp_path))).list("/")) == MOST_NAMES
