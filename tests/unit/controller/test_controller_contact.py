"""How long contact with the API server has lasted: silence of an agent is measured in that time alone."""

import pytest

from hostagent.controller.contact import Contact


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def contact(clock):
    return Contact(clock)


def answers(contact, clock, *gaps):
    for gap in gaps:
        clock.now += gap
        contact()


def test_before_the_first_answer_there_is_none(contact):
    assert contact.unbroken_s() == 0
    assert contact.quiet_s() == float("inf")


def test_it_lasts_while_answers_are_ten_seconds_apart_at_most(contact, clock):
    answers(contact, clock, 0, *[10.0] * 100)
    assert contact.unbroken_s() == 1000
    clock.now += 10
    assert (contact.unbroken_s(), contact.quiet_s()) == (1010, 10)


def test_it_is_over_after_a_longer_hole_and_begins_anew_with_the_next_answer(contact, clock):
    answers(contact, clock, 0, 10, 10)
    clock.now += 10.1
    assert contact.unbroken_s() == 0
    contact()
    assert contact.unbroken_s() == 0, "the hole does not count once it is over"
    answers(contact, clock, 3)
    assert contact.unbroken_s() == 3


def test_restart_begins_anew_without_a_hole(contact, clock):
    answers(contact, clock, 0, 5, 5)
    contact.restart()
    assert (contact.unbroken_s(), contact.quiet_s()) == (0, 0)
    answers(contact, clock, 4)
    assert contact.unbroken_s() == 4
