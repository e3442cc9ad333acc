"""When the next pass is due."""

import pytest

from hostagent.daemon.schedule import APART_S, GATHER_S, JITTER, Done, after_pass

BEGAN, ENDED = 100.0, 100.6
DRAWS = (0.0, 0.3, 0.999)


def due(*heard, done=None, draw=0.5, confirm_s=None):
    """After a pass, and events by name and time."""
    schedule = after_pass(done or Done(BEGAN, ENDED), 60, draw, confirm_s)
    for event, now in heard:
        schedule = schedule.heard(event, now)
    return schedule.due


@pytest.mark.parametrize("draw", DRAWS)
def test_the_interval_is_loose_by_a_tenth(draw):
    at, trigger = due(draw=draw)
    assert trigger == "interval"
    assert 60 * (1 - JITTER) <= at - BEGAN <= 60 * (1 + JITTER)


@pytest.mark.parametrize("draw", DRAWS)
def test_an_event_waits_for_others_and_for_the_pass_before(draw):
    assert due(("uevent", 120.0), draw=draw) == (120.0 + GATHER_S, "uevent")
    assert due(("uevent", ENDED), draw=draw) == (BEGAN + APART_S, "uevent")


def test_events_in_a_row_share_one_pass_and_the_first_names_it():
    assert due(("kernel-log", 120.0), ("uevent", 120.1), ("configuration", 120.4)) == (120.0 + GATHER_S, "kernel-log")


def test_a_host_that_gives_no_rest_is_not_met_in_time():
    """Three passes in a row that events began: from then on the next one comes at any moment of a second."""
    found = {due(("uevent", ENDED), done=Done(BEGAN, ENDED, 3), draw=draw)[0] for draw in DRAWS}
    assert len(found) == len(DRAWS)
    assert all(BEGAN + APART_S <= at < BEGAN + APART_S + 1 for at in found)


def test_what_has_to_be_confirmed_is_looked_at_soon():
    assert due(confirm_s=5) == (ENDED + 5, "confirm")
    assert due(("uevent", 101.0), confirm_s=5) == (BEGAN + APART_S, "uevent")


def test_a_pass_longer_than_the_interval_is_followed_by_a_pause():
    assert due(done=Done(BEGAN, BEGAN + 90))[0] == BEGAN + 90 + APART_S
