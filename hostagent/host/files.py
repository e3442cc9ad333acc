"""Reads files, directories and links: never blocking, bounded in size, every fault a value."""

import errno
import os
import stat
from collections.abc import Callable
from itertools import islice

from hostagent.core.answers import KIB, MIB, Answer
from hostagent.core.unread import Unread, Why
from hostagent.host.paths import Root

_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFLNK: "link",
}
#: In one directory: more are no configuration, and readers ask for each.
MOST_NAMES = 50_000
_WHY: dict[int, Why] = {
    errno.ENOENT: "absent",
    errno.ENOTDIR: "absent",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    # of sysfs attributes that the device does not support
    errno.ENODEV: "not-supported",
    errno.ENXIO: "not-supported",
    errno.EOPNOTSUPP: "not-supported",
    errno.ETIMEDOUT: "timeout",
}


def unread(error: OSError | ValueError, path: str) -> Unread:
    """The ``Unread`` of an operating system error, or of an invalid path, with the host's path."""
    if isinstance(error, ValueError):  # such as a null byte, from files that name paths
        return Unread("error", f"{path!r}: {error}")
    why = _WHY.get(error.errno or 0, "error")
    return Unread(why, f"{path}: {(error.strerror or 'unknown error').lower()}")


class Files:
    """Answers ``read tail list stat readlink realpath statvfs volume elf lock_holder`` below one root."""

    def __init__(self, root: Root) -> None:
        self._root = root

    def read(self, path: str, limit: str = str(MIB)) -> Answer:
        """Like `open_and`, but faster: of a thousand questions eight hundred are this one."""
        try:
            place = self._root.open(_real_name(path), os.O_PATH)
            try:
                found = os.fstat(place)
                if not stat.S_ISREG(found.st_mode):
                    return _no_file(path, found)
                descriptor = self._root.reopen(place, path)
                try:
                    return _whole(descriptor, path, int(limit), found.st_size)
                finally:
                    os.close(descriptor)
            finally:
                os.close(place)
        except (OSError, ValueError) as error:
            return unread(error, path)

    def tail(self, path: str, limit: str = str(256 * KIB)) -> Answer:
        return self.open_and(path, lambda descriptor, size: _last(descriptor, int(limit), size))

    def head(self, path: str, limit: int) -> Answer:
        """The first `limit` bytes of a file that may have any size. Not a question: for answers of others."""
        return self.open_and(path, lambda descriptor, _: _first(descriptor, limit))

    def descriptor(self, path: str) -> "int | Unread":
        """A descriptor of a regular file, for another kind of reading. Not a question either."""
        found: int | Unread = self.open_and(path, lambda descriptor, _: os.dup(descriptor))
        return found

    def elf(self, path: str) -> Answer:
        """Imported lazily: few hosts have files to ask for."""
        from hostagent.host.elf import elf

        return self.open_and(path, elf)

    def lock_holder(self, path: str) -> Answer:
        return self.open_and(path, lambda descriptor, _: lock_holder_of(descriptor))

    def list(self, path: str) -> Answer:
        return self._answer(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK, lambda opened: _names(opened, path))

    def stat(self, path: str) -> Answer:
        return self._answer(path, os.O_PATH, lambda place: _described(os.fstat(place)))

    def readlink(self, path: str) -> Answer:
        return self._answer(path, os.O_PATH, lambda place: _link_text(place, path), follow=False)

    def realpath(self, path: str) -> Answer:
        try:
            return _visible(self._root.realpath(_real_name(path)))
        except (OSError, ValueError) as error:
            return unread(error, path)

    def statvfs(self, path: str) -> Answer:
        return self._answer(path, os.O_PATH, lambda place: _space(os.statvfs(place)))

    def volume(self, path: str) -> Answer:
        return self._answer(path, os.O_PATH, lambda place: _capacity(os.statvfs(place)))

    def _answer(self, path: str, flags: int, ask: "Callable[[int], Answer]", *, follow: bool = True) -> Answer:
        """The result of `ask` for a descriptor of `path`."""
        try:
            opened = self._root.open(_real_name(path), flags, follow=follow)
            try:
                return ask(opened)
            finally:
                os.close(opened)
        except (OSError, ValueError) as error:
            return unread(error, path)

    def open_and(self, path: str, ask: "Callable[[int, int], Answer]") -> Answer:
        """The result of `ask` for a readable descriptor of a regular file, and its size."""
        return self._answer(path, os.O_PATH, lambda place: self._reopen_and(place, path, ask))

    def _reopen_and(self, place: int, path: str, ask: "Callable[[int, int], Answer]") -> Answer:
        found = os.fstat(place)
        if not stat.S_ISREG(found.st_mode):
            return _no_file(path, found)
        descriptor = self._root.reopen(place, path)
        try:
            return ask(descriptor, found.st_size)
        finally:
            os.close(descriptor)


def _no_file(path: str, found: os.stat_result) -> Unread:
    return Unread("error", f"{path} is a {_kind(found)}, wanted a file")


def _names(opened: int, path: str) -> Answer:
    with os.scandir(opened) as entries:
        names = [entry.name for entry in islice(entries, MOST_NAMES + 1)]
    if len(names) > MOST_NAMES:
        return Unread("error", f"{path} has more than {MOST_NAMES} entries")
    return sorted(map(_visible, names))


def _real_name(path: str) -> str:
    """Raises for a name that `_visible` changed: no such file exists, and it must not read as absent."""
    if "\ufffd" in path:
        raise ValueError("a name that is not UTF-8")
    return path


def _kind(found: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(found.st_mode), "unknown")


def _described(found: os.stat_result) -> Answer:
    return {
        "kind": _kind(found),
        "mode": stat.S_IMODE(found.st_mode),
        "uid": found.st_uid,
        "gid": found.st_gid,
        "size": found.st_size,
        "mtime": found.st_mtime,
        "major": os.major(found.st_rdev),
        "minor": os.minor(found.st_rdev),
    }


def _space(found: os.statvfs_result) -> Answer:
    return {
        "total_bytes": found.f_blocks * found.f_frsize,
        "free_bytes": found.f_bavail * found.f_frsize,
        "free_inodes": found.f_favail,
        "mount_id": found.f_fsid,
    }


def _capacity(found: os.statvfs_result) -> Answer:
    return {
        "total_bytes": found.f_blocks * found.f_frsize,
        "free_bytes": found.f_bavail * found.f_frsize,
        "total_inodes": found.f_files,
        "free_inodes": found.f_favail,
    }


def _link_text(place: int, path: str) -> Answer:
    if not stat.S_ISLNK(os.fstat(place).st_mode):
        return Unread("absent", f"{path} is no link")
    return _visible(os.readlink("", dir_fd=place))


def lock_holder_of(descriptor: int) -> int:
    """Process id that holds an exclusive POSIX lock on the file; 0 if none does.

    An exclusive lock needs write permission; a shared one any reader can take.
    """
    import fcntl
    import struct

    layout = "hhqqi4x"  # struct flock on 64-bit Linux (fcntl(2))
    asked = struct.pack(layout, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    kind, _, _, _, pid = struct.unpack(layout, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    return 0 if kind == fcntl.F_UNLCK else int(pid)


def _visible(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _whole(descriptor: int, path: str, limit: int, size: int) -> Answer:
    if size > limit:
        return Unread("error", f"{path} has {size} bytes, wanted at most {limit}")
    data = _first(descriptor, limit + 1)
    return Unread("error", f"{path} has more than {limit} bytes") if len(data) > limit else data


def _first(descriptor: int, limit: int) -> bytes:
    first = os.read(descriptor, min(limit, MIB))
    chunks = [first]
    left = limit - len(first)
    while left > 0 and (chunk := os.read(descriptor, min(left, MIB))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks) if len(chunks) > 1 else first


def _last(descriptor: int, limit: int, size: int) -> Answer:
    data = os.pread(descriptor, limit, max(0, size - limit))
    return data.partition(b"\n")[2] if size > limit else data
