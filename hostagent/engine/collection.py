"""One pass over one host: what it reads, and in which process. A snapshot in this one, others in `collector_process`."""

import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from hostagent.core.answers import Answer
from hostagent.core.deadline import Deadline, time_limit, within
from hostagent.core.errors import OutOfTime
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.engine.collect import READERS, Fact, collect, with_needs
from hostagent.facts.hostfacts import Earlier, HostFacts
from hostagent.host.answer_file import Question
from hostagent.host.policy import NO_POLICY, Policy
from hostagent.host.source import Backend, Source
from hostagent.sandbox.worker_spec import below


class Collected(NamedTuple):
    """What one pass has read: facts, and milliseconds by fact type; and for the next one, what each was read from."""

    facts: HostFacts
    timings_ms: Mapping[str, float]
    earlier: Mapping[str, Earlier] = MappingProxyType({})


def earlier(facts: Iterable[Fact]) -> Mapping[str, Earlier]:
    """What the next pass may take them for."""
    return {one.name: Earlier(one.value, one.asked) for one in facts if one.asked}


class Reading(Protocol):
    """One pass over one host."""

    #: When it began, by ``time.perf_counter``.
    started: float
    #: Whether from a snapshot.
    replayed: bool
    #: Seconds since the epoch: what stands for the host's clock where that could not be read.
    recorded_at: float
    #: By lane, the cage in which its library was asked; complete after `collect`.
    cages: dict[str, Any]
    #: Of the whole run.
    deadline: Deadline

    @property
    def answers(self) -> "Mapping[Question, Answer | Unread]":
        """Every question that went to the host, with its answer; complete after `collect`, until the pass is closed."""

    def collect(self, policy: Policy = NO_POLICY) -> Collected:
        """The facts, once they have come or the time is up. Call it once. `policy`: the profile's word."""


class InProcess:
    """A pass in this process. A replay cannot hang in the kernel; what it computes ends at the deadline."""

    def __init__(
        self,
        backend: Backend,
        kinds: Iterable[str] = (),
        *,
        deadline: Deadline | None = None,
        replayed: bool = False,
        recorded_at: float = 0,
    ) -> None:
        """`kinds`: names of the fact types to read, all when there is none. `recorded_at`: now, unless said."""
        self._backend = backend
        self._kinds = tuple(kinds)
        #: Facts of the pass before, None where none comes after.
        self.before: Mapping[str, Earlier] | None = None
        #: Called with each question that was answered; set before `collect`, and None where that is of no interest.
        self.on_answer: OnAnswer | None = None
        self.deadline = deadline or within(30)
        self.started = time.perf_counter()
        self.replayed = replayed
        self.recorded_at = recorded_at or time.time()
        self.answers: dict[Question, Answer | Unread] = {}
        self.cages: dict[str, Any] = {}

    def collect(self, policy: Policy = NO_POLICY) -> Collected:
        source = self._source(policy)
        read: list[Collected] = []
        facts: list[Fact] = []
        try:
            with time_limit(self.deadline.left_s, self.deadline.seconds):
                read.append(Collected(*collect(source, self._kinds, told=facts.append, earlier=self.before), earlier(facts)))
        except OutOfTime as error:  # before the first reader began, or after the last one
            late = Unread("timeout", str(error))
            read.append(Collected(HostFacts(dict.fromkeys(with_needs(self._kinds or READERS), late), source.kind), {}))
        return read[0]

    def _source(self, policy: Policy) -> Source:
        if not self.on_answer:
            return Source(self._backend, policy=lambda: policy, on_answer=self.answers.__setitem__)
        watch = Stopwatch(self.on_answer, heard=self.answers.__setitem__)
        return Source(Told(self._backend, watch.begin), policy=lambda: policy, on_answer=watch.end)


#: Question, "ok" or why it was not answered, and how many seconds that took.
OnAnswer = Callable[[Question, str, float], None]


class Stopwatch:
    """Measures each question between `begin`, which a `Told` calls, and `end`, which a `Source` calls, and reports it to `on_answer`."""

    def __init__(
        self,
        on_answer: OnAnswer,
        begin: Callable[[Question], None] = lambda _: None,
        heard: "Callable[[Question, Answer | Unread], None]" = lambda *_: None,
        measured: Callable[[Question], "float | None"] = lambda _: None,
    ) -> None:
        """`measured`: what a worker measured, which answers ahead of the question."""
        self._on_answer, self._begin, self._heard, self._measured = on_answer, begin, heard, measured
        self._began = 0.0

    def begin(self, asked: Question) -> None:
        self._begin(asked)
        self._began = time.perf_counter()

    def end(self, asked: Question, answer: "Answer | Unread") -> None:
        took_s = time.perf_counter() - self._began
        self._heard(asked, answer)
        measured_s = self._measured(asked)
        self._on_answer(asked, answer.why if isinstance(answer, Unread) else "ok", took_s if measured_s is None else measured_s)


class Told:
    """A backend that says what it is asked before it asks; below `hung` it asks nothing."""

    def __init__(
        self,
        backend: Backend,
        before: Callable[[Question], None],
        hung: Iterable[str] = (),
    ) -> None:
        self._backend = backend
        self._before = before
        self._hung = tuple(hung)

    @property
    def kind(self) -> Kind:
        return self._backend.kind

    def ask(self, *asked: str) -> "Answer | Unread":
        self._before(asked)
        if self._hung and (place := next((one for one in self._hung if below("".join(asked[1:2]), one)), "")):
            return Unread("timeout", f"{asked[1]}: not asked, the file system at {place} hangs")
        return self._backend.ask(*asked)
