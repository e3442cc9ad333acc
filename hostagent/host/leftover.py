"""A temporary directory for a process without a namespace; the next run removes that of a killed process.

Its owner holds a lock on it: an unlocked one has a dead owner, also of another container. Other users cannot take the lock, as only
its user can open the directory.
"""

import contextlib
import errno
import math
import os
from collections.abc import Iterator

from hostagent.core.lockfile import acquire, is_at

_PREFIX = "hostagent-copy-"
_TRIES = 5


@contextlib.contextmanager
def directory(group: int) -> Iterator[str]:
    """An empty directory, removed at the end; with a `group` (an unused id) its members may write there. Raises ``OSError``."""
    import shutil
    import tempfile

    remove_orphans()
    for _ in range(_TRIES):  # another run may remove it before its lock is held
        path = tempfile.mkdtemp(prefix=_PREFIX)
        lock = _lock(path)
        if lock >= 0:
            break
    else:
        raise OSError(errno.EAGAIN, "other runs remove every directory")
    try:
        if group:
            os.fchown(lock, -1, group)
            os.fchmod(lock, 0o770)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def remove_orphans() -> None:
    """Remove directories of dead processes of this user. rmtree works by descriptors and follows no link."""
    import shutil
    import tempfile

    base = tempfile.gettempdir()
    for name in os.listdir(base):
        path = os.path.join(base, name)
        if name.startswith(_PREFIX) and (lock := _lock(path)) >= 0:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _lock(path: str) -> int:
    """A descriptor with the lock on a directory of this user that still exists; -1 if another process has it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return -1
    with contextlib.suppress(OSError):
        if os.fstat(descriptor).st_uid == os.geteuid() and acquire(descriptor, -math.inf) and is_at(descriptor, path):
            return descriptor
    os.close(descriptor)
    return -1
