"""What the two processes of the daemon do so that they stay small."""

import ctypes
import gc

#: mallopt(3): memory that all threads share, instead of some for each; how much may be free at its end; from which size on a piece is
#: the system's own, and goes back to it at once. As long as nobody sets the latter two, they grow with what was once given back.
_M_ARENA_MAX, _M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -8, -1, -3
_FREE_BYTES = 64 * 1024


def settle() -> None:
    """All that is here now stays. It is not looked through for garbage again and again: that takes time in each pass, and who writes to
    an object has a copy of its page in each process. What is free goes back to the system.
    """
    gc.collect()
    gc.freeze()
    _call("malloc_trim", 0)


def share() -> None:
    """For a process with threads: what one of them gave back, another takes."""
    _call("mallopt", _M_ARENA_MAX, 1)
    _call("mallopt", _M_TRIM_THRESHOLD, _FREE_BYTES)
    _call("mallopt", _M_MMAP_THRESHOLD, _FREE_BYTES)


def trim() -> None:
    """What is free goes back to the system: a report is large for a moment."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    """Of glibc; another C library has no such function, and needs none."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function:
        function(*arguments)
