"""Who starts the demo cluster and who runs it: locks of which the kernel names the holder, and which it takes from a dead process."""

import fcntl
import os
import struct
from pathlib import Path

#: What is locked, as bytes of the file: the first while `up` or `down` works, the second while a supervisor lives.
AT_WORK, RUNS = 0, 1
#: struct flock: type, whence, start, length, pid.
_FLOCK = "hhqqi"


class Lock:
    """Record locks on the file `path`, which stays: a removed one would be locked by one process and made anew by the next.

    A process has one Lock at most: where it closes a second one, the kernel drops the locks of the first.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")

    def take(self, part: int) -> bool:
        """Until this process ends; no process that it starts inherits it. False where another has it."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, part)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def holder(self, part: int) -> int | None:
        """The pid of the other process that has it; below 1 where that is in another pid namespace or on another machine."""
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, part, 1, 0)
        kind, *_, pid = struct.unpack(_FLOCK, fcntl.fcntl(self._file, fcntl.F_GETLK, asked))
        return None if kind == fcntl.F_UNLCK else pid
