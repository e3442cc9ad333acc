"""Files, directories and links: never blocking, never larger than asked, every fault a value."""

import errno
import os
import stat
from typing import Any

from hostagent.facts.unread import Unread, Why
from hostagent.source.base import KIB, MIB, Answer
from hostagent.source.paths import Root

_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFLNK: "link",
}
_WHY: dict[int, Why] = {
    errno.ENOENT: "absent",
    errno.ENOTDIR: "absent",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    # what a sysfs attribute answers when the device has no such thing
    errno.ENODEV: "not-supported",
    errno.ENXIO: "not-supported",
    errno.EOPNOTSUPP: "not-supported",
    errno.ETIMEDOUT: "timeout",
}


def unread(error: OSError | ValueError, path: str) -> Unread:
    """The value of an operating system error, or of a path that can be none, with the host's path in it."""
    if isinstance(error, ValueError):  # a null byte, say, from evidence that names paths
        return Unread("error", f"{path!r}: {error}")
    why = _WHY.get(error.errno or 0, "error")
    return Unread(why, f"{path}: {(error.strerror or 'unknown error').lower()}")


class Files:
    """Answers ``read tail list stat readlink realpath statvfs modinfo`` below one root."""

    def __init__(self, root: Root) -> None:
        self._root = root

    def _located(self, path: str, *, follow: bool = True) -> str:
        """A name that `_visible` changed leads to no file, which must not read as absent: it was listed."""
        if "\ufffd" in path:
            raise ValueError("a name that is not UTF-8")
        return self._root.locate(path, follow=follow)

    def read(self, path: str, limit: str = str(MIB)) -> Answer:
        return self._open_and(path, lambda descriptor, size: _whole(descriptor, path, int(limit), size))

    def tail(self, path: str, limit: str = str(256 * KIB)) -> Answer:
        return self._open_and(path, lambda descriptor, size: _last(descriptor, int(limit), size))

    def head(self, path: str, limit: int) -> Answer:
        """The first `limit` bytes of a file that may have any size. No question of its own: for sources."""
        return self._open_and(path, lambda descriptor, _: _first(descriptor, limit))

    def descriptor(self, path: str) -> "int | Unread":
        """Of a file that is read in another way. No question of its own either."""
        found: int | Unread = self._open_and(path, lambda descriptor, _: os.dup(descriptor))
        return found

    def modinfo(self, path: str) -> Answer:
        """Lazily imported: only hosts with a driver on disk have such files."""
        from hostagent.source.modinfo import modinfo

        return self._open_and(path, lambda descriptor, size: modinfo(descriptor, path, size))

    def _open_and(self, path: str, reader: Any) -> Answer:
        try:
            located = self._located(path)
            # Looked at before it is opened: opening a device can do things, opening a FIFO can wait.
            kind = _KINDS.get(stat.S_IFMT(os.stat(located).st_mode), "unknown")
            if kind != "file":
                return Unread("error", f"{path} is a {kind}, wanted a file")
            descriptor = os.open(located, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
            try:
                opened = os.fstat(descriptor)
                if not stat.S_ISREG(opened.st_mode):
                    return Unread("error", f"{path} changed while it was read")
                return reader(descriptor, opened.st_size)
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            return unread(error, path)

    def list(self, path: str) -> Answer:
        try:
            names = os.listdir(self._located(path))
        except (OSError, ValueError) as error:
            return unread(error, path)
        return sorted(map(_visible, names))

    def stat(self, path: str) -> Answer:
        try:
            found = os.stat(self._located(path))
        except (OSError, ValueError) as error:
            return unread(error, path)
        return {
            "kind": _KINDS.get(stat.S_IFMT(found.st_mode), "unknown"),
            "mode": stat.S_IMODE(found.st_mode),
            "uid": found.st_uid,
            "gid": found.st_gid,
            "size": found.st_size,
            "mtime": found.st_mtime,
            "major": os.major(found.st_rdev),
            "minor": os.minor(found.st_rdev),
        }

    def readlink(self, path: str) -> Answer:
        try:
            return _visible(os.readlink(self._located(path, follow=False)))
        except (OSError, ValueError) as error:
            is_other = isinstance(error, OSError) and error.errno == errno.EINVAL
            return Unread("absent", f"{path} is no link") if is_other else unread(error, path)

    def realpath(self, path: str) -> Answer:
        try:
            located = self._located(path)
            return _visible(self._root.inside(os.path.realpath(located, strict=True) if self._root.path == "/" else _existing(located)))
        except (OSError, ValueError) as error:
            return unread(error, path)

    def statvfs(self, path: str) -> Answer:
        try:
            found = os.statvfs(self._located(path))
        except (OSError, ValueError) as error:
            return unread(error, path)
        return {
            "total_bytes": found.f_blocks * found.f_frsize,
            "free_bytes": found.f_bavail * found.f_frsize,
            "free_inodes": found.f_favail,
            "mount_id": found.f_fsid,
        }


def _visible(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _existing(located: str) -> str:
    os.lstat(located)
    return located


def _whole(descriptor: int, path: str, limit: int, size: int) -> Answer:
    if size > limit:
        return Unread("error", f"{path} has {size} bytes, wanted at most {limit}")
    data = _first(descriptor, limit + 1)
    return Unread("error", f"{path} has more than {limit} bytes") if len(data) > limit else data


def _first(descriptor: int, limit: int) -> bytes:
    chunks: list[bytes] = []
    left = limit
    while left > 0 and (chunk := os.read(descriptor, min(left, MIB))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _last(descriptor: int, limit: int, size: int) -> Answer:
    data = os.pread(descriptor, limit, max(0, size - limit))
    return data.partition(b"\n")[2] if size > limit else data
