"""What is not judged again says what it would say: over all recorded hosts, one after the other, as if each were the next pass of one daemon."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread
from hostagent.daemon.conditions import measured
from hostagent.daemon.debounce import at_once
from hostagent.daemon.documents import Documents
from hostagent.engine import collection
from hostagent.engine.check import check, fail
from hostagent.engine.collect import collect
from hostagent.engine.collection import InProcess
from hostagent.engine.evaluate import evaluate
from hostagent.engine.pipeline import examine, judge, policy_of, prepare
from hostagent.engine.report.node_summary import summary
from hostagent.engine.result_cache import ResultCache
from hostagent.facts.host import Identity
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.platform import Platform
from hostagent.host import recording
from hostagent.host.source import Source
from hostagent.outputs.json import render_json
from hostagent.profiles.profile import load
from tests.damage import mutated

HOSTS = sorted(path.parent for path in (Path(__file__).parent / "hosts").glob("*/tape.json"))
LOADED = load("default", site_file="/nonexistent")
SETTLED = 5


@frozen
class Clock:
    """A fact."""

    offset: "float | Unread"


class Passes:
    """One daemon, whose host is another one at each pass."""

    def __init__(self):
        self.prepared, self.cache, self.documents = prepare(LOADED), ResultCache(), Documents()

    def one(self, recorded, answers=None):
        """The report of this pass, and of a program that begins with it; and what each of them asked."""
        backend = recording.ReplayBackend(recorded if answers is None else replace(recorded, answers=answers))
        own, fresh = (InProcess(backend, self.prepared.kinds, replayed=True, recorded_at=recorded.recorded_at) for _ in range(2))
        own.before = self.cache.earlier(LOADED.profile)
        collected = own.collect(policy_of(self.prepared))
        self.cache.keep(LOADED.profile, collected.earlier)
        report = judge(collected, own, self.prepared, cache=self.cache)
        return report, examine(fresh, self.prepared), own.answers, fresh.answers

    def hold(self, *what):
        """The pass says what a program without a memory says, having asked what that asks."""
        report, fresh, asked, wanted = self.one(*what)
        report = replace(report, timings_ms=fresh.timings_ms)
        assert report == fresh
        assert asked.keys() == wanted.keys()
        told = at_once("b", measured(fresh, {one.id: one.family.condition for one in self.prepared.checks}), 0)
        assert self.documents.report(report) == render_json(fresh, None)
        assert self.documents.summary(report, told) == summary(fresh, told.verdicts, told.headline_beside(fresh.verdict))


def test_each_recorded_host_is_judged_as_by_a_daemon_that_saw_all_the_others_before():
    passes = Passes()
    for host in HOSTS[::3]:
        for _ in range(2):
            passes.hold(recording.load(str(host / "tape.json")))


@pytest.mark.parametrize("host", HOSTS[1::6], ids=lambda path: path.name)
def test_whatever_answers_another_thing_is_read_and_judged_anew(host):
    """From pass to pass another few answers are damaged, or are what they were again."""
    recorded, rng, passes = recording.load(str(host / "tape.json")), random.Random(host.name), Passes()
    questions = sorted(recorded.answers)
    for _ in range(6):
        chosen = rng.sample(questions, k=min(len(questions), rng.choice([0, 1, 2, 5])))
        passes.hold(recorded, {**recorded.answers, **{one: mutated(recorded.answers[one], rng) for one in chosen}})


def test_only_who_has_the_clock_is_read_anew_when_nothing_but_time_passes():
    for folder in HOSTS[::6]:
        recorded, read = recording.load(str(folder / "tape.json")), []
        host = recording.question("host")
        answers = {**recorded.answers, host: {"json": {**recorded.answers[host]["json"], "now": 2e9}}}
        earlier, facts = {}, []
        for backend in (recording.ReplayBackend(recorded), recording.ReplayBackend(replace(recorded, answers=answers))):
            facts.append(collect(Source(backend), on_fact=read.append, earlier=earlier)[0])
            earlier = collection.earlier(read)
            unread = {one.name for one in read if isinstance(one.value, Unread)}
            read, was = [], read
        assert {one.name for one in was if one.is_new} - unread == {"Identity", "Restarts"}
        assert facts[1].of(Identity).now == 2e9


def test_a_reader_that_crashed_or_could_not_read_is_tried_again_on_the_same_answers():
    tries = []

    def breaks(source, known):
        tries.append(source.text("/proc/version"))
        raise MemoryError

    reader, earlier = {"Clock": Breaking(breaks)}, {}
    for _ in range(2):
        rows = []
        collect(Source(Nothing()), ["Clock"], reader, rows.append, earlier)
        earlier = collection.earlier(rows)
    assert len(tries) == 2
    assert "crashed" in rows[0].value.detail


class Breaking(NamedTuple):
    """A reader."""

    function: Any
    needs: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ()
    has_clock: bool = False

    def load(self):
        return self.function


class Nothing:
    """A host that has nothing."""

    kind = "live"

    def ask(self, *asked):
        return Unread("absent", " ".join(asked))


@pytest.fixture
def counted():
    calls = []

    def offset(clock: Clock):
        calls.append(clock.offset)
        if clock.offset > 1:
            yield fail("clock is off", code="off")

    base = {"title": "It holds", "severity": "critical", "since": "0.1", "remedy": "Mend it.", "references": ("A manual",)}
    one, cache, unread, known = check(**base)(offset), ResultCache(), Unread("error", "not read"), {}

    def judge(value, profile=LOADED.profile):
        fact = known.setdefault(repr(value), Clock(value))
        facts = HostFacts({Clock: fact, Platform: unread})
        cache.begin(facts)
        return evaluate([one], facts, profile, cache=cache)[0].outcome

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
