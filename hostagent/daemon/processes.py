"""What the two processes of the daemon use."""

import contextlib
import os
import resource


def used() -> dict[str, float]:
    """By the names that Prometheus' own clients have, without ``process_``; of this process and of the loop, its parent."""
    import psutil

    found: dict[str, float] = {"max_fds": float(resource.getrlimit(resource.RLIMIT_NOFILE)[0])}
    for pid in (os.getppid(), os.getpid()):
        with contextlib.suppress(psutil.Error):
            one = psutil.Process(pid)
            with one.oneshot():
                memory = one.memory_info()
                more = {
                    "cpu_seconds_total": float(sum(one.cpu_times()[:4])),
                    "resident_memory_bytes": float(memory.rss),
                    "virtual_memory_bytes": float(memory.vms),
                    "open_fds": float(one.num_fds()),
                }
                found |= {name: found.get(name, 0.0) + value for name, value in more.items()}
                found.setdefault("start_time_seconds", one.create_time())
    return found
