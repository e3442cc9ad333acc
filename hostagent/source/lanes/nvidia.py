"""NVIDIA's lane: /proc/driver/nvidia and NVML. The description is light; what it needs is imported in the worker."""

import contextlib
import os
import time

from hostagent.facts.unread import Unread
from hostagent.source.files import Files
from hostagent.source.lane import CALL_S, Ask, Lane
from hostagent.source.paths import Root

_DIRECTORY = "/proc/driver/nvidia"
_SWITCHES = "/proc/driver/nvidia-nvswitch"
_MODULE = "/sys/module/nvidia"


def _is_wanted(path: str) -> bool:
    """Not all of it: ``suspend`` and ``power`` are of no use here, and reading takes locks."""
    parts = path.removeprefix(_DIRECTORY).split("/")[1:]
    return (
        path.startswith((f"{_DIRECTORY}/capabilities/", f"{_SWITCHES}/"))
        or parts in (["version"], ["params"], ["registry"])
        or (len(parts) == 3 and parts[0] == "gpus" and parts[2] == "information")
    )


def _ask_all(ask: Ask, files: Files, root: Root) -> "Unread | None":
    from functools import partial

    from hostagent.source.lanes import nvml, nvmlgate

    unread: Unread | None = ask((), f"opening {nvmlgate.CONTROL}", partial(nvmlgate.gate, files, root))
    return nvml.answer_all(ask, files, root) if unread is None else unread


def _end() -> None:
    from hostagent.source.lanes import nvml

    nvml.shut_down()


def _lock(root: Root) -> str:
    """Empty once this process is the only worker on the machine; else who is.

    The lock is a flock on the module's directory in sysfs, opened for reading: nothing is created, every container
    that mounts the host's /sys meets it, root is not needed, the kernel drops it when the process ends, however it
    ends, and a process that SIGKILL cannot end (it hangs in the driver) keeps it, which is the point.

    Anybody who may read the directory may also hold the lock, and would so keep root from reading NVML: root goes on
    without it when every holder is somebody else's. One that /proc/locks does not show (root in a container with its
    own processes) still counts.
    """
    import fcntl

    try:
        descriptor = root.open(_MODULE, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return ""  # no module, so nothing here can hang
    ends = time.monotonic() + CALL_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            opened = os.fstat(descriptor)
            holders = _holders(opened.st_ino)
            # In a user namespace without the real root its processes look like nobody's, and so does the directory.
            if holders and os.geteuid() == 0 == opened.st_uid and not any(map(_is_roots, holders)):
                return ""
            if time.monotonic() > ends:
                return f"pid {holders[0]}" if holders else "in another container"
            time.sleep(0.02)
        else:
            return ""


def _holders(inode: int) -> list[str]:
    """Process ids by /proc/locks (proc_locks(5)), which hides processes of other pid namespaces.

    The file system is not compared (overlays name another one than stat does): one holder too many errs to waiting.
    """
    with contextlib.suppress(OSError), open("/proc/locks", encoding="ascii", errors="replace") as locks:
        rows = [line.split() for line in locks]
        return [row[4] for row in rows if len(row) > 5 and row[1] == "FLOCK" and row[5].endswith(f":{inode}") and row[4] not in ("0", "-1")]
    return []


def _is_roots(pid: str) -> bool:
    """False, too, for a process that is gone and left its lock to another: a worker never does."""
    try:
        return os.stat(f"/proc/{pid}").st_uid == 0
    except FileNotFoundError:
        return False
    except OSError:
        return True


NVIDIA = Lane(
    name="nvidia",
    methods=("nvml",),
    directories=(_DIRECTORY, _SWITCHES),
    is_wanted=_is_wanted,
    locked=_MODULE,
    lock=_lock,
    ask_all=_ask_all,
    end=_end,
)
