"""The loop: it waits for what happens, judges the host, and gives the teller what there is to say. It has one thread, and alone forks."""

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
from hostagent.daemon.message import Saying, Trigger
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


class Listener(Protocol):
    """The teller process, as `hostagent.daemon.publisher_process` has it. Times are monotonic seconds."""

    def tell(self, what: Saying, now: float) -> None:
        """Give this, in the place of what was not taken yet."""

    def tick(self, now: float) -> None:
        """The loop is alive."""


class Wake(Protocol):
    """What makes a pass begin, as `hostagent.daemon.events` has it."""

    def wait(self, confirm_s: float | None, tick: Callable[[], None]) -> Trigger:
        """Until a pass is due; `confirm_s`: the seconds after which the last one has to be confirmed."""

    @property
    def problem(self) -> str:
        """What is not heard, and why; "" for nothing."""

    def known(self) -> Mapping[tuple[str, ...], object]:
        """Answers of programs and of the kernel log that the next pass need not ask for."""

    def heard(self, trigger: Trigger) -> None:
        """Something happened that makes a pass begin; a signal handler may say so."""

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

    def __init__(self, settings: Settings, load: Callable[[Prepared | None], Load], teller: Listener, log: Log) -> None:
        """`load` is given what is in force, None at the start."""
        self._settings, self._load, self._teller, self._log = settings, load, teller, log
        self._loaded = load(None)
        self._passes: Counter[str] = Counter()
        self._transitions: Counter[str] = Counter()
        self._told: State | None = None
        self._shown: dict[str, Any] = {}  # the summary of the last pass that found what is told
        self._stuck, self._results, self._documents = Stuck(), ResultCache(), Documents()
        self._earlier: State | None = None
        self._memory = history.FRESH
        self._warned: dict[str, frozenset[str]] = {}
        self._record, self._news = record.EMPTY, tuple[Transition, ...]()
        self._saved, self._mark = self._record, tuple[int, ...]()
        self._judged_by, self._judged_at = time.monotonic(), 0.0  # the last pass: monotonic seconds, seconds since the epoch
        self._flapped_at: dict[str, float] = {}

    def begin(self) -> None:
        """Go on from what was told in this boot, or say that nobody has looked yet. Raises ``HostagentError``."""
        boot, hostname = self._go_on()
        name, now = self._settings.node_name or hostname.lower(), time.time()
        profile = self._loaded.prepared.loaded.title
        self._log.event("start", now, node=name, version=__version__, boot=boot, profile=profile, interval_s=self._settings.interval_s)
        self._judged_by = time.monotonic()
        self._teller.tick(self._judged_by)  # probes are answered while the first pass hangs
        if self._told is None:
            self._told = first(boot, now)
            self._turn(self._told, now)
            self._save_record()
            self._teller.tell(build_message.first_said(name, self._told, self._news), time.monotonic())
        else:
            self._judged_at = statedir.observed_at(self._settings.state_dir)
            self._teller.tell(build_message.kept_said(name, self._told, self._judged_at), time.monotonic())

    def once(self, wake: Wake) -> Report:
        """One pass and no more: it is told as it is; since when says what was told before it. Raises ``HostagentError``."""
        self._go_on()
        self._earlier, self._told = self._told, None
        return self.one("start", wake)

    def _go_on(self) -> tuple[str, str]:
        """What the state directory remembers of this boot; the boot and the host's name."""
        boot, hostname = passes.who(self._settings.evidence)
        folder = self._settings.state_dir
        kept, text = statedir.told(folder, boot), statedir.text(folder, statedir.HISTORY)
        loaded = history.load(text.value, boot) if text.value else history.Loaded(history.FRESH, "")
        kept_at, past = self._settings.record_dir, record.read(self._settings.record_dir)
        if past.problem and not self._settings.dry_run:
            statedir.put_aside(kept_at, statedir.RECORD)
        damaged = ((statedir.HISTORY, loaded.problem), (statedir.RECORD, past.problem))
        self._warn("start", kept.problem, text.problem, *(f"{name} begins anew: {why}" for name, why in damaged if why))
        self._told, self._memory, self._record, self._saved = kept.value, loaded.memory, past.record, past.record
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
                is_settled = self._told is not None and self._told.is_settled
            except HostagentError as error:  # what was told stands until it expires
                self._warn("host", unusable(error))
                wake.skipped()
                is_settled = False  # the host may be back soon
            assert self._told is not None
            trigger = wake.wait(None if is_settled else CONFIRM_S, lambda: self._alive(notify))

    def one(self, trigger: Trigger, wake: Wake) -> Report:
        """One pass, judged, written, told."""
        settings, prepared = self._settings, self._loaded.prepared
        self._warn("load", self._loaded.problem, wake.problem)
        done = passes.run(
            settings.evidence, prepared, settings.node_name, Between(wake.known(), self._remember, self._stuck, self._results)
        )
        now = time.time()
        found = measured(done.report, {one.id: one.family.condition for one in prepared.checks})
        boot = done.report.boot_id  # a simulation changes it, and one that was not read is none: neither makes what was told forgotten
        before = replace(self._told, boot_id=boot) if self._told else None
        before = self._after_silence(before, now) if before else None
        told = advance(before, found, now) if before else at_once(boot, found, now, self._earlier)
        self._judged_by, self._judged_at = time.monotonic(), done.report.observed_at
        self._passes[trigger] += 1
        self._told = told
        self._record = record.judged(self._record, done.report)
        self._turn(told, now)
        self._flap(told)
        self._deliver(done, told, trigger)
        wake.passed(done, tuple(name for name, _ in prepared.loaded.files))
        return done.report

    def _deliver(self, done: Pass, told: State, trigger: Trigger) -> None:
        report, settings = done.report, self._settings
        short, text = self._documents.summary(report, told), self._documents.report(report)
        loaded = self._loaded.prepared.loaded
        files = None if settings.evidence.host_root else loaded.files
        profile = loaded.profile
        found = state.document(report, files, profile.quarantine, class_in(short), profile.gpus.count)
        document = statedir.document(found, report, told, record.last(self._record.transitions))
        texts = {**statedir.texts(told, document, short, text), statedir.HISTORY: history.dump(self._memory)}
        if not settings.dry_run:
            with statedir.alone(settings.state_dir):
                self._warn("files", *statedir.save(settings.state_dir, texts))
                self._save_record()
        counts = dict(self._passes), dict(self._transitions)
        metrics = build_message.metrics(report, self._memory.history)
        run = build_message.Run(metrics, self._judged_by, done.took_s, trigger, *counts, self._loaded.problem, self._news)
        is_first = all(one.reason == FIRST_PASS for one in told.conditions)  # the next pass confirms what this one found
        if told.verdicts == report.verdict or not self._shown:  # else the host flips, and would say the same again and again
            self._shown = short
        shown = short if self._shown is short else {**build_message.beside(self._shown, told), "valid_until": short["valid_until"]}
        words = build_message.first_words(told) if is_first else build_message.words(told, shown, until=settings.label_valid_until)
        self._teller.tell(build_message.said(words, report, short, text, run), time.monotonic())
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
                kept: State | None = statedir.told(self._settings.state_dir, before.boot_id).value
                if kept and all(one.reason == AGENT_STALE for one in kept.conditions):
                    return kept
        if silent_s <= self._settings.stale_after_s + _SLACK_S:
            return before
        told = stale(before, self._judged_at, now)
        self._turn(told, now)
        return told

    def _turn(self, told: State, now: float) -> None:
        """What turned goes to the log, the record and the publisher."""
        before = self._record
        self._record, news = record.turned(before, told.conditions, told.boot_id, now)
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

    def _flap(self, told: State) -> None:
        """That a condition flaps is logged once a minute at most."""
        now = time.monotonic()
        for one in told.held:
            is_new = bool(one.changes) and one.changes[-1].at >= self._judged_at
            if one.flapping_until and is_new and now - self._flapped_at.get(one.type, -_FLAPPING_S) >= _FLAPPING_S:
                self._flapped_at[one.type] = now
                self._log.event("flapping", condition=one.type, found=one.last or "none", message=one.message)

    def _remember(self, facts: HostFacts, now: float) -> HostFacts:
        self._memory = history.advance(self._memory, facts, now)
        return history.with_history(facts, self._memory)

    def _alive(self, notify: Notify) -> None:
        self._teller.tick(time.monotonic())
        notify.alive()

    def _warn(self, source: str, *problems: str) -> None:
        """Each once, until it has gone: all that `source` has to say now."""
        now = frozenset(filter(None, problems))
        for problem in sorted(now - self._warned.get(source, frozenset())):
            self._log.problem(problem)
        self._warned[source] = now


def _status(report: Report) -> str:
    return f"{report.verdict.single_node.replace('_', ' ')}{f': {report.headline}' if report.headline else ''}"


def unusable(error: HostagentError) -> str:
    """Why a pass could not begin, as one sentence."""
    return f"{error.message}. {error.next_step}".strip()
