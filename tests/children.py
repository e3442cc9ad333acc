"""The children of this process, and programs that run, by the kernel's own word."""

import os
import time


def children() -> set[str]:
    """Process ids as text."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as listed:
        return set(listed.read().split())


def running(*argv: str) -> list[int]:
    """The processes, zombies aside, whose command line contains these arguments in a row; whosever they are."""
    wanted = "\0".join(("", *argv, "")).encode()
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as stream:
                if wanted in b"\0" + stream.read():
                    found.append(int(name))
        except OSError:  # it is gone
            continue
    return found


def until(holds, seconds=5.0):
    """Whether `holds` comes true in time."""
    ends = time.monotonic() + seconds
    while not (value := holds()) and time.monotonic() < ends:
        time.sleep(0.01)
    return value
