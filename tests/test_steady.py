"""What is not judged again says what it would say: over all recorded hosts, one after the other, as if each were the next pass of one daemon."""

import time
from pathlib import Path

import pytest

from hostagent.app import prepare
from hostagent.check import check, fail
from hostagent.collect import collect
from hostagent.evaluate import evaluate
from hostagent.facts.frozen import frozen
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.platform import Platform
from hostagent.facts.unread import Unread
from hostagent.profile import load
from hostagent.source import Source, tape
from hostagent.steady import Steady

HOSTS = sorted(path.parent for path in (Path(__file__).parent / "hosts").glob("*/tape.json"))
LOADED = load("default", site_file="/nonexistent")
SETTLED = 5


@frozen
class Clock:
    """A fact."""

    offset: "float | Unread"


def facts_of(host):
    return collect(Source(tape.ReplayBackend(tape.load(str(host / "tape.json")))))[0]


def test_each_recorded_host_is_judged_as_by_a_daemon_that_saw_all_the_others_before():
    checks, steady = prepare(LOADED).checks, Steady()
    for host in HOSTS[::3]:
        facts = facts_of(host)
        fresh = evaluate(checks, facts, LOADED.profile)
        for _ in range(2):
            assert evaluate(checks, steady.facts(facts), LOADED.profile, steady=steady) == fresh, host.name


@pytest.fixture
def counted():
    calls = []

    def offset(clock: Clock):
        calls.append(clock.offset)
        if clock.offset > 1:
            yield fail("clock is off", code="off")

    base = {"title": "It holds", "severity": "critical", "since": "0.1", "remedy": "Mend it.", "references": ("A manual",)}
    one, steady = check(**base)(offset), Steady()

    def judge(value, profile=LOADED.profile):
        facts = steady.facts(HostFacts({Clock: Clock(value), Platform: Unread("error", "not read")}))
        return evaluate([one], facts, profile, steady=steady)[0].outcome

    return judge, calls


def test_a_check_is_not_called_again_for_what_it_passed(counted):
    judge, calls = counted
    assert [judge(0.5) for _ in range(SETTLED)] == ["pass"] * SETTLED
    assert calls == [0.5]


def test_it_is_called_for_another_fact_and_by_another_profile(counted):
    judge, calls = counted
    other = load("any", site_file="/nonexistent").profile
    assert [judge(0.5), judge(0.25), judge(0.5), judge(0.5, other), judge(0.5)] == ["pass"] * 5
    assert calls == [0.5, 0.25, 0.5, 0.5, 0.5]


def test_what_it_found_fault_with_or_could_not_read_is_judged_each_time(counted):
    judge, calls = counted
    assert [judge(2.0), judge(2.0)] == ["fail", "fail"]
    assert calls == [2.0, 2.0]
    assert [judge(Unread("error", "e")), judge(Unread("error", "e"))] == ["unknown", "unknown"]


def test_a_fact_that_is_equal_is_the_earlier_one():
    steady = Steady()
    first = steady.facts(HostFacts({Clock: Clock(Unread("timeout", "t"))}))
    again = steady.facts(HostFacts({Clock: Clock(Unread("timeout", "t"))}))
    assert again.of(Clock) is first.of(Clock)
    assert steady.facts(HostFacts({Clock: Clock(time.time())})).of(Clock) is not first.of(Clock)
