"""One daemon a state directory: whoever writes beside it looks here first.

A record lock, which the children of the daemon do not inherit: one that is stuck in the kernel keeps no other daemon away.
"""

import errno
import fcntl
import os
import struct

from hostagent.core import lockfile

NAME = "daemon.lock"
#: struct flock: type, whence, start, length, process.
_WHOLE = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


def take(folder: str) -> int | None:
    """A descriptor that holds the lock until this process ends; None where another process holds it. Raises ``OSError``.

    The process must open the file no second time: closing any descriptor of it lets go of the lock.
    """
    path = os.path.join(folder, NAME)
    while True:
        descriptor, _ = lockfile.open_private(path, writing=True)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return None
            raise
        if lockfile.is_at(descriptor, path):
            return descriptor
        os.close(descriptor)  # somebody removed it meanwhile


def is_held(folder: str) -> bool:
    """Whether a daemon is at work there. Takes no lock, not even for a moment. Raises ``OSError`` where that cannot be seen."""
    try:
        descriptor, _ = lockfile.open_private(os.path.join(folder, NAME), make=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        found = fcntl.fcntl(descriptor, fcntl.F_GETLK, _WHOLE)
    finally:
        os.close(descriptor)
    return bool(struct.unpack_from("h", found)[0] != fcntl.F_UNLCK)
