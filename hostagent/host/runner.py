"""The process that runs programs for the collector process. When either ends, all started programs end.

As root it is process 1 of a pid namespace: it dies with the collector process, and with it all its descendants in any group or
session. (The program itself is not process 1: programs of systemd behave differently then.) Without such a namespace the runner
outlives the collector process until it, their subreaper, has killed all descendants. There a SIGKILL of the runner itself
leaves those in a session of their own.
"""

import contextlib
import ctypes
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any, cast

from hostagent.core.answers import Answer
from hostagent.core.unread import Unread, Why
from hostagent.host.encoding import FAST, Coding
from hostagent.host.task import PDEATHSIG, Outputs, Task, become
from hostagent.sandbox.child import Send

_SUBREAPER = 36  # prctl(2)
#: Seconds between two checks of a silent program, and to wait for the output of one that has ended.
_LOOK_S, _REST_S = 0.02, 0.5
#: Seconds to wait for killed processes, and between two checks.
_END_S, _PAUSE_S = 0.2, 0.0005
_CHUNK = 65536


class ParentGoneError(Exception):
    """The collector process is gone."""


def serve(send: Send, tasks: int, work: "Callable[[Runs, tuple[Any, ...]], Answer] | None" = None, coding: Coding = FAST) -> None:
    """Answer each task from the pipe `tasks`, until its other end is closed.

    A task is four bytes of length and a tuple, by `coding`; an answer is marshalled, or (why, detail). `work` answers tasks of another
    kind than a ``Task``.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):  # the end of the pipe ends it
        signal.signal(number, signal.SIG_IGN)
    is_first = os.getpid() == 1  # of its pid namespace
    if not is_first:
        ctypes.CDLL(None).prctl(PDEATHSIG, 0, 0, 0, 0)
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    runs = Runs(tasks, is_first=is_first)
    with contextlib.suppress(ParentGoneError, BrokenPipeError):
        while (length := int.from_bytes(os.read(tasks, 4), "little")) and length <= coding.most_task:
            task = coding.loads(exactly(tasks, length))
            answer = work(runs, task) if work else runs.answer(Task(*task))
            send(FAST.dumps((answer.why, answer.detail) if isinstance(answer, Unread) else answer))


def exactly(pipe: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = os.read(pipe, size - len(data))
        if not chunk:
            raise ParentGoneError
        data += chunk
    return data


class Runs:
    """Runs programs, one after the other."""

    def __init__(self, tasks: int, *, is_first: bool) -> None:
        self._tasks = tasks
        self._is_first = is_first
        self._is_refused = False

    def answer(self, task: Task) -> Answer:
        """Run the program; without namespaces where the kernel refuses them."""
        try:
            answer = None if self._is_refused else self._answer(task, "", alone=True)
            if answer is None:
                from hostagent.host.leftover import directory

                self._is_refused = True
                with directory(task.user) if task.copied else contextlib.nullcontext("") as place:
                    answer = self._answer(task, place, alone=False)
        except OSError as error:
            return Unread("error", f"{task.argv[0]} cannot be started: {error.strerror or error}")
        return answer

    def _answer(self, task: Task, place: str, *, alone: bool) -> Answer:
        program = _Program(task, place, alone=alone)
        try:
            return self._await_end(program, task)
        finally:
            program.close()
            self._end_all()

    def _await_end(self, program: "_Program", task: Task) -> Answer:
        """None where namespaces were refused. Raises ``ParentGoneError``."""
        name, ends = task.argv[0], time.monotonic() + task.seconds
        while not (program.has_ended and program.is_silent):
            if time.monotonic() > ends:
                if not program.has_ended:
                    return Unread("timeout", f"{name}: no end in {task.seconds:g} s")
                # a child in a session of its own holds the pipe, and may still write
                return Unread("timeout", f"{name} has ended and its output has not")
            program.listen(self._tasks)
            if program.look():
                ends = time.monotonic() + _REST_S
            if any(len(output) >= task.output for output in program.read):
                return Unread("error", f"{name}: more than {task.output} bytes of output")
        stdout, stderr, fault = (output.decode("utf-8", "replace") for output in program.read)
        if fault == "refused":
            return None
        if fault:
            _, why, detail = fault.split(" ", 2)
            return Unread(cast("Why", why), detail)
        return {"exit_code": program.exit_code, "stdout": stdout, "stderr": stderr}

    def _end_all(self) -> None:
        """Kill all descendants and reap them, except those stuck in the kernel."""
        ends = time.monotonic() + _END_S
        while time.monotonic() < ends:
            for pid in (-1,) if self._is_first else _children():  # -1: all of this namespace except this process
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(_PAUSE_S)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as stream:
            return [int(pid) for pid in stream.read().split()]
    except OSError:
        return []


class _Program:
    """The process of a program, and its output."""

    def __init__(self, task: Task, place: str, *, alone: bool) -> None:
        """Raises ``OSError`` on a host that is out of processes or descriptors."""
        pipes: list[tuple[int, int]] = []
        try:
            pipes += (os.pipe() for _ in Outputs._fields)
            parent = os.getpid()
            self.pid = os.fork()
            if self.pid == 0:
                become(task, Outputs(*(theirs for _, theirs in pipes)), parent, place, alone=alone)
        except OSError:
            for ours, _ in pipes:
                os.close(ours)
            raise
        finally:
            for _, theirs in pipes:
                os.close(theirs)
        self._read = {ours: bytearray() for ours, _ in pipes}
        self._open = set(self._read)
        self._poll = select.poll()
        for ours in self._read:
            self._poll.register(ours, select.POLLIN)
        self._pause_s = _PAUSE_S
        self.has_ended = False
        self.exit_code = 0

    @property
    def read(self) -> tuple[bytearray, ...]:
        """Its outputs, and its fault."""
        return tuple(self._read.values())

    @property
    def is_silent(self) -> bool:
        """All its outputs are closed."""
        return not self._open

    def listen(self, tasks: int) -> None:
        """Read available output; waits a moment if there is none. Raises ``ParentGoneError``."""
        self._poll.register(tasks, 0)  # reports only its end
        if not self._open:  # it usually ends in a moment
            self._pause_s = min(2 * self._pause_s, _LOOK_S)
        for pipe, _ in self._poll.poll((_LOOK_S if self._open else self._pause_s) * 1000):
            if pipe == tasks:
                raise ParentGoneError
            chunk = os.read(pipe, _CHUNK)
            self._read[pipe] += chunk
            if not chunk:
                self._poll.unregister(pipe)
                self._open.discard(pipe)

    def look(self) -> bool:
        """Whether it has ended since the last call; then kills its process group."""
        if self.has_ended:
            return False
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return False
        self.has_ended, self.exit_code = True, os.waitstatus_to_exitcode(status)
        self._kill_group()
        return True

    def close(self) -> None:
        if not self.has_ended:
            self._kill_group()
        for pipe in self._read:
            os.close(pipe)

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
