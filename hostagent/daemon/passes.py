"""One pass of the daemon: what ``hostagent check`` does, with what outlives a pass."""

# The first collector process says which modules it imported (some 210); the loop imports them and reads the first answers once
# more from memory, so that every later one has modules and compiled patterns from the fork. A worker that hung in this pass is
# not started again when the collector is replaced. Between two passes no process of ours has a device of the driver open or its
# lock.

import contextlib
import importlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hostagent.core.deadline import within
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.daemon.stuck import Stuck
from hostagent.engine.collection import InProcess
from hostagent.engine.pipeline import Prepared, judge, policy_of
from hostagent.engine.report import Report
from hostagent.engine.report.times import iso
from hostagent.engine.result_cache import ResultCache
from hostagent.engine.target import Evidence, open_host
from hostagent.facts.host import Identity
from hostagent.facts.hostfacts import HostFacts
from hostagent.host.answer_file import Question
from hostagent.host.stuck_processes import StuckProcesses
from hostagent.sandbox import memory

#: Facts of one pass, and now: the facts with what is remembered.
Remember = Callable[[HostFacts, float], HostFacts]


#: What workers import. None of it is a library of a driver: those are loaded by a worker, and go with it.
_OF_WORKERS = (
    *(f"hostagent.sandbox.{name}" for name in ("library_sandbox", "confinement", "landlock", "seccomp", "privileges")),
    "hostagent.host.worker_locks",
    *(f"hostagent.domains.gpu.{name}" for name in ("read_nvml", "read_nvml_gate")),
    *(f"hostagent.domains.network.{name}" for name in ("read_network_answers", "read_rdma_sysfs")),
    "pynvml",
)


#: Seconds for `rehearse`: it takes a tenth of one.
_REHEARSAL_S = 2.0


class Pass(NamedTuple):
    """The result of a pass. ``answers``: every question to the host, with its answer."""

    report: Report
    answers: Mapping[Question, Any]
    took_s: float


class Between(NamedTuple):
    """State between passes: cached answers, remembered facts, hung processes, and results with unchanged facts."""

    cached: Mapping[Question, Any]
    remember: Remember
    stuck: Stuck
    cache: ResultCache


def run(place: Evidence, prepared: Prepared, node_name: str, between: Between) -> Pass:
    """Read, remember, judge. Raises ``HostagentError`` where there is no such host."""
    profile, cache = prepared.loaded.profile, between.cache
    with open_host(place, prepared.kinds, between.cached, between.stuck.alive(), cache.earlier(profile)) as reading:
        collected = reading.collect(policy_of(prepared))
        cache.keep(profile, collected.earlier)
        now = time.time()
        facts = between.remember(collected.facts, now)
        report = judge(collected._replace(facts=facts), reading, prepared, node_name, cache)
        answers = {} if place.snapshot else reading.answers
        if imported := getattr(reading, "imported", ()):
            preload(imported)
            rehearse(answers, facts.kind, prepared)
            memory.settle()
    between.stuck.add(getattr(reading, "left", StuckProcesses()))
    took_s = time.perf_counter() - reading.started
    return Pass(_of_now(report, now) if place.snapshot else report, answers, took_s)


def preload(modules: Iterable[str]) -> None:
    """Import the modules that a child of a pass imported: later children inherit them by fork."""
    for name in (*modules, *_OF_WORKERS):
        with contextlib.suppress(Exception):  # it was there a moment ago
            importlib.import_module(name)


def rehearse(answers: Mapping[Question, Any], kind: Kind, prepared: Prepared) -> None:
    """Run the readers once over recorded answers in this process: children then inherit what code makes on its first run, such as compiled
    patterns.
    """
    InProcess(_RecordedAnswers(answers, kind), prepared.kinds, deadline=within(_REHEARSAL_S)).collect(policy_of(prepared))


class _RecordedAnswers(NamedTuple):
    """A backend that has recorded answers alone."""

    answers: Mapping[Question, Any]
    kind: Kind

    def ask(self, *asked: str) -> Any:
        return self.answers.get(asked, Unread("not-recorded", "not asked before"))


def identity_of(place: Evidence) -> tuple[str, str]:
    """The boot that is judged and the host name, each "" where it cannot be read. Raises ``HostagentError``."""
    with open_host(place, (Identity.__name__,)) as reading:
        found = reading.collect().facts.of(Identity)
    known = () if isinstance(found, Unread) else (found.boot_id, found.hostname)
    boot_id, hostname = ("" if isinstance(one, Unread) else one for one in (known or ("", "")))
    return boot_id, hostname


def _of_now(report: Report, now: float) -> Report:
    """A simulation: the recording counts as read now."""
    expires = now + report.valid_until - report.observed_at
    return replace(report, observed_at=now, observed_at_iso=iso(now), valid_until=expires, valid_until_iso=iso(expires))
