"""Files that a pass has read, looked at once a second: by stat(2) alone, never by a read."""

import contextlib
import math
import os
from collections.abc import Iterable

from hostagent.source.mounts import parse_mounts
from hostagent.source.paths import Root

#: File systems whose server may not answer: what is there is looked at by passes alone.
_MAY_HANG = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "lustre", "gpfs", "beegfs", "afs", "autofs", "fuse", "fuseblk"})
_MOUNTS = "/proc/self/mountinfo"
#: More paths than any host's configuration has.
_MOST = 4096

#: By so much the times of files may lag behind the clock.
_TICK_S = 0.02

Mark = tuple[int, ...]


class Watched:
    """Paths and what stat(2) said of each when `watch` was called."""

    def __init__(self) -> None:
        self._marks: dict[str, Mark] = {}

    def watch(self, root: Root, paths: Iterable[str], own: Iterable[str] = (), since: float = math.inf) -> None:
        """`paths` of the host at `root`, and `own` of this process. What changed between two calls is not lost: a path that is watched
        already keeps its mark, and a new one that changed after `since`, seconds since the epoch, when somebody began to read, counts as
        changed.
        """
        hanging = _hanging()
        real = {_place(root, path) for path in paths} | {os.path.join(root.path.rstrip("/") + "/", path.lstrip("/")) for path in paths}
        wanted = sorted(one for one in (*real, *own) if not _is_below(one, hanging))[:_MOST]
        self._marks = {path: self._marks[path] if path in self._marks else _of_reader(_mark(path), since - _TICK_S) for path in wanted}

    def look(self) -> bool:
        """Whether one changed since the last look."""
        changed = False
        for path, before in self._marks.items():
            mark = _mark(path, is_there=bool(before))
            if mark != before:
                self._marks[path], changed = mark, True
        return changed

    def __len__(self) -> int:
        return len(self._marks)


def _of_reader(mark: Mark, since: float) -> Mark:
    """As whoever began to read at that time may have seen it: another one where it changed later."""
    return (-1,) if len(mark) > 1 and mark[-1] / 1e9 > since else mark


def _mark(path: str, *, is_there: bool = False) -> Mark:
    """`is_there`: it was at the last look."""
    if not is_there and not os.access(path, os.F_OK):  # half of all are not there, and an exception costs more than the look
        return ()
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        return (error.errno or 0,)
    return (found.st_dev, found.st_ino, found.st_mode, found.st_uid, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _place(root: Root, path: str) -> str:
    """Where it really is: a link with a full path leads elsewhere from outside of the root."""
    prefix = root.path.rstrip("/")
    with contextlib.suppress(OSError, ValueError):
        return f"{prefix}{root.realpath(path)}"
    return f"{prefix}{path}"


def _hanging() -> tuple[str, ...]:
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as stream:
            mounts = parse_mounts(stream.read())
    except OSError:
        return ()
    return tuple(point for point, kind in mounts if kind in _MAY_HANG or kind.startswith("fuse."))


def _is_below(path: str, points: tuple[str, ...]) -> bool:
    return any(path == point or path.startswith(point.rstrip("/") + "/") for point in points)
