"""A limit on time that also holds for what computes: ``OutOfTime`` is raised in the middle of it.

What is stuck in one system call or one call of C code is not reached: that is what a child process is for.
"""

import contextlib
import signal
import time
from collections.abc import Iterator
from typing import NamedTuple

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


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise ``OutOfTime`` in the code of this block once `seconds` have passed, and again every quarter of a second.

    By SIGALRM, which only the main thread can catch: in another thread nothing is limited.
    """
    holds = True

    def stop(*_: object) -> None:
        if holds:
            raise OutOfTime(f"{seconds:g} s have passed")

    try:
        usual = signal.signal(signal.SIGALRM, stop)
    except ValueError:  # not the main thread
        yield
        return
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001), _AGAIN_S)
        yield
    finally:
        holds = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
