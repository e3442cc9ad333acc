"""One daemon a state directory: whoever writes beside it looks here first.

A record lock, which the children of the daemon do not inherit: one that is stuck in the kernel keeps no other daemon away.
"""

import errno
import fcntl
import os
import stat
import struct

NAME = "daemon.lock"
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
#: struct flock: type, whence, start, length, process.
_WHOLE = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


def take(folder: str) -> int | None:
    """A descriptor that holds the lock until this process ends; None where another process holds it. Raises ``OSError``.

    The process must open the file no second time: closing any descriptor of it lets go of the lock.
    """
    path = os.path.join(folder, NAME)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
        try:
            _refuse_another_kind(os.fstat(descriptor))
            os.fchmod(descriptor, 0o600)
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError) as error:
            os.close(descriptor)
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return None
            raise
        except BaseException:
            os.close(descriptor)
            raise
        if _is_named(path, descriptor):
            return descriptor
        os.close(descriptor)  # somebody removed it meanwhile


def is_held(folder: str) -> bool:
    """Whether a daemon is at work there. Takes no lock, not even for a moment. Raises ``OSError`` where that cannot be seen."""
    try:
        descriptor = os.open(os.path.join(folder, NAME), os.O_RDONLY | _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        found = fcntl.fcntl(descriptor, fcntl.F_GETLK, _WHOLE)
    finally:
        os.close(descriptor)
    return bool(struct.unpack_from("h", found)[0] != fcntl.F_UNLCK)


def _refuse_another_kind(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode) or found.st_uid not in (0, os.geteuid()):
        raise OSError(errno.EINVAL, f"found {NAME} of another kind or user, wanted a file of root's or your own")


def _is_named(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False
