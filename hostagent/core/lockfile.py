"""A lock (flock(2)) on a regular file that only its owner can open.

flock(2) needs no write permission: a user who can open a file or a directory can hold a lock on it indefinitely. So the locked file has
no permission for group or others, and each wait has a deadline. The kernel releases a lock when the last process that inherited its
descriptor ends.
"""

import contextlib
import errno
import math
import os
import stat
import time
from collections.abc import Callable
from typing import NamedTuple

from hostagent.core.smallfile import NotOwnError

#: Opening another kind of file must neither block nor have effects.
_CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
#: Seconds between two tries, and between two calls of `gives_up`.
_TRY_S, _LOOK_S = 0.02, 0.2


class LockTimeoutError(Exception):
    """The time is up and another process has the lock; the text is its `process_label`."""


class Lock(NamedTuple):
    """A lock that this process holds. `created`: by this process; `waited`: another process had it."""

    descriptor: int
    created: bool
    waited: bool


def take(path: str, ends: float, *, make: bool = True) -> Lock:
    """Lock `path`, created with `make` if it is missing; tried once, then until `ends` on the monotonic clock.

    Raises ``LockTimeoutError``; and as `open_private` does. If the holder removed the file, its successor is locked.
    """
    waited = False
    while True:
        descriptor, created = open_private(path, make=make)
        try:
            waited = _wait(descriptor, ends) or waited
            if is_at(descriptor, path):
                return Lock(descriptor, created, waited)
        except BaseException as error:
            if created and isinstance(error, OSError):  # a file system without locks
                remove(descriptor, path)
            os.close(descriptor)
            raise
        os.close(descriptor)


def _wait(descriptor: int, ends: float) -> bool:
    if acquire(descriptor, -math.inf):
        return False
    if not acquire(descriptor, ends):
        raise LockTimeoutError(process_label(heir(descriptor)))
    return True


def open_private(name: str, *, inside: "int | None" = None, make: bool = True, writing: bool = False) -> tuple[int, bool]:
    """A descriptor of the regular file `name`, relative to the directory `inside` if given, and whether it was created (mode 0600).

    One that cannot be written is opened for reading, which suffices for flock(2), unless `writing`. Raises ``NotOwnError`` for a file
    that other users can open, ``FileNotFoundError`` for a missing one without `make`, ``OSError``.
    """
    while True:
        try:
            descriptor = _existing(name, inside, writing=writing)
        except FileNotFoundError:
            if not make:
                raise
            with contextlib.suppress(FileExistsError):  # created by another process meanwhile
                return os.open(name, _CAREFUL | os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=inside), True
            continue
        try:
            _refuse_others(os.fstat(descriptor), name)
        except NotOwnError:
            os.close(descriptor)
            raise
        return descriptor, False


def _existing(name: str, inside: "int | None", *, writing: bool) -> int:
    try:
        return os.open(name, _CAREFUL | os.O_RDWR, dir_fd=inside)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotOwnError(errno.ELOOP, f"found {os.path.basename(name)}, a link, wanted a file") from error
        if writing:
            raise
        return os.open(name, _CAREFUL | os.O_RDONLY, dir_fd=inside)


def _refuse_others(found: os.stat_result, name: str) -> None:
    uid = os.geteuid()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != uid or found.st_mode & 0o077:
        mode = f"{stat.filemode(found.st_mode)} of user {found.st_uid}"
        raise NotOwnError(errno.EPERM, f"found {os.path.basename(name)} with {mode}, wanted a file that is user {uid}'s alone")


def acquire(descriptor: int, ends: float, gives_up: Callable[[], bool] = lambda: False) -> bool:
    """Whether this process got the lock: tried once, then until `ends` on the monotonic clock, or until `gives_up` returns True.

    Raises ``OSError`` on a file system without locks.
    """
    import fcntl

    looked = -math.inf
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            now = time.monotonic()
            if now >= ends:
                return False
            if now - looked > _LOOK_S:
                looked = now
                if gives_up():
                    return False
            time.sleep(_TRY_S)
        else:
            return True


def is_at(descriptor: int, path: str) -> bool:
    """Whether `path` still names this file: a holder may have removed it."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    return False


def remove(descriptor: int, path: str) -> None:
    """Remove the file, by the holder of its lock. A process that shares the lock may have removed it already."""
    with contextlib.suppress(OSError):
        if is_at(descriptor, path):
            os.unlink(path)


def holder(descriptor: int) -> int:
    """The process that holds the lock, by proc_locks(5); 0 if none does, or if it is in another pid namespace.

    By inode and file system: another file may have the same numbers and belong to any user. The process may have ended, see `heir`.
    """
    with contextlib.suppress(OSError, ValueError):
        place = _place(descriptor)
        with open("/proc/locks", encoding="utf-8", errors="replace") as locks:
            for row in map(str.split, locks):
                if len(row) > 5 and row[1] == "FLOCK" and row[5] == place and row[4].isdecimal():
                    return int(row[4])
    return 0


def heir(descriptor: int) -> int:
    """The holder, or if it has ended a process that inherited its descriptor. Searches all of /proc; opens no file of a process."""
    with contextlib.suppress(OSError, ValueError):
        name, place = _name("self", descriptor), _place(descriptor)
        for pid in (holder(descriptor), *sorted(map(int, filter(str.isdecimal, os.listdir("/proc"))))):
            with contextlib.suppress(OSError):
                if any(_locks(pid, number, place) for number in os.listdir(f"/proc/{pid}/fd") if _name(pid, number) == name):
                    return pid
    return 0


def _name(pid: "int | str", number: "int | str") -> str:
    """The file name only: in another mount namespace the directory may differ."""
    with contextlib.suppress(OSError):
        return os.path.basename(os.readlink(f"/proc/{pid}/fd/{number}"))
    return ""


def _locks(pid: int, number: str, place: str) -> bool:
    """Whether the descriptor holds the lock by its fdinfo (proc(5)): a waiting process has the file open, too."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii", errors="replace") as lines:
        return any(row[:1] == ["lock:"] and row[2:3] == ["FLOCK"] and place in row for row in map(str.split, lines))
    return False


def _place(descriptor: int) -> str:
    """A file as /proc/locks names it. The device is that of the mount: with subvolumes stat(2) has another one."""
    with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii", errors="replace") as lines:
        mount = next((line.split()[1] for line in lines if line.startswith("mnt_id:")), "")
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:
        found = next((row[2] for row in map(str.split, lines) if row[0] == mount), "")
    file = os.fstat(descriptor)
    major, minor = map(int, found.split(":")) if found else (os.major(file.st_dev), os.minor(file.st_dev))
    return f"{major:02x}:{minor:02x}:{file.st_ino}"


def process_label(pid: int) -> str:
    """A process in messages: ``hostagent (pid 7)``; 0 has no number in this pid namespace."""
    if not pid:
        return "a process that is not seen from here"
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as stream:
        return f"{stream.read().strip()} (pid {pid})"
    return f"pid {pid}"
