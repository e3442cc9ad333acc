"""Watches files that a pass has read, once a second by stat(2), never by reading."""

import contextlib
import math
import os
import time
from collections.abc import Iterable

from hostagent.host.paths import Root
from hostagent.sandbox.mounts import parse_mounts

#: File systems with a server that may not answer: only passes read them.
MAY_HANG = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "lustre", "gpfs", "beegfs", "afs", "autofs", "fuse", "fuseblk"})
_MOUNTS = "/proc/self/mountinfo"
#: More paths than any host's configuration has.
_MOST = 4096

#: Lag of file times behind the clock.
_TICK_S = 0.02

Mark = tuple[int, ...]


class FileWatch:
    """Paths, and the stat(2) result of each when `watch` was called."""

    def __init__(self) -> None:
        self._marks: dict[str, Mark] = {}

    def watch(self, places: "Places", paths: Iterable[str], own: Iterable[str] = (), since: float = math.inf) -> None:
        """Watch `paths` of the host at `places`, and `own` of this process. No change between two calls is lost: a watched path keeps its
        mark, and a new one that changed after `since` (start of reading, seconds since the epoch) counts as changed.
        """
        real = {place for path in paths for place in (places.real(path), places.named(path))}
        wanted = sorted(one for one in (*real, *own) if not places.may_hang(one))[:_MOST]
        self._marks = {path: self._marks[path] if path in self._marks else _of_reader(_mark(path), since - _TICK_S) for path in wanted}

    def look(self) -> bool:
        """Whether one changed since the last call."""
        changed = False
        for path, before in self._marks.items():
            mark = _mark(path, is_there=bool(before))
            if mark != before:
                self._marks[path], changed = mark, True
        return changed

    def __len__(self) -> int:
        return len(self._marks)


def _of_reader(mark: Mark, since: float) -> Mark:
    """The mark for a reader that started at `since`: a different one if the file changed later."""
    return (-1,) if len(mark) > 1 and mark[-1] / 1e9 > since else mark


def _mark(path: str, *, is_there: bool = False) -> Mark:
    """`is_there`: it existed at the last call."""
    if not is_there and not os.access(path, os.F_OK):  # half of them do not exist, and an exception costs more than access(2)
        return ()
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        return (error.errno or 0,)
    return (found.st_dev, found.st_ino, found.st_mode, found.st_uid, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class Places:
    """Paths of files of the host at `root` for this process, by the current mounts."""

    def __init__(self, root: Root) -> None:
        self._root, self._hanging = root, _hanging()

    def named(self, path: str) -> str:
        return os.path.join(self._root.path.rstrip("/") + "/", path.lstrip("/"))

    def real(self, path: str) -> str:
        """Links resolved inside the root: outside, an absolute link leads elsewhere."""
        with contextlib.suppress(OSError, ValueError):
            return self.named(self._root.realpath(path))
        return self.named(path)

    def may_hang(self, place: str) -> bool:
        """Whether stat(2) of `place` may hang."""
        return any(place == point or place.startswith(point.rstrip("/") + "/") for point in self._hanging)

    def mark(self, path: str, since: float = math.inf) -> Mark:
        """The mark of a file for a reader that started at `since`, seconds since the epoch. One that may hang has a new mark each time."""
        place = self.real(path)
        return (-1, time.monotonic_ns()) if self.may_hang(place) else _of_reader(_mark(place), since - _TICK_S)


def _hanging() -> tuple[str, ...]:
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as stream:
            mounts = parse_mounts(stream.read())
    except OSError:
        return ()
    return tuple(point for point, kind in mounts if kind in MAY_HANG or kind.startswith("fuse."))
