"""Main loop: waits for an event, runs a pass, sends the result to the publisher. One thread, and the only one that forks."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from hostagent import __version__
from hostagent.core.errors import HostagentError
from hostagent.daemon import build_message, history, passes, record, statedir
from hostagent.daemon.conditions import measured
from hostagent.daemon.debounce import AGENT_STALE, CONFIRM_S, FIRST_PASS, State, advance, at_once, first, stale
from hostagent.daemon.documents import Documents
from hostagent.daemon.message import Message, Trigger
from hostagent.daemon.notify import Notify
from hostagent.daemon.passes import Between, Pass
from hostagent.daemon.settings import Settings
from hostagent.daemon.stuck import Stuck
from hostagent.engine.pipeline import Prepared
from hostagent.engine.report import Report, state
from hostagent.engine.report.node_status import Transition
from hostagent.engine.report.node_summary import class_in
from hostagent.engine.result_cache import ResultCache
from hostagent.facts.hostfacts import HostFacts
from hostagent.outputs.log import Log
from hostagent.sandbox import memory

#: Transitions that go to the publisher with each pass: it may miss what came between.
_NEWS = 32
#: Seconds between two lines about a condition that flaps.
_FLAPPING_S = 60.0
#: Seconds by which the publisher may be later than this process to take it for silent.
_SLACK_S = 10.0


class Publisher(Protocol):
    """The publisher as the loop uses it: see `hostagent.daemon.publisher_process`. Times are monotonic seconds."""

    def publish(self, what: Message, now: float) -> None:
        """Send this message; it replaces one that was not received yet."""

    def tick(self, now: float) -> None:
        """The loop is alive."""


class Wake(Protocol):
    """What makes a pass begin, as `hostagent.daemon.events` has it."""

    def wait(self, confirm_s: float | None, tick: Callable[[], None]) -> Trigger:
        """Until a pass is due; `confirm_s`: the seconds after which the last one has to be confirmed."""

    @property
    def problem(self) -> str:
        """Sources of events that do not work, and why; "" for none."""

    def cached_answers(self) -> Mapping[tuple[str, ...], object]:
        """Answers of programs and of the kernel log that the next pass need not ask for."""

    def add_event(self, trigger: Trigger) -> None:
        """Request a pass; a signal handler may call it."""

    def skipped(self) -> None:
        """No pass could be made: the next one comes by the interval, or with an event."""

    def passed(self, done: Pass, files: tuple[str, ...]) -> None:
        """What one pass read, and the profile's files: they are watched from now on."""


class Load(NamedTuple):
    """The profile, loaded anew where it changed, and why the one in force is an older one."""

    prepared: Prepared
    problem: str


class Loop:
    """One host, pass by pass."""

    def __init__(self, settings: Settings, load: Callable[[Prepared | None], Load], publisher: Publisher, log: Log) -> None:
        """`load` is given what is in force, None at the start."""
        self._settings, self._load, self._publisher, self._log = settings, load, publisher, log
        self._loaded = load(None)
        self._passes: Counter[str] = Counter()
        self._transitions: Counter[str] = Counter()
        self._published: State | None = None
        self._last_summary: dict[str, Any] = {}  # the summary of the last pass that measured what is published
        self._stuck, self._results, self._documents = Stuck(), ResultCache(), Documents()
        self._earlier: State | None = None
        self._memory = history.FRESH
        self._warned: dict[str, frozenset[str]] = {}
        self._record, self._news = record.EMPTY, tuple[Transition, ...]()
        self._saved, self._mark = self._record, tuple[int, ...]()
        self._judged_by, self._judged_at = time.monotonic(), 0.0  # the last pass: monotonic seconds, seconds since the epoch
        self._flapped_at: dict[str, float] = {}

    def begin(self) -> None:
        """Resume from what was published in this boot, or publish that no pass has run yet. Raises ``HostagentError``."""
        boot, hostname = self._go_on()
        name, now = self._settings.node_name or hostname.lower(), time.time()
        profile = self._loaded.prepared.loaded.title
        self._log.event("start", now, node=name, version=__version__, boot=boot, profile=profile, interval_s=self._settings.interval_s)
        self._judged_by = time.monotonic()
        self._publisher.tick(self._judged_by)  # probes are answered while the first pass hangs
        if self._published is None:
            self._published = first(boot, now)
            self._turn(self._published, now)
            self._save_record()
            self._publisher.publish(build_message.first_message(name, self._published, self._news), time.monotonic())
        else:
            self._judged_at = statedir.observed_at(self._settings.state_dir)
            self._publisher.publish(build_message.kept_message(name, self._published, self._judged_at), time.monotonic())

    def once(self, wake: Wake) -> Report:
        """A single pass, published without debouncing; times of change come from what was published before. Raises ``HostagentError``."""
        self._go_on()
        self._earlier, self._published = self._published, None
        return self.one("start", wake)

    def _go_on(self) -> tuple[str, str]:
        """Load the state directory. Returns the boot and the host's name."""
        boot, hostname = passes.identity_of(self._settings.evidence)
        folder = self._settings.state_dir
        kept, text = statedir.published(folder, boot), statedir.text(folder, statedir.HISTORY)
        loaded = history.load(text.value, boot) if text.value else history.Loaded(history.FRESH, "")
        kept_at, past = self._settings.record_dir, record.read(self._settings.record_dir)
        if past.problem and not self._settings.dry_run:
            statedir.put_aside(kept_at, statedir.RECORD)
        damaged = ((statedir.HISTORY, loaded.problem), (statedir.RECORD, past.problem))
        self._warn("start", kept.problem, text.problem, *(f"{name} begins anew: {why}" for name, why in damaged if why))
        self._published, self._memory, self._record, self._saved = kept.value, loaded.memory, past.record, past.record
        self._mark = statedir.mark(kept_at, statedir.RECORD)
        return boot, hostname

    def forever(self, wake: Wake, notify: Notify) -> None:
        """Until a signal raises."""
        trigger: Trigger = "start"
        while True:
            self._loaded = self._load(self._loaded.prepared)
            try:
                notify.ready(_status(self.one(trigger, wake)))
                self._warn("host")
                is_settled = self._published is not None and self._published.is_settled
            except HostagentError as error:  # what is published stays valid until it expires
                self._warn("host", unusable(error))
                wake.skipped()
                is_settled = False  # the host may be back soon
            assert self._published is not None
            trigger = wake.wait(None if is_settled else CONFIRM_S, lambda: self._alive(notify))

    def one(self, trigger: Trigger, wake: Wake) -> Report:
        """One pass: evaluate, write, publish."""
        settings, prepared = self._settings, self._loaded.prepared
        self._warn("load", self._loaded.problem, wake.problem)
        done = passes.run(
            settings.evidence, prepared, settings.node_name, Between(wake.cached_answers(), self._remember, self._stuck, self._results)
        )
        now = time.time()
        found = measured(done.report, {one.id: one.family.condition for one in prepared.checks})
        boot = done.report.boot_id  # a simulation changes it, and one that was not read is none: neither drops the published state
        before = replace(self._published, boot_id=boot) if self._published else None
        before = self._after_silence(before, now) if before else None
        published = advance(before, found, now) if before else at_once(boot, found, now, self._earlier)
        self._judged_by, self._judged_at = time.monotonic(), done.report.observed_at
        self._passes[trigger] += 1
        self._published = published
        self._record = record.with_faults(self._record, done.report)
        self._turn(published, now)
        self._flap(published)
        self._deliver(done, published, trigger)
        wake.passed(done, tuple(name for name, _ in prepared.loaded.files))
        return done.report

    def _deliver(self, done: Pass, published: State, trigger: Trigger) -> None:
        report, settings = done.report, self._settings
        short, text = self._documents.summary(report, published), self._documents.report(report)
        loaded = self._loaded.prepared.loaded
        files = None if settings.evidence.host_root else loaded.files
        profile = loaded.profile
        found = state.document(report, files, profile.quarantine, class_in(short), profile.gpus.count)
        document = statedir.document(found, report, published, record.last(self._record.transitions))
        texts = {**statedir.texts(published, document, short, text), statedir.HISTORY: history.dump(self._memory)}
        if not settings.dry_run:
            with statedir.alone(settings.state_dir):
                self._warn("files", *statedir.save(settings.state_dir, texts))
                self._save_record()
        counts = dict(self._passes), dict(self._transitions)
        metrics = build_message.metrics(report, self._memory.history)
        run = build_message.Run(metrics, self._judged_by, done.took_s, trigger, *counts, self._loaded.problem, self._news)
        is_first = all(one.reason == FIRST_PASS for one in published.conditions)  # the next pass confirms what this one found
        if published.verdicts == report.verdict or not self._last_summary:  # else a flapping host would publish again and again
            self._last_summary = short
        shown = (
            short
            if self._last_summary is short
            else {**build_message.beside(self._last_summary, published), "valid_until": short["valid_until"]}
        )
        words = (
            build_message.first_words(published) if is_first else build_message.words(published, shown, until=settings.label_valid_until)
        )
        self._publisher.publish(build_message.pass_message(words, report, short, text, run), time.monotonic())
        memory.trim()

    def _after_silence(self, before: State, now: float) -> State:
        """The published state before this pass. After a long silence the publisher has made it AgentStale, if it could write."""
        silent_s = time.monotonic() - self._judged_by
        mark = statedir.mark(self._settings.record_dir, statedir.RECORD)
        if mark != self._mark:
            (found, problem), self._mark = record.read(self._settings.record_dir), mark
            if problem:
                statedir.put_aside(self._settings.record_dir, statedir.RECORD)
            if found.count < self._record.count:
                self._saved = record.EMPTY  # the file was deleted: it is written again
            if found.count > self._record.count:
                news = tuple(one for one in found.transitions if one.number > self._record.count)
                self._note(news)
                self._record = self._saved = found
                kept: State | None = statedir.published(self._settings.state_dir, before.boot_id).value
                if kept and all(one.reason == AGENT_STALE for one in kept.conditions):
                    return kept
        if silent_s <= self._settings.stale_after_s + _SLACK_S:
            return before
        published = stale(before, self._judged_at, now)
        self._turn(published, now)
        return published

    def _turn(self, published: State, now: float) -> None:
        """Send transitions to the log, the record and the publisher."""
        before = self._record
        self._record, news = record.with_transitions(before, published.conditions, published.boot_id, now)
        self._note(news)
        for one in news:
            self._log.turned(one)

    def _note(self, news: tuple[Transition, ...]) -> None:
        self._news = (*self._news, *news)[-_NEWS:]
        self._transitions.update(one.condition for one in news if one.old and one.new)

    def _save_record(self) -> None:
        """Where it changed; it is long."""
        if self._record is not self._saved:
            problems = statedir.save(self._settings.record_dir, {statedir.RECORD: record.dump(self._record)})
            self._warn("record", *problems)
            self._saved = self._saved if problems else self._record
            self._mark = statedir.mark(self._settings.record_dir, statedir.RECORD)

    def _flap(self, published: State) -> None:
        """Log that a condition flaps, once a minute at most."""
        now = time.monotonic()
        for one in published.held:
            is_new = bool(one.changes) and one.changes[-1].at >= self._judged_at
            if one.flapping_until and is_new and now - self._flapped_at.get(one.type, -_FLAPPING_S) >= _FLAPPING_S:
                self._flapped_at[one.type] = now
                self._log.event("flapping", condition=one.type, found=one.last or "none", message=one.message)

    def _remember(self, facts: HostFacts, now: float) -> HostFacts:
        self._memory = history.advance(self._memory, facts, now)
        return history.with_history(facts, self._memory)

    def _alive(self, notify: Notify) -> None:
        self._publisher.tick(time.monotonic())
        notify.alive()

    def _warn(self, source: str, *problems: str) -> None:
        """Log each problem of `source` once, until it is gone. `problems`: all that it has now."""
        now = frozenset(filter(None, problems))
        for problem in sorted(now - self._warned.get(source, frozenset())):
            self._log.problem(problem)
        self._warned[source] = now


def _status(report: Report) -> str:
    return f"{report.verdict.single_node.replace('_', ' ')}{f': {report.headline}' if report.headline else ''}"


def unusable(error: HostagentError) -> str:
    """Why a pass could not begin, as one sentence."""
    return f"{error.message}. {error.next_step}".strip()
