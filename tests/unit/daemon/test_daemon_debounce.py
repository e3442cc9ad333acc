"""What is told of what was measured: at once, on the second pass, or at its worst."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from hostagent.daemon.conditions import TYPES, Measured, status_of
from hostagent.daemon.debounce import CONFIRM_S, advance, at_once, first

VERDICTS = ("ready", "degraded", "unknown", "not_ready")


def found(verdict, reason="R", message="m"):
    return tuple(Measured(kind, verdict, reason, message) for kind in TYPES)


def told(verdicts, *, step_s=60.0, state=None, now=1000.0):
    """The told verdicts of Ready, one per pass."""
    state = state or first("boot", now)
    said = []
    for verdict in verdicts:
        now += step_s
        state = advance(state, found(verdict), now)
        said.append(state.verdict("Ready"))
    return said, state


def test_before_the_first_pass_everything_is_unknown():
    state = first("boot", 5.0)
    assert {(one.status, one.reason, one.changed_at) for one in state.conditions} == {("Unknown", "FirstPass", 5.0)}
    assert [one.type for one in state.conditions] == list(TYPES)


def test_not_ready_is_told_at_once_and_ready_on_the_second_pass():
    assert told(["ready", "ready", "not_ready", "ready", "ready"])[0] == ["unknown", "ready", "not_ready", "not_ready", "ready"]


def test_unknown_needs_two_passes_and_degraded_none():
    assert told(["ready", "ready", "unknown", "ready", "unknown", "unknown"])[0][2:] == ["ready", "ready", "ready", "unknown"]
    assert told(["ready", "ready", "degraded"])[0][-1] == "degraded"


def test_an_improvement_that_is_not_confirmed_is_not_told():
    assert told(["not_ready", "ready", "degraded", "ready", "degraded"])[0] == ["not_ready"] * 5


def test_a_pass_that_waits_for_its_confirmation_is_not_settled():
    state = advance(first("boot", 0), found("ready"), 1.0)
    assert not state.is_settled
    assert advance(state, found("ready"), 1.0 + CONFIRM_S).is_settled


def test_the_time_of_a_transition_moves_with_the_status_alone():
    _, state = told(["ready", "ready"])
    since = state.conditions[0].changed_at
    state = advance(state, found("degraded", "Degraded", "other"), 9000.0)
    assert (state.conditions[0].reason, state.conditions[0].changed_at) == ("Degraded", since)
    assert advance(state, found("not_ready"), 9100.0).conditions[0].changed_at == 9100.0


def test_a_condition_that_no_check_applies_to_goes_and_comes_back():
    _, state = told(["ready", "ready", "", ""])
    assert (state.conditions, state.removed) == ((), TYPES)
    back = advance(state, found("ready"), 5000.0)
    assert [one.status for one in back.conditions] == ["True"] * 6
    assert back.conditions[0].changed_at == 5000.0


def test_a_host_that_flips_every_second_for_a_minute_stays_at_its_worst_for_an_hour():
    flips = list(itertools.islice(itertools.cycle(["ready", "not_ready"]), 30))
    said, state = told(["ready", "ready", *flips], step_s=2.0)
    assert sum(before != after for before, after in itertools.pairwise(said)) <= 6
    assert (state.verdict("Ready"), state.conditions[0].reason) == ("not_ready", "Flapping")
    calm, after = told(["ready"] * 58, state=state, now=1070.0)
    assert set(calm) == {"not_ready"}
    assert told(["ready"] * 4, state=after, now=1070.0 + 58 * 60)[0][-1] == "ready"


def test_five_changes_in_an_hour_are_no_flapping():
    said, state = told(["ready", "ready", "not_ready", "ready", "not_ready", "ready", "not_ready", "not_ready"])
    assert state.conditions[0].reason == "R"
    assert said[-1] == "not_ready"


def test_a_clock_that_was_set_back_by_a_day_ends_a_flapping_of_the_future_and_loses_no_fault():
    _, state = told(["ready", "ready", *["ready", "not_ready"] * 15], step_s=2.0, now=200_000.0)
    after = advance(state, found("not_ready"), 100_000.0)
    assert after.verdict("Ready") == "not_ready"
    assert told(["ready", "ready"], state=after, now=100_000.0)[0][-1] == "ready"


def test_one_pass_and_no_more_is_told_as_it_is():
    state = at_once("boot", found("ready"), 7.0)
    assert [(one.status, one.changed_at) for one in state.conditions] == [("True", 7.0)] * 6


@given(st.lists(st.sampled_from(VERDICTS), min_size=1, max_size=60), st.floats(2.0, 900.0))
def test_whatever_is_measured(verdicts, step_s):
    said, state = told(verdicts, step_s=step_s)
    for place, (measure, word) in enumerate(zip(verdicts, said, strict=True)):
        before = said[place - 1] if place else "unknown"
        if measure == "not_ready":
            assert word == "not_ready", "a fault is never late"
        if VERDICTS.index(word) < VERDICTS.index(before):
            assert verdicts[place - 1 : place + 1] == [measure, measure], "no single pass improves anything"
        assert status_of(word)
    if len(verdicts) > 1 and verdicts[-1] == verdicts[-2] and state.conditions[0].reason != "Flapping":
        assert said[-1] == verdicts[-1]


@given(st.lists(st.sampled_from(VERDICTS), min_size=30, max_size=60))
def test_no_hour_has_many_transitions(verdicts):
    said, _ = told(verdicts, step_s=2.0)
    statuses = [status_of(one) for one in ["unknown", *said]]
    assert sum(before != after for before, after in itertools.pairwise(statuses)) <= 7
