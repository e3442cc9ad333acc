"""The worker: a process that makes calls which may block in the kernel, so that no other process waits for them.

`Worker.start` forks it (see `hostagent.sandbox.child`). It asks its lane's fixed list of questions in a fixed order,
while everything else is collected, and sends one JSON message per event::

    ["begin", QUESTION, LABEL, MONOTONIC_S, ALLOWED_S]   a call that may hang starts now; its lane limits ALLOWED_S
    ["answer", QUESTION, ANSWER, MONOTONIC_S]            it ended
    ["done", METHODS, ANSWER]                            these methods are complete; ANSWER is for unanswered questions

QUESTION is ``[method, argument…]``, or empty for a call without an answer; ANSWER is ``{"value": …}``,
``{"bytes": latin-1 text}`` or ``{"unread": [why, detail]}``.
A call that times out costs its own answer and all later ones of this lane, and never more than its deadline. Every call that may
hang is announced, so that a timeout names the call that hangs. The parent stops reading from a worker that breaks the protocol
(`hostagent.sandbox.worker_protocol`), and from every worker at the end of the run.
"""

import json
import math
import time
from collections.abc import Callable
from typing import Any

from hostagent.core.answers import Answer
from hostagent.core.unread import Unread
from hostagent.sandbox import least_privileges
from hostagent.sandbox.child import Child, Send
from hostagent.sandbox.worker_protocol import LONGEST, MessageValidator, Question, RefusedError
from hostagent.sandbox.worker_spec import CALL_S, LOAD_S, LOCKING, LOOKING, SANDBOX, Lane

#: Seconds for an answer that is already in the pipe, where the deadline passed while the parent was busy.
_GRACE_S = 0.05
#: "No limit" in a message.
_DAY_S = 86400.0
_STARTING, _LOOKED = "the start of the worker", f"the step after {LOOKING}"
#: Characters shown of a rejected message.
_SHOWN = 80


class Worker:
    """The worker of one lane, from its parent. ``ask`` waits at most until the deadline of the current call."""

    def __init__(self, lane: Lane, root: str = "/", ends: float = math.inf) -> None:
        """`ends`: end of the whole run on the monotonic clock; no call is awaited beyond it."""
        self.lane = lane
        self._root = root
        self._ends = ends
        self._child = Child()
        self._not_running = Unread("error", "the worker is not running")
        self._validator = MessageValidator()
        self._answers: dict[Question, Answer | Unread] = {}
        self.took_s: dict[Question, float] = {}  # by the worker's clock
        self._done: dict[str, Answer | Unread] = {}
        self._call: tuple[Question, str, float, float] = ((), _STARTING, 0.0, LOAD_S)
        self._is_called = False  # begun and not ended

    @property
    def pid(self) -> int:
        """0 before `start` and after `close`."""
        return self._child.pid

    @property
    def pipe(self) -> int:
        """The descriptor that the asking process has to keep open."""
        return self._child.pipe

    @property
    def sandbox(self) -> dict[str, Any]:
        """The sandbox of the lane's library (`library_sandbox`), once it is known; {} where no library was loaded."""
        answer = self._answers.get(SANDBOX)
        return answer if isinstance(answer, dict) else {}

    def start(self) -> None:
        """Fork. On a host that is out of processes or descriptors only this worker's answers are missing.

        Raises ``RuntimeError`` in a process with threads.
        """
        self._call = ((), _STARTING, time.monotonic(), LOAD_S)
        try:
            self._child.start(self._work)
        except OSError as error:
            self._not_running = Unread("error", f"the worker cannot start: {error}")

    def _work(self, send: Send) -> None:
        """Runs in the worker."""
        events = _EventSender(send)
        try:
            least_privileges.worker()
            self.lane.read(self.lane, events.ask, events.done, self._root, self._ends)
        except BrokenPipeError:
            raise
        except Exception as error:  # a bug here is an answer too
            crashed = Unread("error", f"the worker crashed: {type(error).__name__}: {error}")
            events.done("read", "list", *self.lane.methods, rest=crashed)

    def hand_over(self) -> None:
        """Close this end of the pipe: another process asks, this one only ends the worker."""
        if self.pid:
            self._child.hand_over()

    def close(self) -> int:
        """Kill the worker and reap it. Returns 0, or its process id if it is stuck in the kernel."""
        return self._child.close()

    def ask(self, method: str, *arguments: str) -> "Answer | Unread":
        """The answer to ``read PATH [LIMIT]``, ``list PATH`` or a method of the lane's own."""
        if not self.pid:
            return self._not_running
        question = (method, *(arguments[:1] if method == "read" else arguments))
        while question not in self._answers and method not in self._done:
            self._receive()
        if question not in self._answers:
            return self._without_answer(question)
        answer = self._answers[question]
        if method == "read" and len(arguments) > 1 and isinstance(answer, bytes) and len(answer) > int(arguments[1]):
            return Unread("error", f"{arguments[0]} has {len(answer)} bytes, wanted at most {arguments[1]}")
        return answer

    def _receive(self) -> None:
        """Handle the next messages, a deadline of the current call or the run, or the worker's end."""
        messages: list[bytes] | None = []
        taken: dict[str, Callable[..., None]] = {"begin": self._begin, "answer": self._end, "done": self._complete}
        if time.monotonic() < self._ends + _GRACE_S:
            try:
                messages = self._child.receive(max(self._call_ends() - time.monotonic(), _GRACE_S), LONGEST)
                for message in messages or ():
                    event, *rest = self._validator.event(message)
                    taken[event](*rest)
            except (RefusedError, OverflowError) as error:
                self._end_all(Unread("error", f"the {self.lane.name} worker said what it was not asked after {self._call[1]}: {error}"))
                return
        if messages is None:
            self._on_exit()
        # Messages count even if the parent was busy, but a worker that keeps sending has no longer than the run.
        elif time.monotonic() >= (self._ends + _GRACE_S if messages else self._call_ends()):
            self._on_timeout()

    def _call_ends(self) -> float:
        _, _, began, allowed_s = self._call
        return min(began + allowed_s, self._ends)

    def _begin(self, question: Question, label: str, at: float, allowed_s: float) -> None:
        """Times from the worker can only shorten its deadline."""
        if self._is_called or (question and not self._may_be_asked(question)):
            raise RefusedError(" ".join(question)[:_SHOWN] or label[:_SHOWN])
        waits = label == LOCKING and self._call[1] in (_STARTING, _LOOKED)  # a worker waits for its lock once
        most_s = math.inf if waits else self.lane.allowed_s(question, label)
        self._is_called, self._call = True, (question, label, min(at, time.monotonic()), min(allowed_s, most_s))

    def _end(self, question: Question, answer: "Answer | Unread", at: float) -> None:
        if not self._is_called or question != self._call[0]:
            raise RefusedError(f"an answer to '{' '.join(question)[:_SHOWN]}'")
        if question:
            self._answers[question] = answer
            self.took_s[question] = max(0.0, min(at, time.monotonic()) - self._call[2])
        self._is_called, self._call = False, ((), f"the step after {self._call[1]}", min(at, time.monotonic()), CALL_S)

    def _complete(self, methods: tuple[str, ...], rest: "Answer | Unread") -> None:
        if not set(methods) <= {"read", "list", *self.lane.methods}:
            raise RefusedError(f"that {' '.join(methods)[:_SHOWN]} is complete")
        for method in methods:
            self._done.setdefault(method, rest)

    def _may_be_asked(self, question: Question) -> bool:
        """Each question once, until its method is complete."""
        method, *arguments = question
        if method in self._done or question in self._answers:
            return False
        return question == SANDBOX or method in self.lane.methods or (len(arguments) == 1 and self.lane.has(method, *arguments))

    def _on_timeout(self) -> None:
        question, label, began, allowed_s = self._call
        if question:
            asked_s = min(allowed_s, max(0, round(self._ends - began, 1)))  # less where the run ended first
            self._answers[question] = Unread("timeout", f"{label}: no answer in {asked_s:g} s")
        self._end_all(Unread("timeout", f"not asked: {label} hangs"))

    def _on_exit(self) -> None:
        """The pipe closed before ``done``: the library crashed, or the worker was killed."""
        question, label, _, _ = self._call
        gone = Unread("error", f"the reading process ended in {label}")
        if question:
            self._answers.setdefault(question, gone)
        self._end_all(gone)

    def _end_all(self, unread: Unread) -> None:
        """Close the pipe, which ends a worker that keeps writing."""
        if self._child.pipe >= 0:
            self._child.hand_over()
        for method in ("read", "list", *self.lane.methods):
            self._done.setdefault(method, unread)

    def _without_answer(self, question: tuple[str, ...]) -> Unread:
        """The answer to a question that the worker did not answer, once its method is done."""
        rest = self._done[question[0]]
        if isinstance(rest, Unread):
            return rest
        if question[0] in self.lane.methods:
            return Unread("absent", f"{question[0].upper()} has no {' '.join(question[1:])}")
        path = question[1]
        parent, _, name = path.rpartition("/")
        names = self._answers.get(("list", parent))
        if isinstance(names, list):
            # The file exists but is not on the worker's list: a bug in hostagent.
            return Unread("error", f"{path} is not read") if name in names else Unread("absent", f"{path}: no such file")
        if isinstance(names, Unread) or not parent:
            return Unread("absent", f"{path}: no such file") if names is None or names.why == "absent" else names
        return self._without_answer(("list", parent))


class HungWorker:
    """In place of a worker that is not started, because one of an earlier pass still hangs in that driver."""

    pid, pipe = 0, -1

    def __init__(self, lane: Lane, pid: int) -> None:
        """`pid`: the process that hangs."""
        self.lane = lane
        self.sandbox: dict[str, Any] = {}
        self.took_s: dict[Question, float] = {}
        self._late = Unread("timeout", f"not asked: process {pid} of an earlier pass hangs in the {lane.name} driver")

    def start(self) -> None:
        """Nothing to start."""

    def hand_over(self) -> None:
        """Nothing to hand over."""

    def close(self) -> int:
        return 0

    def ask(self, *_: str) -> Unread:
        return self._late


class _EventSender:
    """Runs in the worker: announces each call, makes it, sends the answer."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def ask(self, question: tuple[str, ...], label: str, call: Callable[[], Any], allowed_s: float = CALL_S) -> Any:
        """The answer of `call`. With an empty `question` the parent gets no answer."""
        self._send_event("begin", question, label, time.monotonic(), min(allowed_s, _DAY_S))
        answer = call()
        self._send_event("answer", question, _encoded(answer if question else None), time.monotonic())
        return answer

    def done(self, *methods: str, rest: "Answer | Unread" = None) -> None:
        """These methods are complete; their unanswered questions are `rest`, or absent."""
        self._send_event("done", methods, _encoded(rest))

    def _send_event(self, *event: Any) -> None:
        self._send(json.dumps(event).encode())


def _encoded(answer: Any) -> dict[str, Any]:
    if isinstance(answer, Unread):
        return {"unread": [answer.why, answer.detail]}
    return {"bytes": answer.decode("latin-1")} if isinstance(answer, bytes) else {"value": answer}
