"""A pass in a child that the parent can abandon: at the deadline, or when one question hangs.

The child announces each question before it asks it (`hostagent.host.current_question`), so that the parent can name the one it hangs in.
It sends::

    ("fact", DATA)                   a `hostagent.engine.collect.Fact`; without its value where the parent has that from an earlier pass
    ("cage", LANE, CAGE)             in which a lane's library was asked, see `hostagent.sandbox.library_sandbox`
    ("refused", MESSAGE, NEXT_STEP)  a ``HostagentError``: what is there is not what was wanted
    ("crash", DETAIL, LINES)         what happened, and the traceback
    ("imported", NAMES)              modules that it needed and its parent had not
    ("answered", QUESTION, HOW, S)   where `Forked.on_answer` is set: as that takes it
    ("done",)

by marshal, DATA by pickle: both ends have the same rights. A child that reads an image has fewer, and gets none of its parent's by what
it sends: from it comes JSON of a bounded size, DATA as `hostagent.engine.fact_data` has it. Answers go to a file in memory
(`hostagent.host.answer_file`): a snapshot is made of them, and a child that hangs in a question is replaced by one that has them.
"""

import contextlib
import marshal
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from hostagent.core.answers import Answer
from hostagent.core.crash import crash_lines, crash_text
from hostagent.core.deadline import Deadline
from hostagent.core.errors import HostagentError
from hostagent.core.unread import Unread, Why
from hostagent.core.vocabulary import Kind
from hostagent.engine.collect import READERS, Fact, collect, with_needs
from hostagent.engine.collection import Collected, OnAnswer, Stopwatch, Told, earlier
from hostagent.engine.timeouts import allowed_s
from hostagent.facts.hostfacts import Earlier, HostFacts
from hostagent.host.answer_file import AnswerFile, Question
from hostagent.host.current_question import NOTHING, CurrentQuestion, OpenQuestion
from hostagent.host.encoding import FAST, STRICT
from hostagent.host.policy import NO_POLICY, Policy
from hostagent.host.policy_pipe import PolicyPipe
from hostagent.host.source import Backend, Source
from hostagent.host.stuck_processes import StuckProcesses
from hostagent.sandbox.child import Child, Send
from hostagent.sandbox.mounts import mount_below
from hostagent.sandbox.privileges import is_sandbox
from hostagent.sandbox.worker import HungWorker, Worker

#: Seconds after its deadline that the child gets for what it has read and not sent yet.
_GRACE_S = 0.2

#: What the child does first: the root may be on a disk that does not answer.
_ENTER = "enter"
#: The part of its time for which a child that works, and does not hang, uses the processor: a host may have 50,000 processes.
_BUSY = 0.5
#: Seconds between two looks at a child: it does not say when it begins a question.
_LOOK_S = 0.25
#: Children that are replaced in one pass. Each may have left a process in the kernel.
_MAX_REPLACED = 3
#: More than there are lanes.
_MAX_CAGES = 16


class Place(NamedTuple):
    """What is read, where its ``/`` is for this process, and what is not asked there, for it has been answered before."""

    root: str
    kind: Kind
    known: "Mapping[Question, Answer | Unread]" = MappingProxyType({})
    left: StuckProcesses = StuckProcesses()
    earlier: "Mapping[str, Earlier] | None" = None  # facts of the pass before, None where none comes after


class Forked:
    """A pass in a child: whatever hangs or computes, the parent has what came until the deadline, and goes on.

    A question that does not end costs its own answer: the child that hangs in it is left behind, and another one goes on.
    """

    replayed = False

    def __init__(
        self,
        backend: "Callable[[Sequence[Worker | HungWorker]], Backend]",
        place: Place,
        kinds: Iterable[str],
        deadline: Deadline,
        workers: "Callable[[Mapping[str, int]], Sequence[Worker | HungWorker]]" = lambda _: (),
    ) -> None:
        """`backend` is made in the child, over what `workers` makes, who is told of lanes in which a worker of this pass hangs already."""
        self._root, self._kind, known, before, self._earlier = place
        self._coding = STRICT if self._kind == "image" else FAST
        self._left_bytes = self._coding.most_total
        self.started = time.perf_counter()
        self._make_backend = backend
        self._make_workers = workers
        self._kinds = with_needs(tuple(kinds) or READERS)
        self.deadline = deadline
        self._workers: Sequence[Worker | HungWorker] = ()
        self._child = Child()
        self._kept: AnswerFile | None = None
        self._known = {**known, **before.answers}  # what the child begins with
        #: Mount points where a question hung: nothing there is asked any more.
        self._hung = [found for one in before.questions for path in one[1:2] if (found := mount_below(self._root, path))]
        self._most_replaced = max(0, _MAX_REPLACED - len(before.questions))
        self.left = StuckProcesses({}, {})
        self._word = (-1, -1)  # a pipe to the child, for what only the profile knows
        self._under_way: CurrentQuestion | None = None
        self._seen = (0.0, 0.0, 0.0)  # a question, by when it began: when it was seen first, and the processor time of the child then
        self._replaced = 0
        self._facts: list[Any] = []  # as they came
        self._problem: Unread | None = None
        self._refused: HostagentError | None = None
        self._is_done = False
        self.recorded_at = time.time()
        self._last: dict[Question, Answer | Unread] = {}  # the question in which it ended
        self.cages: dict[str, Any] = {}
        self.imported: tuple[str, ...] = ()  # modules: whoever forks again imports them first
        #: Called with each question that was answered; set before `start`, and None where that is of no interest.
        self.on_answer: OnAnswer | None = None

    @property
    def answers(self) -> "Mapping[Question, Answer | Unread]":
        """Read when they are asked for: most runs have no use for them here."""
        return {**self._last, **(self._kept.read() if self._kept else {}), **self._known}

    def start(self) -> None:
        """Start the workers, then fork."""
        try:
            self._kept = AnswerFile(self._coding)
            self._word = os.pipe()
        except OSError as error:
            self._problem = Unread("error", f"the reading process cannot start: {error}")
            return
        self._begin(PolicyPipe(self._word[0], self.deadline))

    def _begin(self, policy: Callable[[], Policy]) -> None:
        assert self._kept is not None
        self._unshare()
        self._workers = self._make_workers(self.left.lanes)
        for one in self._workers:  # the workers first: they read while everything else is collected
            one.start()
        self._child = Child()
        needed = (self._word[0], self._kept.descriptor, *(one.pipe for one in self._workers if one.pid))
        try:
            self._under_way = CurrentQuestion(self._coding)
            self._child.start(lambda send: self._read(send, policy), needed)
        except OSError as error:
            self._problem = Unread("error", f"the reading process cannot start: {error}")
        for one in self._workers:  # the child listens to them from now on
            one.hand_over()

    def close(self) -> None:
        """Kill the child, wherever it is, and the workers."""
        self._end()
        self._unshare()
        if self._kept:
            self._kept.close()
        for descriptor in self._word:
            if descriptor >= 0:
                os.close(descriptor)
        self._word = (-1, -1)

    def collect(self, policy: Policy = NO_POLICY) -> Collected:
        """Raises ``HostagentError`` where the root is not what was wanted, or does not answer."""
        if self._word[1] >= 0:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._word[1], marshal.dumps(tuple(policy)))
        self._receive(lambda: policy)
        self._end()
        if self._refused:
            raise self._refused
        before, rows = self._earlier or {}, self._rows()
        facts = [one if one.is_new else one._replace(**before[one.name]._asdict()) for one in rows]
        values = dict.fromkeys(self._kinds, self._problem) | {one.name: one.value for one in facts}
        return Collected(HostFacts(values, self._kind), {one.name: one.took_ms for one in facts}, earlier(facts))

    def _rows(self) -> list[Fact]:
        if self._coding is FAST:
            import pickle

            return [Fact(*pickle.loads(one)) for one in self._facts]  # noqa: S301  by our own child, which has our rights
        from hostagent.engine import fact_data

        rows = list[Fact]()
        for row in self._facts:
            try:
                rows.append(fact_data.unpack(row))
            except (ValueError, TypeError, RecursionError, OverflowError) as error:
                self._problem = Unread("error", f"the reading process sent no fact: {error!s:.200}")
        return [one for one in rows if one.name in self._kinds]

    def _end(self) -> int:
        """The process id of a child that hangs in the kernel, where not even SIGKILL ends it; else 0."""
        left = self._child.close()
        lanes = {one.lane.name: pid for one in self._workers if (pid := one.close())}
        self.left = StuckProcesses(self.left.questions, {**self.left.lanes, **lanes})
        self._workers = ()
        return left

    def _unshare(self) -> None:
        """A worker that is forked from here on has not the memory in which the child is believed."""
        if self._under_way:
            self._under_way.close()
        self._under_way = None

    def _receive(self, policy: Callable[[], Policy]) -> None:
        """All that comes until the child is done, dead or late."""
        while self._problem is None and self._refused is None:
            messages: list[bytes] | None = []
            try:
                messages = self._child.receive(min(self.deadline.left_s + _GRACE_S, _LOOK_S), self._coding.most_bytes)
                for message in messages or ():
                    self._hear(message)
                    if self._is_done:
                        return
            except (ValueError, TypeError, OverflowError) as error:
                self._stop("error", f"the reading process said what it was not asked: {error!s:.200}")
            if messages is None:
                self._stop("error", "the reading process ended")
            if self._problem is not None:
                continue
            if self.deadline.left_s < -_GRACE_S:
                self._stop("timeout", f"the deadline of {self.deadline.seconds:g} s for the whole run has passed")
            elif messages:
                continue
            elif hangs := self._hangs():
                self._replace(hangs, policy)

    def _hangs(self) -> Question:
        """The question under way, where it has taken all its time, and not because the child computes or waits for a processor, which a
        container may get little of. () where it has not.
        """
        asked, began = self._asked
        now = time.monotonic()
        if began != self._seen[0]:
            self._seen = (began, now, self._child.cpu_s)
        _, seen, cpu_s = self._seen
        if not asked or now < max(began + allowed_s(asked), seen + _LOOK_S):
            return ()
        works = self._child.cpu_s - cpu_s > _BUSY * (now - seen) or self._child.state == "R"
        return () if works else asked

    @property
    def _asked(self) -> OpenQuestion:
        """The question under way."""
        return self._under_way.get() if self._under_way else NOTHING

    def _replace(self, asked: Question, policy: Callable[[], Policy]) -> None:
        """Leave the child that hangs, and start another that has all the answers and a timeout for that one."""
        assert self._kept is not None
        left = self._end()
        if asked[0] == _ENTER:
            self._refused = HostagentError(f"{self._root} does not answer", "Look at its mount: 'findmnt', and 'dmesg' for its disk")
            return
        where = f", and process {left} hangs in it and cannot be killed" if left else ""
        late = Unread("timeout", f"{' '.join(asked)}: no answer in {allowed_s(asked):g} s{where}")
        self._tell_answer(asked, late)
        if left:
            self.left = StuckProcesses({**self.left.questions, asked: left}, self.left.lanes)
        if self._replaced >= self._most_replaced:
            self._problem = Unread("timeout", f"the fourth question that hangs: {late.detail}", " ".join(asked))
            return
        self._replaced += 1
        self._hung += filter(None, (mount_below(self._root, path) for path in asked[1:2]))
        self._known = {**self._known, **self._kept.read(), asked: late}
        self._begin(policy)

    def _stop(self, why: Why, how: str) -> None:
        asked, *_ = self._asked
        if asked[:1] == (_ENTER,):
            asked = ()
        question = " ".join(asked)
        self._problem = Unread(why, f"{how} in '{question}'" if question else f"{how} before the first question", question)
        if asked:
            self._last[asked] = self._problem
            self._tell_answer(asked, self._problem)

    def _tell_answer(self, asked: Question, answer: Unread) -> None:
        """Of a question in which the child ended."""
        if self.on_answer:
            self.on_answer(asked, answer.why, max(0, time.monotonic() - self._asked[1]))

    def _hear(self, message: bytes) -> None:
        """Raises ``ValueError`` and ``TypeError`` for what no child of ours says."""
        self._left_bytes -= self._coding.cost(message)
        if self._left_bytes < 0:
            raise ValueError("found too much")
        match self._coding.loads(message):
            case ["done"]:
                self._is_done = True
            case ["imported", [*names]]:
                self.imported = tuple(map(str, names))
            case ["cage", str(lane), dict(cage)] if is_sandbox(cage) and len(self.cages) < _MAX_CAGES:
                self.cages[lane] = cage
            case ["refused", str(text), str(next_step)]:
                self._refused = HostagentError(text, next_step)
            case ["crash", str(detail), [*lines]]:
                self._problem = Unread("error", detail, evidence=tuple(map(str, lines)))
            case ["answered", [*asked], str(how), float(took_s)] if self.on_answer:
                self.on_answer(tuple(map(str, asked)), how, took_s)
            case ["fact", data] if len(self._facts) < (1 + _MAX_REPLACED) * len(self._kinds):  # each child says all
                self._facts.append(data)
            case _:
                raise ValueError("found no such event")

    def _give_up_rights(self) -> dict[str, Any]:
        """In the child, before the first question. The cages of this pass, by what is in them."""
        from hostagent.sandbox import least_privileges

        if self._kind != "image":
            least_privileges.live_reader()
            return {}
        from hostagent.domains.packages.read_rpm_copy import provide_rpm

        with contextlib.suppress(OSError):  # no process to be had: rpm's answers say so
            provide_rpm(self._root)
        return {"image": least_privileges.image_reader(self._root).plain()}

    def _measured(self, asked: Question) -> "float | None":
        """In the child: what a worker measured."""
        question = asked[:2] if asked[0] == "read" else asked
        return next((one.took_s[question] for one in self._workers if question in one.took_s), None)

    def _read(self, send: Send, policy: Callable[[], Policy]) -> None:
        """In the child."""
        import pickle

        before = len(sys.modules)  # to take each name would make a copy of the memory in which it is

        def tell(*event: Any) -> None:
            send(self._coding.dumps(event))

        def told(fact: Fact) -> None:
            if self._coding is FAST:
                tell("fact", pickle.dumps(tuple(fact if fact.is_new else fact._replace(value=None, asked=b"")), protocol=5))
            else:
                from hostagent.engine import fact_data

                tell("fact", fact_data.pack(fact))

        try:
            assert self._kept is not None
            assert self._under_way is not None
            say = self._under_way.set
            say((_ENTER, self._root))
            backend = self._make_backend(self._workers)
            for name, cage in self._give_up_rights().items():
                tell("cage", name, cage)
            say(())
            heard = self._kept.add
            if self.on_answer:
                watch = Stopwatch(partial(tell, "answered"), say, heard, self._measured)
                say, heard = watch.begin, watch.end
            source = Source(Told(backend, say, self._hung), policy=policy, cached=self._known, on_answer=heard)
            collect(source, self._kinds, told=told, earlier=self._earlier)
            for one in self._workers:
                if one.sandbox:
                    tell("cage", one.lane.name, one.sandbox)
        except BrokenPipeError:
            raise
        except HostagentError as error:
            tell("refused", error.message, error.next_step)
        except Exception as error:  # outside every reader: a bug of ours, which costs all that was not read yet
            tell("crash", f"the reading process crashed: {crash_text(error)}", list(crash_lines(error)))
        tell("imported", sorted(islice(reversed(sys.modules), len(sys.modules) - before)))
        tell("done")
