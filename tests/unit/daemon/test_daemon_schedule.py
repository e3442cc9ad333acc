"""When the next pass is due."""

import pytest

from hostagent.daemon.schedule import APART_S, BURST, GATHER_S, JITTER, REFILL_S, Buckets, Done, after_pass

BEGAN, ENDED = 100.0, 100.6
DRAWS = (0.0, 0.3, 0.999)


def due(*heard, done=None, draw=0.5, confirm_s=None):
    """After a pass, and events by name and time."""
    schedule = after_pass(done or Done(BEGAN, ENDED), 60, draw, confirm_s)
    for event, now in heard:
        schedule = schedule.add_event(event, now)
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


def spent(count, *, trigger="link", at=BEGAN, apart_s=APART_S):
    """After so many passes of a trigger that found nothing new."""
    buckets = Buckets()
    for number in range(count):
        buckets = buckets.spend(trigger, at + number * apart_s)
    return buckets


def limited(buckets, *heard, began=BEGAN):
    schedule = after_pass(Done(began, began + 0.6), 60, 0.5, buckets=buckets)
    for event, now in heard:
        schedule = schedule.add_event(event, now)
    return schedule.due


@pytest.mark.parametrize("count", range(BURST))
def test_a_few_passes_that_found_nothing_new_hold_up_no_other(count):
    assert limited(spent(count), ("link", 120.0), began=118.0) == (120.0 + GATHER_S, "link")


def test_after_a_burst_the_next_pass_of_this_trigger_waits_for_a_token():
    at, trigger = limited(spent(BURST, apart_s=0), ("link", BEGAN + 3))
    assert (at, trigger) == (BEGAN + REFILL_S, "link")


@pytest.mark.parametrize("count", [BURST, BURST + 1, 3 * BURST, 1000])
def test_no_pass_waits_longer_than_for_one_token(count):
    last = BEGAN + (count - 1) * APART_S
    assert spent(count).ready("link") <= last + REFILL_S


def test_another_trigger_does_not_wait_and_names_the_pass():
    assert limited(spent(BURST, apart_s=0), ("link", 103.0), ("kernel-log", 104.0)) == (104.0 + GATHER_S, "kernel-log")
    assert limited(spent(BURST, apart_s=0), ("kernel-log", 104.0), ("link", 103.0)) == (104.0 + GATHER_S, "kernel-log")


def test_while_a_pass_waits_for_a_token_interval_and_confirmation_come_as_ever():
    schedule = after_pass(Done(BEGAN, ENDED), 20, 0.5, 5, spent(BURST, apart_s=0)).add_event("link", 103.0)
    assert schedule.due == (ENDED + 5, "confirm")
    assert after_pass(Done(BEGAN, ENDED), 20, 0.5, None, spent(BURST, apart_s=0)).add_event("link", 103.0).due == (BEGAN + 20, "interval")


def test_a_bucket_fills_again_and_not_beyond_its_size():
    later = BEGAN + 1000 * REFILL_S
    buckets = spent(BURST, apart_s=0)
    for _ in range(BURST - 1):
        buckets = buckets.spend("link", later)
    assert buckets.ready("link") <= later
    assert buckets.spend("link", later).ready("link") == later + REFILL_S
