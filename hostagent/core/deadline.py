"""Time limits that also stop a computation: ``OutOfTime`` is raised within it.

Reading has limits on the wall clock (`time_limit`): a host may not answer. Evaluation and rendering only compute, and have limits on
processor time (`processor_limit`): on a busy machine they take longer without more work.

A thread within one system call or one call of C code is not interrupted: those run in a child process.
"""

# While a processor timer runs, CLOCK_PROCESS_CPUTIME_ID advances by kernel ticks: measure with the thread's clock.

import signal
import time
from types import FrameType
from typing import Any, NamedTuple

from hostagent.core.errors import OutOfTime

#: Seconds from one ``OutOfTime`` to the next, for a block that caught the first and went on.
_AGAIN_S = 0.25
#: Seconds of processor time to evaluate, and to render a document: each takes some hundredths of one.
COMPUTING_S = 5.0


class Deadline(NamedTuple):
    """A point in time by which an operation has to end."""

    seconds: float  # its length, for messages
    ends: float  # on the monotonic clock

    @property
    def left_s(self) -> float:
        return self.ends - time.monotonic()


def within(seconds: float) -> Deadline:
    """The deadline `seconds` from now."""
    return Deadline(seconds, time.monotonic() + seconds)


class time_limit:  # noqa: N801  used as contextlib's are
    """Raise ``OutOfTime`` in the code of this block once `seconds` have passed, and again every quarter of a second.

    By a signal, which only the main thread can catch: without effect in another thread. A timer that runs already, of an enclosing
    block or a caller, continues when this block ends. Not a generator with `contextlib`: an alarm within contextlib's own code at the
    exit would leave the timer running and raise in the code after the block.
    """

    _timer, _signal, _now, _unit = signal.ITIMER_REAL, signal.SIGALRM, staticmethod(time.monotonic), "s"

    def __init__(self, seconds: float, shown_s: float = 0) -> None:
        """`shown_s`: the seconds in the message, where `seconds` are what remains of them."""
        self._seconds = seconds
        self._shown_s = shown_s or seconds
        self._holds = False
        self._usual: Any = None

    def __enter__(self) -> None:
        try:
            self._usual = signal.signal(self._signal, self._stop)
        except ValueError:  # not the main thread
            return
        self._mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, {self._signal})  # the parent process may have blocked it
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
    """The same by processor time of this process: a computation on a busy machine mostly waits."""

    _timer, _signal, _now, _unit = signal.ITIMER_PROF, signal.SIGPROF, staticmethod(time.process_time), "s of processor time"


#: No exception within these: it would leave the block half entered; during the block the next alarm follows soon.
_OWN_CODE = (time_limit.__enter__.__code__, time_limit.__exit__.__code__)
