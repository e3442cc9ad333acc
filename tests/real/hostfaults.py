"""Faults of a made 8-GPU host, one for each way in which the daemon hears of one, and the condition that each makes False."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_XID = "6,{number},{at}000000,-;NVRM: Xid (PCI:0000:1b:00): {code}, pid=1, name=x\n"
_PORT = "sys/class/infiniband/mlx5_0/ports/1"


class Fault(NamedTuple):
    """What a pass that it begins is counted under, and the condition."""

    trigger: str
    condition: str


KERNEL_LINE, UEVENT, FILE = Fault("kernel-log", "Ready"), Fault("uevent", "FabricReady"), Fault("configuration", "ToolkitReady")
FAULTS = (KERNEL_LINE, UEVENT, FILE)


def happens(fault: Fault, tree: Path) -> None:
    if fault is KERNEL_LINE:  # into the tree's own log, never this machine's
        with (tree / "dev/kmsg").open("a") as log:
            log.write(_XID.format(number=90001, at=90001, code=79))
    elif fault is FILE:
        (tree / "etc/containerd/config.toml").write_text("broken = [")
    else:  # nobody watches a port's files: this machine's kernel says that something changed
        (tree / _PORT / "state").write_text("1: DOWN\n")
        (tree / _PORT / "phys_state").write_text("3: Disabled\n")
        Path("/sys/class/net/lo/uevent").write_text("change")


@contextlib.contextmanager
def mended(tree: Path) -> Iterator[None]:
    """On leaving, the files of all faults are as they were, with their times."""
    files = [tree / name for name in ("dev/kmsg", "etc/containerd/config.toml", f"{_PORT}/state", f"{_PORT}/phys_state")]
    before = [(one, one.read_bytes(), one.stat()) for one in files]
    try:
        yield
    finally:
        for one, data, found in before:
            one.write_bytes(data)
            os.utime(one, ns=(found.st_atime_ns, found.st_mtime_ns))
