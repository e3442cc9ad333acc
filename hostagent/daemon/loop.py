"""The loop: it waits for what happens, judges the host, and gives the teller what there is to say. It has one thread, and alone forks."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from hostagent.app import Prepared
from hostagent.daemon import history, passes, said, statedir
from hostagent.daemon.conditions import measured
from hostagent.daemon.documents import Documents
from hostagent.daemon.notify import Notify
from hostagent.daemon.passes import Between, Pass
from hostagent.daemon.saying import Saying, Trigger
from hostagent.daemon.settings import Settings
from hostagent.daemon.stuck import Stuck
from hostagent.daemon.told import CONFIRM_S, FIRST_PASS, State, advance, at_once, first
from hostagent.errors import HostagentError
from hostagent.facts.hostfacts import HostFacts
from hostagent.report import Report
from hostagent.source import memory
from hostagent.steady import Steady

Complain = Callable[[str], None]


class Listener(Protocol):
    """The teller process, as `hostagent.daemon.tellers` has it. Times are monotonic seconds."""

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

    def __init__(self, settings: Settings, load: Callable[[Prepared | None], Load], teller: Listener, complain: Complain) -> None:
        """`load` is given what is in force, None at the start."""
        self._settings, self._load, self._teller, self._complain = settings, load, teller, complain
        self._loaded = load(None)
        self._passes: Counter[str] = Counter()
        self._transitions: Counter[str] = Counter()
        self._told: State | None = None
        self._shown: dict[str, Any] = {}  # the summary of the last pass that found what is told
        self._stuck, self._steady, self._documents = Stuck(), Steady(), Documents()
        self._earlier: State | None = None
        self._memory = history.FRESH
        self._said: frozenset[str] = frozenset()

    def begin(self) -> None:
        """Go on from what was told in this boot, or say that nobody has looked yet. Raises ``HostagentError``."""
        boot, hostname = self._go_on()
        self._teller.tick(time.monotonic())  # probes are answered while the first pass hangs
        if self._told is None:
            now = time.time()
            self._told = first(boot, now)
            self._teller.tell(said.first_said(self._settings.node_name or hostname.lower(), self._told, now), time.monotonic())

    def once(self, wake: Wake) -> Report:
        """One pass and no more: it is told as it is; since when says what was told before it. Raises ``HostagentError``."""
        self._go_on()
        self._earlier, self._told = self._told, None
        return self.one("start", wake)

    def _go_on(self) -> tuple[str, str]:
        """What the state directory remembers of this boot; the boot and the host's name."""
        boot, hostname = passes.who(self._settings.evidence)
        kept, text = statedir.told(self._settings.state_dir, boot), statedir.history(self._settings.state_dir)
        loaded = history.load(text.value, boot) if text.value else history.Loaded(history.FRESH, "")
        self._warn(kept.problem, text.problem, loaded.problem and f"{statedir.HISTORY} begins anew: {loaded.problem}")
        self._told, self._memory = kept.value, loaded.memory
        return boot, hostname

    def forever(self, wake: Wake, notify: Notify) -> None:
        """Until a signal raises."""
        trigger: Trigger = "start"
        while True:
            self._loaded = self._load(self._loaded.prepared)
            try:
                notify.ready(_status(self.one(trigger, wake)))
            except HostagentError as error:  # what was told stands until it expires
                self._warn(unusable(error))
                wake.skipped()
            assert self._told is not None
            trigger = wake.wait(None if self._told.is_settled else CONFIRM_S, lambda: self._alive(notify))

    def one(self, trigger: Trigger, wake: Wake) -> Report:
        """One pass, judged, written, told."""
        settings, prepared = self._settings, self._loaded.prepared
        self._warn(self._loaded.problem, wake.problem)
        done = passes.run(settings.evidence, prepared, settings.node_name, Between(wake.known(), self._remember, self._stuck, self._steady))
        now = time.time()
        found = measured(done.report, {one.id: one.family.condition for one in prepared.checks})
        boot = done.report.boot_id  # a simulation changes it, and one that was not read is none: neither makes what was told forgotten
        before = replace(self._told, boot_id=boot) if self._told else None
        told = advance(before, found, now) if before else at_once(boot, found, now, self._earlier)
        self._passes[trigger] += 1
        self._transitions.update(said.transitions(before, told) if before else ())
        self._told = told
        self._deliver(done, told, trigger)
        wake.passed(done, tuple(name for name, _ in prepared.loaded.files))
        return done.report

    def _deliver(self, done: Pass, told: State, trigger: Trigger) -> None:
        report, settings = done.report, self._settings
        short, text = self._documents.summary(report, told), self._documents.report(report)
        files = None if settings.evidence.host_root else self._loaded.prepared.loaded.files
        texts = {**statedir.texts(report, told, files, short, text), statedir.HISTORY: history.dump(self._memory)}
        if not settings.dry_run:
            self._warn(*statedir.save(settings.state_dir, texts))
        run = said.Run(done.took_s, trigger, dict(self._passes), dict(self._transitions), self._loaded.problem)
        is_first = all(one.reason == FIRST_PASS for one in told.conditions)  # the next pass confirms what this one found
        if told.verdicts == report.verdict or not self._shown:  # else the host flips, and would say the same again and again
            self._shown = short
        shown = short if self._shown is short else {**said.beside(self._shown, told), "valid_until": short["valid_until"]}
        words = said.first_words(told) if is_first else said.words(told, shown, until=settings.label_valid_until)
        self._teller.tell(said.said(words, report, short, text, run), time.monotonic())
        memory.trim()

    def _remember(self, facts: HostFacts, now: float) -> HostFacts:
        self._memory = history.advance(self._memory, facts, now)
        return history.with_history(facts, self._memory)

    def _alive(self, notify: Notify) -> None:
        self._teller.tick(time.monotonic())
        notify.alive()

    def _warn(self, *problems: str) -> None:
        """Each once, until it has gone."""
        now = frozenset(filter(None, problems))
        for problem in sorted(now - self._said):
            self._complain(f"Warning: {problem}")
        self._said = (self._said | now) if now else self._said


def _status(report: Report) -> str:
    return f"{report.verdict.single_node.replace('_', ' ')}{f': {report.headline}' if report.headline else ''}"


def unusable(error: HostagentError) -> str:
    """Why a pass could not begin, as one sentence."""
    return f"{error.message}. {error.next_step}".strip()
