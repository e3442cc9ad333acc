"""The worker: a process that reads what may block in the kernel, so that nothing else waits for it.

`Worker.start` forks it (before any thread: a forked child has only the thread that forked). It asks a fixed list of
questions by itself, in a fixed order (see `hostagent.source.lane`), while the parent collects everything else, and
streams one JSON line an event through a pipe::

    ["begin", QUESTION, LABEL, MONOTONIC_S, ALLOWED_S]   a call that may hang starts now
    ["answer", QUESTION, ANSWER, MONOTONIC_S]            it ended
    ["done", METHODS, ANSWER]                            these methods are complete; ANSWER is for what had none

QUESTION is ``[method, argument…]``, or empty for a call whose answer nobody asks for; ANSWER is ``{"value": …}``,
``{"bytes": latin-1 text}`` or ``{"unread": [why, detail]}``.
A call that does not end in time costs its own answer and all that come after it in this lane, and never more than
its deadline. Every call that may hang is announced, so that the blame falls on the call that hangs.
"""

import contextlib
import json
import math
import os
import select
import signal
import time
from typing import Any

from hostagent.facts.unread import Unread
from hostagent.source.base import Answer

#: Seconds one call may take. Every call on a healthy host takes a few milliseconds.
CALL_S = 1.0
#: Seconds for initialising NVML, and for the first call to each GPU, where no persistence daemon keeps the GPUs awake.
FIRST_INIT_S = 10.0
#: Seconds to load this program's own parts: a cold or throttled disk, never the kernel driver.
LOAD_S = 10.0
#: Seconds `Worker.close` waits for a killed worker. One that is stuck in the kernel dies when the kernel lets it.
CLOSE_S = 0.2

METHODS = ("read", "list", "nvml")

#: What a pipe may hold without privileges (pipe(7)): the worker never waits for a busy parent.
_PIPE_BYTES = 1024 * 1024
#: A deadline that passed while the parent was busy gets this long for an answer that is already on its way.
_GRACE_S = 0.05


class Worker:
    """The parent's end. ``ask`` waits for the worker at most until the deadline of the call that it is in."""

    _left_behind: "list[int]" = []  # noqa: RUF012 - one list for the process: workers that SIGKILL did not end at once

    def __init__(self, root: str = "/", nvml_optional: bool = False, ends: float = math.inf) -> None:  # noqa: FBT002 - the profile's word
        """`ends` is when the whole run ends, on the monotonic clock: no call is waited for beyond it."""
        self._root = os.path.realpath(root)
        #: Only the profile knows; the worker need not: set it at any time before the first question to NVML.
        self.nvml_optional = nvml_optional
        self._ends = ends
        self._pid = 0
        self._pipe = -1
        self._not_running = Unread("error", "the worker is not running")
        self._buffer = b""
        self._answers: dict[tuple[str, ...], Answer | Unread] = {}
        self._done: dict[str, Answer | Unread] = {}
        self._call: tuple[tuple[str, ...], str, float, float] = ((), "the start of the worker", 0.0, LOAD_S)

    @property
    def pid(self) -> int:
        """0 before `start` and after `close`."""
        return self._pid

    def start(self) -> None:
        """Fork. Call it early, from a thread that lives as long as the worker: the worker dies with that thread.

        A host that is out of processes or descriptors has no answers from a worker, and every other answer.
        """
        self._reap(*Worker._left_behind)
        try:
            self._pipe, theirs = os.pipe()
        except OSError as error:
            self._not_running = Unread("error", f"the worker cannot start: {error}")
            return
        with contextlib.suppress(OSError):  # pipe-user-pages-soft is used up: a small pipe works too
            _set_pipe_size(theirs)
        self._call = (*self._call[:2], time.monotonic(), LOAD_S)
        # A signal that meets the child before it has settled would run the caller's handlers there.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._pid = _fork(theirs, self._root)
        except OSError as error:
            os.close(self._pipe)
            self._not_running = Unread("error", f"the worker cannot start: {error}")
        finally:
            os.close(theirs)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def ask(self, method: str, *arguments: str) -> "Answer | Unread":
        """The answer to ``read PATH [LIMIT]``, ``list PATH`` or ``nvml CALL…``."""
        if not self._pid:
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

    def close(self) -> None:
        """Kill the worker and reap it. One that is stuck in the kernel is left: waiting for it would be the hang."""
        if not self._pid:
            return
        os.close(self._pipe)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        Worker._left_behind.append(self._pid)
        ends = time.monotonic() + CLOSE_S
        pause_s = 0.0005
        while self._pid in Worker._left_behind and time.monotonic() < ends:
            self._reap(self._pid)
            time.sleep(pause_s if self._pid in Worker._left_behind else 0)
            pause_s *= 2
        self._pid = 0

    @staticmethod
    def _reap(*pids: int) -> None:
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG) == (0, 0):
                    continue
            Worker._left_behind.remove(pid)

    def _receive(self) -> None:
        """One read of the pipe; or the deadline of the call under way, or the worker's end."""
        _, _, began, allowed_s = self._call
        left_s = max(min(began + allowed_s, self._ends) - time.monotonic(), _GRACE_S)
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        if not poll.poll(left_s * 1000):
            self._hung()
            return
        data = os.read(self._pipe, _PIPE_BYTES)
        if not data:
            self._ended()
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._handle(*json.loads(line))

    def _handle(self, event: str, *rest: Any) -> None:
        if event == "begin":
            question, label, began, allowed_s = rest
            self._call = (tuple(question), label, began, allowed_s)
        elif event == "answer":
            question, answer, ended = rest
            if question:
                self._answers[tuple(question)] = _decoded(answer)
            self._call = ((), f"the step after {self._call[1]}", ended, CALL_S)
        else:
            for method in rest[0]:
                self._done.setdefault(method, _decoded(rest[1]))

    def _hung(self) -> None:
        question, label, began, allowed_s = self._call
        if question:
            asked_s = min(allowed_s, max(0, round(self._ends - began, 1)))  # less where the run's own deadline came first
            self._answers[question] = Unread("timeout", f"{label}: no answer in {asked_s:g} s")
        self._end_all(Unread("timeout", f"not asked: {label} hangs"))

    def _ended(self) -> None:
        """The pipe closed without the last word: the library crashed, or somebody killed the worker."""
        question, label, _, _ = self._call
        gone = Unread("error", f"the reading process ended in {label}")
        if question:
            self._answers.setdefault(question, gone)
        self._end_all(gone)

    def _end_all(self, unread: Unread) -> None:
        for method in METHODS:
            self._done.setdefault(method, unread)

    def _without_answer(self, question: tuple[str, ...]) -> Unread:
        """What a question means that the worker did not answer, once its method is done."""
        rest = self._done[question[0]]
        if isinstance(rest, Unread):
            if question[0] == "nvml" and self.nvml_optional and rest.why in ("absent", "denied"):
                return Unread("not-supported", f"NVML is optional in this profile: {rest.detail}")
            return rest
        if question[0] == "nvml":
            return Unread("absent", f"NVML has no {' '.join(question[1:])}")
        path = question[1]
        parent, _, name = path.rpartition("/")
        names = self._answers.get(("list", parent))
        if isinstance(names, list):
            # A path in the worker's lane that exists and is not on its list is a mistake of this program.
            return Unread("error", f"{path} is not read") if name in names else Unread("absent", f"{path}: no such file")
        if isinstance(names, Unread) or not parent:
            return Unread("absent", f"{path}: no such file") if names is None or names.why == "absent" else names
        return self._without_answer(("list", parent))


def _fork(pipe: int, root: str) -> int:
    """The worker's process id. The child ends in here whatever happens: it must never run the caller's code."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            from hostagent.source.lane import run_worker

            run_worker(pipe, parent, root)
        finally:
            os._exit(1)
    return pid


def _set_pipe_size(pipe: int) -> None:
    import fcntl

    fcntl.fcntl(pipe, 1031, _PIPE_BYTES)  # F_SETPIPE_SZ, which Python 3.10 has no name for


def _decoded(answer: dict[str, Any]) -> "Answer | Unread":
    if "unread" in answer:
        return Unread(*answer["unread"])
    return answer["bytes"].encode("latin-1") if "bytes" in answer else answer["value"]
