"""Bounds on what a test computes, which hold on a busy machine too."""

import functools
import math
import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence


def within(seconds):
    """The decorated test may take so many seconds of processor time."""

    def decorate(function):
        @functools.wraps(function)
        def bounded(*arguments, **named):
            started = time.process_time()
            function(*arguments, **named)
            assert time.process_time() - started < seconds

        return bounded

    return decorate


def crowding() -> float:
    """How many processes want each CPU of this machine, at least 1: what a bound on wall-clock time is multiplied by.

    The gate runs four tests at once, some of them whole clusters. On a machine with nothing else to do the bound is as it is written.
    """
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def least(commands: Mapping[str, Sequence[str]], environment: Mapping[str, str], rounds: int = 5) -> dict[str, float]:
    """Seconds of processor time of whole runs, by name, the best of each: what else the machine does hits all alike."""
    best = dict.fromkeys(commands, math.inf)
    for _ in range(rounds):
        for name, argv in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(argv, capture_output=True, check=False, timeout=60, env=environment)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best[name] = min(best[name], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best
