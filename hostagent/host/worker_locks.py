"""The lock of a lane: one worker at a time reads from a driver. The locked file can be opened only by root.

So other users cannot hold it. It is ``/run/hostagent/LANE.lock`` of the host. Where that does not exist and cannot be created, it is the
first file below ``/sys/module/NAME/sections`` (mode 0400, kernels with CONFIG_KALLSYMS). The
kernel's own comes second because root in a container that shares the host's network shares its sysfs, too (measured: one inode,
and flock(2) needs no right to write). An ordinary user has locks of its own.

A worker that hangs in the kernel keeps its lock until it dies: intended, so that no second one hangs, too.
"""

import contextlib
import errno
import math
import os
import stat
import time
from collections.abc import Callable, Iterator

from hostagent.core import lockfile
from hostagent.core.smallfile import NotOwnError
from hostagent.core.unread import Unread
from hostagent.host.paths import Root
from hostagent.sandbox.worker_spec import CALL_S

#: Seconds before the run's end at which a waiting worker reports the holder of the lock.
_REPORT_S = 0.3
_SIGKILL_BIT = 1 << 8


def hold(lane: str, module: str, root: Root, ends: float, get_ready: Callable[[], None] = lambda: None) -> "Unread | None":
    """Wait for the lock of `lane`; ``Unread`` if this process does not get it. None also where nothing can hang or be locked.

    Waits for another worker until shortly before `ends` (of the run, on the monotonic clock), and no longer than `CALL_S` if that was
    killed and hangs. The kernel releases the lock when this process ends. `get_ready` is called before the wait, if there is a lock.
    """
    hung_since = math.inf

    def hangs_too_long() -> bool:
        nonlocal hung_since
        now = time.monotonic()
        hung_since = min(hung_since, now) if _hangs(lockfile.holder(descriptor)) else math.inf
        return now - hung_since > CALL_S

    try:
        descriptor = _open(lane, module, root)
    except NotOwnError as error:
        return Unread("error", f"the lock of the {lane} lane: {error.strerror}")
    if descriptor < 0:
        return None
    get_ready()
    try:
        if lockfile.acquire(descriptor, ends - _REPORT_S, hangs_too_long):
            return None
    except OSError as error:
        return Unread("error", f"the lock of the {lane} lane: {error.strerror}")
    pid = lockfile.holder(descriptor)
    state = "hangs in" if _hangs(pid) else "is still reading from"
    return Unread("timeout", f"another hostagent's worker ({f'pid {pid}' if pid else 'in another container'}) {state} the {lane} driver")


def _open(lane: str, module: str, root: Root) -> int:
    """A descriptor of the file to lock, -1 without one. Raises ``NotOwnError``."""
    try:
        os.close(root.open(f"/sys/module/{module}", os.O_PATH | os.O_DIRECTORY))
    except (FileNotFoundError, NotADirectoryError):
        return -1  # no module, so nothing here can hang
    except OSError:
        pass
    return next((one for one in _places(lane, module, root) if one >= 0), -1)


def _places(lane: str, module: str, root: Root) -> Iterator[int]:
    uid = os.geteuid()
    if uid == 0:
        if not root.simulated:  # a simulated tree is not written to, and cannot hang
            yield _file(root, "/run", "hostagent", f"{lane}.lock", uid)
        yield _kernels_own(root, f"/sys/module/{module}/sections")
    elif not root.simulated:
        yield _file(root, "/run/user", str(uid), f"hostagent-{lane}.lock", uid)


def _file(root: Root, parent: str, directory: str, name: str, uid: int) -> int:
    """The file, created if missing. `directory` is created for root; an ordinary user has one from the session, or none."""
    path = f"{parent}/{directory}"
    try:
        with contextlib.ExitStack() as opened:
            above = root.open(parent, os.O_RDONLY | os.O_DIRECTORY)
            opened.callback(os.close, above)
            if uid == 0:
                with contextlib.suppress(OSError):
                    os.mkdir(directory, 0o700, dir_fd=above)
                    os.chmod(directory, 0o755, dir_fd=above)  # noqa: S103  # whatever the umask: every user may read the state file
            _refuse_others(os.stat(directory, dir_fd=above, follow_symlinks=False), uid)
            inside = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
            opened.callback(os.close, inside)
            return lockfile.open_private(name, inside=inside)[0]
    except NotOwnError as error:
        raise NotOwnError(error.errno, f"{path}: {error.strerror}: remove it") from error
    except OSError:
        return -1


def _kernels_own(root: Root, directory: str) -> int:
    with contextlib.suppress(OSError):
        inside = root.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in sorted(os.listdir(inside)):
                with contextlib.suppress(OSError):
                    return lockfile.open_private(name, inside=inside, make=False)[0]
        finally:
            os.close(inside)
    return -1


def _refuse_others(found: os.stat_result, uid: int) -> None:
    """Raises ``NotOwnError`` for a directory that other users may write: they could replace the file."""
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid or found.st_mode & (0o022 if uid == 0 else 0o077):
        mode = f"{stat.filemode(found.st_mode)} of user {found.st_uid}"
        raise NotOwnError(errno.EPERM, f"found {mode}, wanted a directory that is user {uid}'s alone")


def _hangs(pid: int) -> bool:
    """Whether a thread was killed and is in uninterruptible sleep. State D without SIGKILL is an ordinary wait for the driver."""
    with contextlib.suppress(OSError):
        return bool(pid) and any(_is_stuck(f"/proc/{pid}/task/{thread}/status") for thread in os.listdir(f"/proc/{pid}/task"))
    return False


def _is_stuck(status: str) -> bool:
    with contextlib.suppress(OSError, KeyError), open(status, encoding="utf-8", errors="replace") as lines:
        rows = {key: value for key, _, value in (line.partition(":\t") for line in lines)}
        return rows["State"].startswith("D") and bool(int(rows["SigPnd"], 16) & _SIGKILL_BIT)
    return False
