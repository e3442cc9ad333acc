"""The lock of a lane: one worker reads from a driver at a time. What is locked is a file that only root can open.

So nobody else can hold it, and holders need no judging. It is ``/run/hostagent/LANE.lock`` of the judged host. Where that is not
there and cannot be made, it is the first file below ``/sys/module/NAME/sections`` (mode 0400, kernels with CONFIG_KALLSYMS). The
kernel's own comes second because root in a container that shares the host's network shares its sysfs, too (measured: one inode,
and flock(2) needs no right to write). An ordinary user locks for himself alone.

A worker that hangs in the kernel keeps its lock until the kernel lets it die, which is the point: no second one joins it.
"""

import contextlib
import math
import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hostagent.facts.unread import Unread
from hostagent.source.lane import CALL_S
from hostagent.source.paths import Root

#: Seconds before the run's end at which who waits tells who holds the lock; between two tries, and between two looks at the holder.
_TELL_S, _TRY_S, _LOOK_S = 0.3, 0.02, 0.2
_SIGKILL_BIT = 1 << 8
#: Opening what is no regular file must neither wait nor do things.
_CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class _NotRootsError(Exception):
    """Something else lies where the lock should."""


class Holder(NamedTuple):
    """Who has the lock, by proc_locks(5): 0 where this process cannot see him."""

    pid: int
    #: He was killed and does not die: he hangs in the kernel.
    hangs: bool

    def __str__(self) -> str:
        return f"pid {self.pid}" if self.pid else "in another container"


def hold(lane: str, module: str, root: Root, ends: float, get_ready: Callable[[], None] = lambda: None) -> "Unread | None":
    """Wait until this process is the only worker of `lane`; why it is not, if so. None, too, where nothing can hang or be locked.

    Another one is waited for until shortly before `ends` (of the run, on the monotonic clock), and no longer than a call may take
    if it was killed and hangs. The kernel drops the lock when this process ends, however it ends. `get_ready` is what this process
    can do without it, called before where there is a lock.
    """
    import fcntl

    try:
        descriptor = _opened(lane, module, root)
    except _NotRootsError as error:
        return Unread("error", f"the lock of the {lane} lane: {error}")
    if descriptor < 0:
        return None
    get_ready()
    looked, hung_since = -math.inf, math.inf
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            now = time.monotonic()
            is_late = now > ends - _TELL_S
            if is_late or now - looked > _LOOK_S:
                looked, holder = now, _holder(descriptor)
                hung_since = min(hung_since, now) if holder.hangs else math.inf
                if is_late or now - hung_since > CALL_S:
                    told = "hangs in" if holder.hangs else "is still reading from"
                    return Unread("timeout", f"another hostagent's worker ({holder}) {told} the {lane} driver")
            time.sleep(_TRY_S)
        except OSError as error:
            return Unread("error", f"the lock of the {lane} lane: {error.strerror}")
        else:
            return None


def _opened(lane: str, module: str, root: Root) -> int:
    """A descriptor of what is locked, -1 where nothing is. Raises ``_NotRootsError``."""
    try:
        os.close(root.open(f"/sys/module/{module}", os.O_PATH | os.O_DIRECTORY))
    except (FileNotFoundError, NotADirectoryError):
        return -1  # no module, so nothing here can hang
    except OSError:
        pass
    for one in _places(lane, module, root):
        if one >= 0:
            return one
    return -1


def _places(lane: str, module: str, root: Root) -> Iterator[int]:
    uid = os.geteuid()
    if uid == 0:
        if not root.simulated:  # a made tree is nobody's to write to, and hangs nowhere
            yield _file(root, "/run", "hostagent", f"{lane}.lock", uid)
        yield _kernels_own(root, f"/sys/module/{module}/sections")
    elif not root.simulated:
        yield _file(root, "/run/user", str(uid), f"hostagent-{lane}.lock", uid)


def _file(root: Root, parent: str, directory: str, name: str, uid: int) -> int:
    """The file, made where it is not there. `directory` is made for root; an ordinary user has one from his session, or none."""
    path = f"{parent}/{directory}"
    with contextlib.suppress(OSError), contextlib.ExitStack() as opened:
        above = root.open(parent, os.O_RDONLY | os.O_DIRECTORY)
        opened.callback(os.close, above)
        if uid == 0:
            with contextlib.suppress(OSError):
                os.mkdir(directory, 0o700, dir_fd=above)
                os.chmod(directory, 0o755, dir_fd=above)  # noqa: S103  # whatever the umask: everybody may read the state file
        _refuse_link(above, directory, path)
        inside = os.open(directory, _CAREFUL | os.O_RDONLY | os.O_DIRECTORY, dir_fd=above)
        opened.callback(os.close, inside)
        _refuse_others(inside, uid, stat.S_IFDIR, 0o022 if uid == 0 else 0o077, path)
        _refuse_link(inside, name, f"{path}/{name}")
        try:
            found = os.open(name, _CAREFUL | os.O_RDWR | os.O_CREAT, 0o600, dir_fd=inside)
        except OSError:  # mounted for reading alone: a lock needs no more
            found = os.open(name, _CAREFUL | os.O_RDONLY, dir_fd=inside)
        return _checked(found, uid, f"{path}/{name}")
    return -1


def _kernels_own(root: Root, directory: str) -> int:
    with contextlib.suppress(OSError):
        inside = root.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in sorted(os.listdir(inside)):
                with contextlib.suppress(OSError, _NotRootsError):
                    return _checked(os.open(name, _CAREFUL | os.O_RDONLY, dir_fd=inside), 0, f"{directory}/{name}")
        finally:
            os.close(inside)
    return -1


def _checked(descriptor: int, uid: int, path: str) -> int:
    """`descriptor`, of a regular file that nobody but `uid` can open."""
    try:
        _refuse_others(descriptor, uid, stat.S_IFREG, 0o077, path)
    except _NotRootsError:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_link(directory: int, name: str, path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise _NotRootsError(f"{path} is a link")


def _refuse_others(descriptor: int, uid: int, kind: int, unwanted: int, path: str) -> None:
    found = os.fstat(descriptor)
    if stat.S_IFMT(found.st_mode) != kind or found.st_uid != uid or found.st_mode & unwanted:
        mode = f"{stat.filemode(found.st_mode)} of user {found.st_uid}"
        raise _NotRootsError(f"found {path} with {mode}, wanted one that is user {uid}'s alone: remove it")


def _holder(descriptor: int) -> Holder:
    """By proc_locks(5). By number and file system: another one may have the number, too, and be anybody's."""
    locked = os.fstat(descriptor)
    place = f"{os.major(locked.st_dev):02x}:{os.minor(locked.st_dev):02x}:{locked.st_ino}"
    with contextlib.suppress(OSError), open("/proc/locks", encoding="utf-8", errors="replace") as locks:
        for row in map(str.split, locks):
            if len(row) > 5 and row[1] == "FLOCK" and row[5] == place and row[4].isdecimal() and row[4] != "0":
                return Holder(int(row[4]), any(map(_hangs, _threads(row[4]))))
    return Holder(0, hangs=False)


def _threads(pid: str) -> list[str]:
    with contextlib.suppress(OSError):
        return [f"/proc/{pid}/task/{thread}/status" for thread in os.listdir(f"/proc/{pid}/task")]
    return []


def _hangs(status: str) -> bool:
    """A thread that was killed and waits where a signal does not reach it. State D alone is any wait for the driver."""
    with contextlib.suppress(OSError, KeyError), open(status, encoding="utf-8", errors="replace") as lines:
        rows = {key: value for key, _, value in (line.partition(":\t") for line in lines)}
        return rows["State"].startswith("D") and bool(int(rows["SigPnd"], 16) & _SIGKILL_BIT)
    return False
