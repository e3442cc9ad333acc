"""The process that applies a part of a plan. It outlives its parent, holds the lock while it works, and its mounts end with it.

It reports, a JSON object a line: ``{"event": "start", "step", "number"}``, ``{"event": "ok" | "failed", "step", "number", "seconds", "rc",
"stdout", "stderr", "message"}``, and at the end ``{"event": "end", "status", "failed", "crash"}``.
"""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from hostagent.core.crash import crash_lines, crash_text
from hostagent.core.unread import Unread
from hostagent.install import ansible, mounts
from hostagent.install.error_text import failure
from hostagent.install.lock import VARIABLE, Lock
from hostagent.install.outcome import UserInterface
from hostagent.install.runs import TOKEN, Run
from hostagent.install.target import Target
from hostagent.plan.model import PlanStep
from hostagent.sandbox.child import refuse_threads
from hostagent.sandbox.namespaces import first_of_its_numbers

OnEvent = Callable[[Mapping[str, Any]], None]
Work = Callable[[str, dict[str, str], "Reporter"], ansible.PlayResult]


class Done(NamedTuple):
    """``status``: successful, or what went wrong; `failed`: the event of the operation that failed."""

    status: str
    failed: "Mapping[str, Any] | None" = None
    crash: str = ""


class Reporter:
    """Reports to the parent, which may be gone, and to the journal and the log."""

    def __init__(self, pipe: int, run: Run) -> None:
        self._pipe, self._run = pipe, run
        self._log = os.open(f"{run.path}/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def report(self, event: Mapping[str, Any]) -> None:
        if event["event"] in ("ok", "failed"):
            with contextlib.suppress(OSError):  # no space left: the run goes on, or fails by itself
                self._run.note("operation", **{key: event[key] for key in ("step", "number", "seconds", "rc")}, ok=event["event"] == "ok")
        with contextlib.suppress(OSError):
            data = json.dumps(event).encode() + b"\n"
            while data:
                data = data[os.write(self._pipe, data) :]

    def log(self, text: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self._log, f"{text.rstrip()}\n".encode("utf-8", "backslashreplace"))


@dataclass(frozen=True)
class Worker:
    """Starts the worker process."""

    target: Target
    run: Run
    lock: Lock

    def carry_out(self, work: Work, on_event: OnEvent, before: "Callable[[], Unread | None]" = lambda: None) -> Done:
        """`work` with an empty private directory and an environment; `before` it, what has to be held.

        Raises ``OSError`` where no process can be started, ``RuntimeError`` in a process with threads.
        """
        refuse_threads()
        token = self.run.new_token()
        ours, theirs = os.pipe()
        sys.stdout.flush()
        with first_of_its_numbers() if self.target.kind == "image" else contextlib.nullcontext():
            pid = os.fork()
            if pid == 0:
                os.close(ours)
                self._live(work, theirs, before, token)
        os.close(theirs)
        last: Mapping[str, Any] = {}
        with open(ours, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                event = json.loads(line)
                if event["event"] == "end":
                    last = event
                else:
                    on_event(event)
        _, status = os.waitpid(pid, 0)
        if not last:
            how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit code {os.waitstatus_to_exitcode(status)}"
            return Done(f"its process ended by {how}")
        return Done(str(last["status"]), last["failed"], str(last["crash"]))

    def _live(self, work: Work, pipe: int, before: "Callable[[], Unread | None]", token: str) -> NoReturn:
        """Main function of the process."""
        code = 1
        try:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
                signal.signal(number, signal.SIG_IGN if number == signal.SIGPIPE else signal.SIG_DFL)
            reporter = Reporter(pipe, self.run)
            _leave_streams()
            reporter.report({"event": "end", **self._done(work, reporter, before, token)._asdict()})
            code = 0
        finally:
            os._exit(code)

    def _done(self, work: Work, reporter: Reporter, before: "Callable[[], Unread | None]", token: str) -> Done:
        try:
            if (held := before()) is not None:
                return Done(held.detail)
            variables = {**ansible.environment(os.environ), VARIABLE: token}
            place = mounts.move_in(self.target)
            try:
                with mounts.no_services(self.target):
                    played = work(place, variables, reporter)
            finally:
                mounts.move_out()
            if played.status == "successful":  # its processes have ended, but for services, which are not waited for
                with contextlib.suppress(OSError):
                    self.run.forget(TOKEN)
        except Exception as error:  # the parent has to report every error
            event = "\n".join(crash_lines(error))
            reporter.log(event)
            return Done(crash_text(error), None, event)
        return Done(played.status, played.failed)


class Progress:
    """Turns a worker's events into steps of the whole run."""

    def __init__(self, person: UserInterface, steps: tuple[PlanStep, ...], before: int, of: int) -> None:
        self._person, self._of = person, of
        self._steps = {step.id: (before + number, step) for number, step in enumerate(steps, 1)}
        self._now = ""
        self._seconds = 0.0

    def update(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "start" and event["step"] != self._now:
            self.finish()
            self._now, self._seconds = str(event["step"]), 0.0
            number, step = self._steps[self._now]
            self._person.begin(number, self._of, step)
        elif event["event"] in ("ok", "failed"):
            self._seconds += float(event["seconds"])

    def finish(self, problem: str = "") -> None:
        if self._now:
            self._person.end(self._steps[self._now][1], self._seconds, problem)
        self._now = ""

    def finished(self, done: Done) -> str:
        """The problem, "" for none."""
        if done.status == "successful":
            self.finish()
            return ""
        event = failure(done.failed) if done.failed else done.status
        step = str((done.failed or {}).get("step") or self._now)
        self.finish(event)
        return ": ".join(filter(None, (step, event)))


def _leave_streams() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.chdir("/")
