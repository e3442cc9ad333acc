"""How a run ends by a signal: SIGTERM and SIGHUP raise, so that every ``finally`` ends its children and removes its files."""

import os
import signal
import time
from types import FrameType

#: timeout(1) sends two at once: the second must not end the clean-up that the first began.
_CLEANING_S = 2.0


class Ended(BaseException):
    """A signal ended this run. No ``except Exception`` takes it for a fault of the host."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number

    @classmethod
    def by_pipe(cls) -> "Ended":
        """Nobody reads what is written."""
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
    """From now on. The command line alone does: a library leaves signals to its caller. One that was ignored (nohup) stays so."""
    handler = _Handler()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, handler)


def end(number: int) -> int:
    """End this process as the signal would have: whoever waits for it sees which. Returns what to exit with where it does not end it."""
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number  # process 1 of a container
