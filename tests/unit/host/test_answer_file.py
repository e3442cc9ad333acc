"""What a child has been answered, in memory that it shares with its parent: whole answers alone, whenever it ends."""

import os
import resource
import signal

import pytest

from hostagent.core.unread import Unread
from hostagent.host.answer_file import AnswerFile

A, B = ("read", "/a"), ("read", "/b", "9")


@pytest.fixture
def kept():
    answers = AnswerFile()
    yield answers
    answers.close()


def in_child(work):
    """A child that does this and is killed."""
    pid = os.fork()
    if not pid:
        try:
            work()
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL


def half(kept, size):
    """An answer of which the length is missing: that is written last."""
    begin = kept._end + 4
    kept._shared[begin : begin + size] = b"\x01" * size


@pytest.mark.alone
def test_nothing_was_answered(kept):
    assert kept.read() == {}
    in_child(lambda: None)
    assert kept.read() == {}


@pytest.mark.alone
def test_an_answer_of_each_kind_is_as_it_was(kept):
    answers = {
        A: b"\0\xff",
        B: Unread("denied", "no"),
        ("list", "/\udcff\ufffd"): ["a", "\ufffd"],
        ("host",): {"now": 1.5, "simulated": True},
        ("adjtimex",): 0,
    }
    in_child(lambda: [kept.add(*one) for one in answers.items()])
    assert kept.read() == answers


@pytest.mark.alone
def test_what_a_killed_writer_left_half_written_is_no_answer(kept):
    in_child(lambda: (kept.add(A, b"x"), half(kept, 4000)))
    assert kept.read() == {A: b"x"}


@pytest.mark.alone
def test_a_successor_writes_over_what_is_half_written_and_behind_what_is_whole(kept):
    in_child(lambda: (kept.add(A, b"x"), half(kept, 4000)))
    kept.read()
    in_child(lambda: kept.add(B, b"y"))
    assert kept.read() == {A: b"x", B: b"y"}
    in_child(lambda: kept.add(A, b"z"))
    assert kept.read() == {A: b"z", B: b"y"}


@pytest.mark.alone
def test_its_parent_and_who_is_forked_from_it_have_not_that_memory(kept):
    in_child(lambda: kept.add(A, b"x"))
    kept.read()
    with open("/proc/self/maps") as stream:
        assert "hostagent-answers" not in stream.read()


@pytest.mark.alone
def test_it_grows_to_what_is_answered(kept):
    answers = {
        ("read", f"/{number}"): bytes([number]) * size for number, size in enumerate([10, 65536, 1, 300_000, 5 * 2**20, 70_000, 0] * 6)
    }
    in_child(lambda: [kept.add(*one) for one in answers.items()])
    assert kept.read() == answers
    assert os.fstat(kept.descriptor).st_size < 1.3 * sum(map(len, answers.values())) + 2**20


@pytest.mark.alone
@pytest.mark.parametrize("limit", [0, 100_000])
def test_where_files_may_not_grow_what_fits_is_kept(kept, limit):
    def work():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        kept.add(A, b"x")
        kept.add(B, b"y" * 200_000)
        kept.add(("read", "/c"), b"z")

    in_child(work)
    assert kept.read() == ({A: b"x", ("read", "/c"): b"z"} if limit else {})


@pytest.mark.alone
def test_without_a_descriptor_to_spare_nothing_is_kept_and_nothing_fails(kept):
    def work():
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        kept.add(A, b"x")

    in_child(work)
    assert kept.read() == {}
