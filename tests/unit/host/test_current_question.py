"""The question under way, in memory that a child and its parent share."""

import itertools
import os

import pytest

from hostagent.host.current_question import NOTHING, CurrentQuestion


@pytest.fixture
def under_way():
    shared = CurrentQuestion(clock=itertools.count(1.0).__next__)
    yield shared
    shared.close()


def test_nothing_was_said(under_way):
    assert under_way.get() == NOTHING


@pytest.mark.alone
def test_what_a_child_says_its_parent_sees(under_way):
    pid = os.fork()
    if not pid:
        under_way.set(("read", "/etc/hostname"))
        under_way.set(("read", "/etc/\udcff\ufffd", "9"))
        os._exit(0)
    os.waitpid(pid, 0)
    assert under_way.get() == (("read", "/etc/\udcff\ufffd", "9"), 2.0)


def test_what_is_half_written_is_not_believed(under_way):
    under_way.set(("read", "/etc/hostname"))
    assert under_way.get() == (("read", "/etc/hostname"), 1.0)
    whole = under_way._shared[:]
    under_way.set(("list", "/etc/somewhere/else"))
    under_way._shared[20:40] = whole[20:40]
    assert under_way.get() == (("read", "/etc/hostname"), 1.0)


def test_a_question_that_is_longer_than_the_memory_is_not_told(under_way):
    under_way.set(("read", "/" + "x" * 10**6))
    assert under_way.get() == ((), 1.0)
