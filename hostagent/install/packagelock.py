"""Waits for the package manager's own locks before a run begins."""

import contextlib
import os
import time

from hostagent.host.files import lock_holder_of
from hostagent.install.outcome import RefusedError
from hostagent.install.target import Target
from hostagent.plan.refusals.packages import held_lock

#: Files that dpkg, apt and rpm lock with fcntl(2) while they work.
_FILES = (
    *("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock", "/var/cache/apt/archives/lock"),
    *("/var/lib/rpm/.rpm.lock", "/usr/lib/sysimage/rpm/.rpm.lock"),
)
_TRY_S = 0.2


def wait_until_free(target: Target, timeout_s: float) -> None:
    """Raises ``RefusedError`` where one is still held after that time."""
    ends = time.monotonic() + timeout_s
    while holder := _holder(target):
        if time.monotonic() > ends:
            refused = held_lock(holder, round(timeout_s))
            raise RefusedError(refused.message, refused.remedy[0].text)
        time.sleep(_TRY_S)


def _holder(target: Target) -> str:
    """The process that holds one of them, as in "apt-get (pid 123)"; "" where all are free or not there."""
    for path in _FILES:
        with contextlib.suppress(OSError):
            descriptor = target.root.open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                pid = lock_holder_of(descriptor)
            finally:
                os.close(descriptor)
            if pid:
                return f"{_called(pid)} (pid {pid}) with {path}"
    return ""


def _called(pid: int) -> str:
    """A holder in namespaces of its own has no number here."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as stream:
        return stream.read().strip()
    return "a process"
