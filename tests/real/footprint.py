"""What a daemon takes: both of its processes, and what the loop started and has reaped."""

import os
import time
from pathlib import Path
from typing import NamedTuple

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Footprint(NamedTuple):
    """PSS in KiB, and what of it is no file's, which others may map, too; processor time in seconds since the start; open descriptors."""

    pss_kib: int
    own_kib: int
    cpu_s: float
    descriptors: int


def children(pid: int) -> list[int]:
    """Oldest first."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def of_process(pid: int) -> Footprint:
    """With the processor time of its children that were waited for."""
    rows = dict(line.split()[:2] for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11:15]
    return Footprint(int(rows["Pss:"]), int(rows["Pss_Anon:"]), sum(map(int, ticks)) * _TICK_S, len(os.listdir(f"/proc/{pid}/fd")))


def of_daemon(loop: int, within_s: float = 20.0) -> Footprint:
    """Between two passes: during one, the loop shares its memory with the children of that pass."""
    ends = time.monotonic() + within_s
    while len(both := [loop, *children(loop)]) != 2:
        assert time.monotonic() < ends, f"found the processes {both}, wanted the loop and the teller"
        time.sleep(0.02)
    first, second = map(of_process, both)
    return Footprint(*(one + other for one, other in zip(first, second, strict=True)))
