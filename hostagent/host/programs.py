"""Runs a program of the host, as a last resort: an argv list, a deadline, capped output, no process left behind."""

import os
import time
from collections.abc import Callable
from typing import Any

from hostagent.core.answers import Answer
from hostagent.core.unread import Unread
from hostagent.host.encoding import FAST, Coding
from hostagent.host.runner import serve
from hostagent.host.task import Task
from hostagent.sandbox.child import Child, Send
from hostagent.sandbox.namespaces import first_of_its_numbers

#: Seconds from the end of a program to its answer, at most.
_GRACE_S = 1.5


def run(argv: tuple[str, ...], timeout_s: float, root: str = "/") -> Answer:
    """Its exit_code, stdout, stderr. Below another root it runs after chroot(2)."""
    return run_task(Task(argv, timeout_s, root))


def run_task(task: Task) -> Answer:
    """The same with all options of a `Task`. Raises ``RuntimeError`` in a process with threads."""
    owner, name = os.getpid(), task.argv[0]
    try:
        runner = _runners.get(owner) or provide(Runner())
    except OSError as error:
        return Unread("error", f"{name} cannot be started: {error.strerror}")
    try:
        answer = runner.ask(tuple(task), task.seconds)
    except (EOFError, TimeoutError) as error:
        del _runners[owner]
        runner.close()
        return Unread("error" if isinstance(error, EOFError) else "timeout", f"{name}: {error}")
    return Unread(*answer) if isinstance(answer, tuple) else answer


def provide(runner: "Runner") -> "Runner":
    """Use `runner` for the programs of this process, which may not be able to start one later."""
    return _runners.setdefault(os.getpid(), runner)


class Runner:
    """The process that runs programs for this one, from its parent; it ends with this one."""

    def __init__(self, work: Callable[[Send, int], None] = serve, coding: Coding = FAST) -> None:
        """`work` answers tasks from a pipe, encoded by `coding`. Raises ``OSError``."""
        self._coding = coding
        theirs, self._tasks = os.pipe()
        self._child = Child()
        try:
            with first_of_its_numbers():
                self._child.start(lambda send: work(send, theirs), (theirs,))
        except OSError:
            os.close(self._tasks)
            raise
        finally:
            os.close(theirs)

    def ask(self, task: tuple[Any, ...], seconds: float) -> Answer:
        """Raises ``EOFError`` when the process has ended, ``TimeoutError`` without an answer."""
        self.send(task)
        return self.answer(seconds)

    def send(self, task: tuple[Any, ...]) -> None:
        """Send a task without waiting. Raises ``EOFError``."""
        message = self._coding.dumps(task)
        try:
            os.write(self._tasks, len(message).to_bytes(4, "little") + message)
        except BrokenPipeError:
            raise EOFError("the process that runs it has ended") from None

    def answer(self, seconds: float) -> Answer:
        """The answer to the task that was sent. Raises as `ask` does."""
        ends = time.monotonic() + seconds + _GRACE_S
        while time.monotonic() < ends:
            messages = self._child.receive(ends - time.monotonic())
            if messages is None:
                raise EOFError("the process that runs it has ended")
            if messages:
                return FAST.loads(messages[0])  # it has the same privileges
        raise TimeoutError(f"neither an end nor an answer in {seconds + _GRACE_S:g} s")

    def close(self) -> None:
        os.close(self._tasks)
        self._child.close()


#: By process: a forked one does not use that of its parent.
_runners: dict[int, Runner] = {}
