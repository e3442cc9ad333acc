"""What is told of any sequence of passes: with restarts, with a clock that is set, with a host that flips."""

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.typed import build, plain
from hostagent.daemon.conditions import TYPES, Measured, status_of
from hostagent.daemon.debounce import State, advance, at_once, first

VERDICTS = ("ready", "degraded", "unknown", "not_ready")
ANY = st.sampled_from((*VERDICTS, ""))
#: What was measured, and by how many seconds the clock moved until then: set back and set forward, too.
PASSES = st.lists(st.tuples(ANY, st.one_of(st.floats(2, 120), st.floats(-100_000, 100_000))), min_size=1, max_size=60)


def found(verdict):
    return tuple(Measured(kind, verdict, "R", f"it is {verdict}") for kind in TYPES)


def settled(verdict, now):
    state = first("boot", now)
    for _ in range(2):
        state = advance(state, found(verdict), now)
    return state


@given(PASSES)
def test_a_fault_is_told_at_once_and_no_single_pass_improves_anything_whatever_the_clock_says(passes):
    now, state, last = 1e6, first("boot", 1e6), "never"
    for verdict, step_s in passes:
        now += step_s
        before, state = state.verdict("Ready"), advance(state, found(verdict), now)
        told = state.verdict("Ready")
        assert verdict != "not_ready" or told == "not_ready"
        is_better = ("", *VERDICTS).index(told) < ("", *VERDICTS).index(before)
        assert not is_better or last == verdict == told
        last = verdict


@given(PASSES)
def test_the_time_of_a_transition_is_that_of_the_pass_that_changed_the_status(passes):
    now, state = 1e6, first("boot", 1e6)
    for verdict, step_s in passes:
        now += step_s
        before, state = state, advance(state, found(verdict), now)
        was = {one.type: one for one in before.conditions}
        for one in state.conditions:
            is_same = one.type in was and was[one.type].status == one.status
            assert one.changed_at == (was[one.type].changed_at if is_same else now)


@given(PASSES, st.integers(0, 59))
def test_a_restart_between_two_passes_changes_nothing(passes, at):
    now, state, other = 1e6, first("boot", 1e6), first("boot", 1e6)
    for number, (verdict, step_s) in enumerate(passes):
        now += step_s
        state, other = (advance(one, found(verdict), now) for one in (state, other))
        if number == at:
            other = build(State, json.loads(json.dumps(plain(other))), "told")
    assert state == other


@given(st.lists(st.sampled_from(VERDICTS), min_size=60, max_size=60), st.sampled_from(VERDICTS))
def test_a_host_that_changes_every_second_for_a_minute_has_at_most_six_transitions(verdicts, start):
    state, said = settled(start, 1000.0), [start]
    for second, verdict in enumerate(verdicts):
        state = advance(state, found(verdict), 1001.0 + second)
        said.append(state.verdict("Ready"))
    assert sum(status_of(before) != status_of(after) for before, after in itertools.pairwise(said)) <= 6
    changes = sum(before != after for before, after in itertools.pairwise([start, *verdicts]))
    if changes > 5:
        assert state.conditions[0].reason == "Flapping"
        assert VERDICTS.index(said[-1]) >= max(map(VERDICTS.index, verdicts[-6:]))


@given(st.lists(st.sampled_from(VERDICTS), min_size=20, max_size=40))
def test_a_quiet_hour_ends_the_flapping_and_what_is_there_is_told(verdicts):
    state, now = settled("ready", 1000.0), 1000.0
    for verdict in verdicts:
        now += 2
        state = advance(state, found(verdict), now)
    for _ in range(62):
        now += 60
        state = advance(state, found("degraded"), now)
    assert [(one.status, one.reason) for one in state.conditions] == [("True", "R")] * 6


def test_a_host_that_flaps_says_the_same_from_pass_to_pass():
    state, words = settled("ready", 1000.0), set()
    for second, verdict in enumerate(itertools.islice(itertools.cycle(["not_ready", "ready"]), 60)):
        state = advance(state, found(verdict), 1001.0 + second)
        if state.conditions[0].reason == "Flapping":
            words.add(state.conditions)
    assert len(words) == 1


def test_one_pass_alone_keeps_the_time_of_a_status_that_stays():
    state = at_once("boot", found("ready"), 100.0)
    again = at_once("boot", found("degraded"), 200.0, state)
    assert [(one.status, one.reason, one.changed_at) for one in again.conditions] == [("True", "R", 100.0)] * 6
    assert [one.changed_at for one in at_once("boot", found("not_ready"), 300.0, again).conditions] == [300.0] * 6
    assert [one.changed_at for one in at_once("boot", found("ready"), 400.0, at_once("boot", found(""), 300.0, again)).conditions] == [
        400.0
    ] * 6
