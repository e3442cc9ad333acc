"""One pass over one host: in a child that the parent can abandon at the deadline, or in this process (a replay).

The child announces each question before it asks it, so that the parent can name the one it hangs in. It sends::

    ("ask", QUESTION)             a question goes to the backend now: a tuple of method and arguments
    ("answer", QUESTION, ANSWER)  the answer, where the parent records; see `_portable`
    ("fact", PICKLED)             (type name, value, milliseconds)
    ("crash", PICKLED)            an ``Unread`` with the traceback
    ("done",)

with marshal and pickle: nobody but this program, with the same rights, writes to the pipe.
"""

import contextlib
import marshal
import os
import select
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from hostagent.collect import READERS, collect, with_needs
from hostagent.crash import crash_lines, crash_text
from hostagent.deadline import Deadline, time_limit, within
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.unread import Unread, Why
from hostagent.source.base import Answer, Backend, Source
from hostagent.source.child import Child, Send
from hostagent.source.worker import Worker
from hostagent.vocabulary import Kind

#: Seconds after its deadline that the child gets for what it has read and not sent yet.
_GRACE_S = 0.2

#: A question as it is asked: method and arguments.
Question = tuple[str, ...]


class Collected(NamedTuple):
    """What one pass has read: facts, and milliseconds by fact type."""

    facts: HostFacts
    timings_ms: Mapping[str, float]


class Reading(Protocol):
    """One pass over one host."""

    #: When it began, by ``time.perf_counter``.
    started: float
    #: Whether from a snapshot.
    replayed: bool
    #: Seconds since the epoch: what stands for the host's clock where that could not be read.
    recorded_at: float
    #: Every question that went to the host, with its answer; complete after `collect`.
    answers: "dict[Question, Answer | Unread]"

    def collect(self, *, nvml_optional: bool = False) -> Collected:
        """The facts, once they have come or the time is up. Call it once. `nvml_optional`: the profile's word."""


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
        self._deadline = deadline or within(30)
        self.started = time.perf_counter()
        self.replayed = replayed
        self.recorded_at = recorded_at or time.time()
        self.answers: dict[Question, Answer | Unread] = {}

    def collect(self, *, nvml_optional: bool = False) -> Collected:
        told = _Told(self._backend, lambda _: None, self.answers.__setitem__)
        source = Source(told, nvml_optional=lambda: nvml_optional)
        with time_limit(self._deadline.left_s, self._deadline.seconds):
            return Collected(*collect(source, self._kinds))


class Forked:
    """A pass in a child: whatever hangs or computes, the parent has what came until the deadline, and goes on."""

    replayed = False

    def __init__(
        self, backend: Callable[[Sequence[Worker]], Backend], kind: Kind, kinds: Iterable[str], deadline: Deadline, *, records: bool = False
    ) -> None:
        """`backend` is made in the child, over the workers that the parent starts. `records`: keep the answers."""
        self.started = time.perf_counter()
        self._make_backend = backend
        self._kind: Kind = kind
        self._kinds = with_needs(tuple(kinds) or READERS)
        self._deadline = deadline
        self._records = records
        self._child = Child()
        self._word = (-1, -1)  # a pipe to the child, for what only the profile knows
        self._asked: Question = ()
        self._facts: list[bytes] = []
        self._problem: Unread | None = None
        self._is_done = False
        self.recorded_at = time.time()
        self.answers: dict[Question, Answer | Unread] = {}

    def start(self, workers: Sequence[Worker]) -> None:
        """Fork. The child listens to `workers` from now on; who started them ends them."""
        try:
            self._word = os.pipe()
            self._child.start(lambda send: self._read(send, workers), (self._word[0], *(one.pipe for one in workers if one.pid)))
        except OSError as error:
            self._problem = Unread("error", f"the reading process cannot start: {error}")
        for one in workers:
            one.hand_over()

    def close(self) -> None:
        """Kill the child, wherever it is."""
        self._end()
        for descriptor in self._word:
            if descriptor >= 0:
                os.close(descriptor)
        self._word = (-1, -1)

    def collect(self, *, nvml_optional: bool = False) -> Collected:
        if self._word[1] >= 0:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._word[1], b"1" if nvml_optional else b"0")
        self._receive()
        self._end()
        import pickle

        rows = [pickle.loads(one) for one in self._facts]  # noqa: S301  by our own child
        values = dict.fromkeys(self._kinds, self._problem) | {name: value for name, value, _ in rows}
        return Collected(HostFacts(values, self._kind), {name: took_ms for name, _, took_ms in rows})

    def _end(self) -> None:
        pid = self._child.pid
        self._child.close()
        if pid and not self._is_done:
            from hostagent.source.rpmcopy import remove_left

            remove_left(pid)

    def _receive(self) -> None:
        """All that comes until the child is done, dead or late."""
        while self._problem is None:
            messages = self._child.receive(self._deadline.left_s + _GRACE_S)
            if messages is None:
                self._stop("error", "the reading process ended")
            for message in messages or ():
                event, *rest = marshal.loads(message)  # noqa: S302  by our own child
                if event == "done":
                    self._is_done = True
                    return
                self._hear(event, *rest)
            if self._problem is None and self._deadline.left_s < -_GRACE_S:
                self._stop("timeout", f"the deadline of {self._deadline.seconds:g} s for the whole run has passed")

    def _stop(self, why: Why, how: str) -> None:
        question = " ".join(self._asked)
        self._problem = Unread(why, f"{how} in '{question}'" if question else f"{how} before the first question", question)
        if self._records and self._asked:
            self.answers.setdefault(self._asked, self._problem)

    def _hear(self, event: str, *rest: Any) -> None:
        if event == "ask":
            (self._asked,) = rest
        elif event == "answer":
            asked, answer = rest
            self.answers[asked] = Unread(*answer[0]) if isinstance(answer, tuple) else answer
        elif event == "crash":
            import pickle

            self._problem = pickle.loads(*rest)  # noqa: S301  by our own child
        else:
            self._facts += rest

    def _read(self, send: Send, workers: Sequence[Worker]) -> None:
        """In the child."""
        import pickle

        def tell(*event: Any) -> None:
            send(marshal.dumps(event))

        def keep(asked: Question, answer: "Answer | Unread") -> None:
            if self._records:
                tell("answer", asked, _portable(answer))

        try:
            told = _Told(self._make_backend(workers), lambda asked: tell("ask", asked), keep)
            source = Source(told, nvml_optional=_Word(self._word[0], self._deadline))
            collect(source, self._kinds, told=lambda *fact: tell("fact", pickle.dumps(fact, protocol=5)))
        except BrokenPipeError:
            raise
        except Exception as error:  # outside every reader: a bug of ours, which costs all that was not read yet
            crashed = Unread("error", f"the reading process crashed: {crash_text(error)}", evidence=crash_lines(error))
            tell("crash", pickle.dumps(crashed, protocol=5))
        tell("done")


class _Told:
    """A backend that says what it is asked before it asks, and what the answer was."""

    def __init__(self, backend: Backend, before: Callable[[Question], None], after: "Callable[[Question, Answer | Unread], None]") -> None:
        self._backend = backend
        self._before = before
        self._after = after

    @property
    def kind(self) -> Kind:
        return self._backend.kind

    def ask(self, method: str, *arguments: str) -> "Answer | Unread":
        asked = (method, *arguments)
        self._before(asked)
        answer = self._backend.ask(*asked)
        self._after(asked, answer)
        return answer


class _Word:
    """Whether NVML is optional: the parent says so as soon as it has read the profile, and is waited for until then."""

    def __init__(self, pipe: int, deadline: Deadline) -> None:
        self._pipe = pipe
        self._deadline = deadline
        self._is_optional: bool | None = None

    def __call__(self) -> bool:
        if self._is_optional is None:
            poll = select.poll()
            poll.register(self._pipe, select.POLLIN)
            came = poll.poll(max(0, self._deadline.left_s) * 1000)
            self._is_optional = bool(came) and os.read(self._pipe, 1) == b"1"
        return self._is_optional


def _portable(answer: "Answer | Unread") -> Answer:
    """What marshal takes: an ``Unread`` is a tuple in a tuple, which no answer is."""
    return ((answer.why, answer.detail),) if isinstance(answer, Unread) else answer
