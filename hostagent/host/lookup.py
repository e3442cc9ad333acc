"""Looking a path up inside a directory that it must not leave: by the kernel, or part by part where the kernel cannot be asked."""

import errno
import os
from contextlib import closing

from hostagent.host.walk import Walk
from hostagent.sandbox.syscalls import openat2_in_root

#: How often openat2(2) is asked again while somebody moves directories, before the walk is taken.
_TRIES = 16
#: Where openat2(2) is no help: not there (before Linux 5.6), refused by a container's old filter, a magic link, a tree in motion.
_NO_HELP = (errno.ENOSYS, errno.EPERM, errno.EXDEV, errno.EAGAIN)


def by_kernel(root: int, path: str, flags: int) -> int:
    """A descriptor of `path`, as the kernel looks it up inside the directory `root`; by parts where it does not. Raises ``OSError``."""
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
    """The same without the kernel's help."""
    with closing(Walk(root)) as walk:
        return walk.open(path, flags)
