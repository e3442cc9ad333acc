"""A bound on what a test computes, which holds on a busy machine too."""

import functools
import time


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
