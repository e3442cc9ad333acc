"""Keeps the two processes of the daemon small: garbage collection and glibc malloc."""

import ctypes
import gc

#: mallopt(3): number of arenas (one for all threads), free bytes at the top before trimming, and from which size malloc uses mmap, which
#: goes back to the system at once. Unless set, the latter two grow with the sizes that were freed.
_M_ARENA_MAX, _M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -8, -1, -3
_FREE_BYTES = 64 * 1024


def settle() -> None:
    """Exclude all current objects from garbage collection (`gc.freeze`), which takes time in each pass and copies shared pages; return
    free memory to the system.
    """
    gc.collect()
    gc.freeze()
    _call("malloc_trim", 0)


def share() -> None:
    """One malloc arena for all threads: memory that one thread freed another can use."""
    _call("mallopt", _M_ARENA_MAX, 1)
    _call("mallopt", _M_TRIM_THRESHOLD, _FREE_BYTES)
    _call("mallopt", _M_MMAP_THRESHOLD, _FREE_BYTES)


def trim() -> None:
    """Return free memory to the system: a report is large for a moment."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    """A function of glibc; other C libraries have none and need none."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function:
        function(*arguments)
