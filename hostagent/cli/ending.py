"""SIGTERM and SIGHUP raise an exception, so that every ``finally`` ends its children and removes its files."""

import os
import signal
import sys
import time
from types import FrameType
from typing import Any

#: timeout(1) sends two at once: the second must not end the clean-up that the first began.
_CLEANING_S = 2.0


class Ended(BaseException):
    """A signal ended this run. No ``except Exception`` takes it for a fault of the host."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number

    @classmethod
    def by_pipe(cls) -> "Ended":
        """Ends as SIGPIPE would: the reader of the output has gone."""
        return cls(signal.SIGPIPE)


class _Handler:
    def __init__(self) -> None:
        self._until = 0.0

    def __call__(self, number: int, _: "FrameType | None") -> None:
        now = time.monotonic()
        if now >= self._until:
            self._until = now + _CLEANING_S
            raise Ended(number)


def listen() -> None:
    """Installs the handlers: for the command line, as a library leaves signals to its caller. An ignored signal (nohup) stays ignored."""
    handler = _Handler()
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _raise_later
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, handler)


def deafen() -> None:
    """Restores the default handlers: from now on a signal ends this process at once, as nothing is left to clean up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if isinstance(signal.getsignal(number), _Handler):
            signal.signal(number, signal.SIG_DFL)


def _raise_later(lost: "sys.UnraisableHookArgs") -> None:
    """A signal that met what cannot raise, the end of an object or a lock of an import, was lost with a traceback: it is raised again by
    whatever is called next, or returns. Python lets a profiler do that.
    """
    if not isinstance(lost.exc_value, Ended):
        sys.__unraisablehook__(lost)
        return
    number = lost.exc_value.number

    def raising(frame: FrameType, *_: Any) -> None:
        if frame.f_code not in (_raise_later.__code__, _Handler.__call__.__code__):
            sys.setprofile(None)
            raise Ended(number)

    sys.setprofile(raising)


def end(number: int) -> int:
    """End this process by the signal itself, so that the parent sees which. Returns the exit code where the signal does not end it."""
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number  # process 1 of a container
