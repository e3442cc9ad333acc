"""Looks up a path inside a directory that it must not leave: by openat2(2), or part by part without it."""

import errno
import os
from contextlib import closing

from hostagent.host.walk import Walk
from hostagent.sandbox.syscalls import openat2_in_root

#: Tries of openat2(2) while directories are moved, before the walk by parts.
_TRIES = 16
#: Errors of openat2(2) that need the walk: missing (before Linux 5.6), refused by a container's filter, a magic link, moved directories.
_NO_HELP = (errno.ENOSYS, errno.EPERM, errno.EXDEV, errno.EAGAIN)


def by_kernel(root: int, path: str, flags: int) -> int:
    """A descriptor of `path` by openat2(2) inside the directory `root`, else `by_parts`. Raises ``OSError``."""
    name, flags = os.fsencode(path), flags | os.O_CLOEXEC
    for _ in range(_TRIES):
        try:
            return openat2_in_root(root, name, flags)
        except OSError as error:
            if error.errno not in _NO_HELP:
                raise
            if error.errno != errno.EAGAIN:
                break
    return by_parts(root, path, flags)


def by_parts(root: int, path: str, flags: int) -> int:
    """The same without openat2(2)."""
    with closing(Walk(root)) as walk:
        return walk.open(path, flags)
