"""A limit on time that also holds for what computes: ``OutOfTime`` is raised in the middle of it.

Reading has limits of the wall clock (`time_limit`): a host may not answer. Judging and rendering only compute, and have limits of the
processor's (`processor_limit`): on a busy machine they take longer, and no more work.

What is stuck in one system call or one call of C code is not reached: that is what a child process is for.
"""

# While a processor timer runs, CLOCK_PROCESS_CPUTIME_ID moves in steps of the kernel's tick: measure by the thread's clock.

import signal
import time
from types import FrameType
from typing import Any, NamedTuple

from hostagent.core.errors import OutOfTime

#: Seconds from one ``OutOfTime`` to the next, for a block that caught the first and went on.
_AGAIN_S = 0.25
#: Seconds of processor time for judging, and as many for writing a document: each takes some hundredths of one.
COMPUTING_S = 5.0


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

    By a signal, which only the main thread can catch: in another thread nothing is limited. A timer that runs already, of a
    block around this one or of a caller, goes on when this block ends. No generator makes this: an alarm that meets
    contextlib's own code on the way out would leave the timer running, and raise in whatever comes next.
    """

    _timer, _signal, _now, _unit = signal.ITIMER_REAL, signal.SIGALRM, staticmethod(time.monotonic), "s"

    def __init__(self, seconds: float, shown_s: float = 0) -> None:
        """`shown_s`: the seconds that a message names, where `seconds` are the rest of them."""
        self._seconds = seconds
        self._shown_s = shown_s or seconds
        self._holds = False
        self._usual: Any = None

    def __enter__(self) -> None:
        try:
            self._usual = signal.signal(self._signal, self._stop)
        except ValueError:  # not the main thread
            return
        self._mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, {self._signal})  # whoever started us may have blocked it
        self._holds = True
        self._started = self._now()
        self._left_s, self._again_s = signal.setitimer(self._timer, max(self._seconds, 0.001), _AGAIN_S)

    def __exit__(self, *_: object) -> None:
        if not self._holds:
            return
        self._holds = False
        signal.setitimer(self._timer, 0)
        signal.signal(self._signal, self._usual)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        if self._left_s:
            passed_s = self._now() - self._started
            signal.setitimer(self._timer, max(self._left_s - passed_s, 0.001), self._again_s)

    def _stop(self, _: int, frame: "FrameType | None") -> None:
        on_the_way = frame is not None and frame.f_code in _OWN_CODE
        if self._holds and not on_the_way:
            raise OutOfTime(f"{self._shown_s:g} {self._unit} have passed")


class processor_limit(time_limit):  # noqa: N801
    """The same by the processor time of this process: for what only computes, which on a busy machine waits and does not work."""

    _timer, _signal, _now, _unit = signal.ITIMER_PROF, signal.SIGPROF, staticmethod(time.process_time), "s of processor time"


#: An alarm that meets these would leave a block half entered or half left; while the block lasts, the next one comes soon.
_OWN_CODE = (time_limit.__enter__.__code__, time_limit.__exit__.__code__)
