"""A limit on time that also holds for what computes: ``OutOfTime`` is raised in the middle of it.

What is stuck in one system call or one call of C code is not reached: that is what a child process is for.
"""

import signal
import time
from types import FrameType
from typing import Any, NamedTuple

from hostagent.errors import OutOfTime

#: Seconds after which somebody who dealt with the first ``OutOfTime`` and went on meets the next.
_AGAIN_S = 0.25


class Deadline(NamedTuple):
    """When something has to end."""

    seconds: float  # that it was given, for people
    ends: float  # on the monotonic clock

    @property
    def left_s(self) -> float:
        return self.ends - time.monotonic()


def within(seconds: float) -> Deadline:
    """The deadline that many seconds from now."""
    return Deadline(seconds, time.monotonic() + seconds)


class time_limit:  # noqa: N801  used as contextlib's are
    """Raise ``OutOfTime`` in the code of this block once `seconds` have passed, and again every quarter of a second.

    By SIGALRM, which only the main thread can catch: in another thread nothing is limited. A timer that runs already, of a
    block around this one or of a caller, goes on when this block ends. No generator makes this: an alarm that meets
    contextlib's own code on the way out would leave the timer running, and raise in whatever comes next.
    """

    def __init__(self, seconds: float, told_s: float = 0) -> None:
        """`told_s`: what people were told, where `seconds` are the rest of it."""
        self._seconds = seconds
        self._told_s = told_s or seconds
        self._holds = False
        self._usual: Any = None

    def __enter__(self) -> None:
        try:
            self._usual = signal.signal(signal.SIGALRM, self._stop)
        except ValueError:  # not the main thread
            return
        self._mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})  # whoever started us may have blocked it
        self._holds = True
        self._started = time.monotonic()
        self._left_s, self._again_s = signal.setitimer(signal.ITIMER_REAL, max(self._seconds, 0.001), _AGAIN_S)

    def __exit__(self, *_: object) -> None:
        if not self._holds:
            return
        self._holds = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._usual)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        if self._left_s:
            passed_s = time.monotonic() - self._started
            signal.setitimer(signal.ITIMER_REAL, max(self._left_s - passed_s, 0.001), self._again_s)

    def _stop(self, _: int, frame: "FrameType | None") -> None:
        on_the_way = frame is not None and frame.f_code in _OWN_CODE
        if self._holds and not on_the_way:
            raise OutOfTime(f"{self._told_s:g} s have passed")


#: An alarm that meets these would leave a block half entered or half left; while the block lasts, the next one comes soon.
_OWN_CODE = (time_limit.__enter__.__code__, time_limit.__exit__.__code__)
