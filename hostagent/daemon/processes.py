"""What the two processes of the daemon use."""

import contextlib
import functools
import os
import resource

from hostagent.core.smallfile import read_small

_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
_LIMIT = 16 * 1024 * 1024  # /proc/stat has a number for each interrupt of a machine


def usage() -> dict[str, float]:
    """By the names that Prometheus' own clients have, without ``process_``; of this process and of the loop, its parent."""
    found: dict[str, float] = {"max_fds": float(resource.getrlimit(resource.RLIMIT_NOFILE)[0])}
    for pid in (os.getppid(), os.getpid()):
        with contextlib.suppress(OSError, ValueError, IndexError):
            usage, began_s = _usage(pid)
            found |= {name: found.get(name, 0.0) + value for name, value in usage.items()}
            if "start_time_seconds" not in found and (boot := _boot_time()):
                found["start_time_seconds"] = boot + began_s
    return found


def _usage(pid: int) -> tuple[dict[str, float], float]:
    """And when it began, in seconds since the boot. Source: proc_pid_stat(5): utime, stime, cutime and cstime are fields 14 to 17,
    starttime, vsize and rss 22 to 24.
    """
    fields = read_small(f"/proc/{pid}/stat", _LIMIT).rpartition(b") ")[2].split()  # from the third on: a name may have blanks
    began, size, pages = map(int, fields[19:22])
    usage = {
        "cpu_seconds_total": sum(map(int, fields[11:15])) / _TICKS,
        "resident_memory_bytes": float(pages * _PAGE),
        "virtual_memory_bytes": float(size),
        "open_fds": float(len(os.listdir(f"/proc/{pid}/fd"))),
    }
    return usage, began / _TICKS


@functools.cache
def _boot_time() -> float:
    """Seconds since the epoch; 0 where the kernel does not have it. Cached: on a large machine the file is long, and slow to read."""
    lines = read_small("/proc/stat", _LIMIT).splitlines()
    return next((float(line.split()[1]) for line in lines if line.startswith(b"btime ")), 0.0)
