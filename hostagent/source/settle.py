"""What a forked child does first: own as little as possible of its parent."""

import contextlib
import os
import resource
import signal
from collections.abc import Iterable

from hostagent.source.child import every_signal, handler_of, set_mask
from hostagent.source.rights import die_with

#: The usual hard limit of old is less; closing so many takes milliseconds.
_MAX_DESCRIPTORS = 65536
#: The parent's faulthandler, which would write to a closed file, is no handler that Python knows.
_FAULTS = (signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT, signal.SIGBUS, signal.SIGILL)


def settle(parent: int, keep: Iterable[int]) -> None:
    """No terminal, no handlers of the parent, no descriptors but `keep`, no life after the parent."""
    keep = set(keep)
    signal.set_wakeup_fd(-1)
    usual = {signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM, *_FAULTS}
    for number in usual.union(one for one in every_signal() if callable(handler_of(one))):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle; it ends the child
    set_mask(signal.SIG_SETMASK, ())  # blocked over the fork
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a library that crashes must not leave a core file
    die_with(parent)
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in {0, 1, 2} - keep:
        os.dup2(null, descriptor)
    close_all_but(keep | {0, 1, 2})


def close_all_but(kept: Iterable[int]) -> None:
    """Close what is open. To try every number up to the limit takes minutes where the limit is a billion."""
    try:
        names = set(map(int, os.listdir("/proc/self/fd")))
    except OSError:  # no /proc
        names = set(range(_MAX_DESCRIPTORS))
    for descriptor in names.difference(kept):
        with contextlib.suppress(OSError):  # the listing's own is closed already
            os.close(descriptor)
