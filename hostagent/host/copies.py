"""Copies files of a host, with a limit on written bytes: holes do not count."""

import errno
import os

from hostagent.core.answers import KIB, MIB
from hostagent.core.unread import Unread
from hostagent.host.files import Files

_CHUNK = 256 * KIB


def open_all(files: Files, paths: tuple[str, ...]) -> "tuple[tuple[str, int], ...] | Unread":
    """(name, descriptor) of those that exist; ``Unread`` if one is no regular file or cannot be opened."""
    opened: list[tuple[str, int]] = []
    for path in paths:
        descriptor = files.descriptor(path)
        if not isinstance(descriptor, Unread):
            opened.append((os.path.basename(path), descriptor))
        elif descriptor.why != "absent":
            return descriptor
    return tuple(opened) or Unread("error", f"{', '.join(paths)}: none of them is there")


def copy_all(files: "tuple[tuple[str, int], ...]", directory: str, limit: int) -> "Unread | None":
    """Copy descriptors to files of these names in `directory`, holes as holes; None when it is done.

    More than `limit` written bytes in all of them, or a file that changes meanwhile, is an error.
    """
    left = limit
    for name, source in files:
        try:
            before = _state(source)
            left -= _copy(source, os.path.join(directory, name), left)
            if _state(source) != before:
                return Unread("error", f"{name} changed while it was copied")
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EFBIG):
                return Unread("error", f"{name}: more than {limit // MIB} MiB are written in it and those before it")
            return Unread("error", f"{name} cannot be copied: {error.strerror}")
    return None


def _state(descriptor: int) -> tuple[int, ...]:
    found = os.fstat(descriptor)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _copy(source: int, path: str, limit: int) -> int:
    """Bytes written. Raises ``OSError``, ENOSPC beyond the limit."""
    written = 0
    size = os.fstat(source).st_size
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        position = 0
        while (position := _next_data(source, position)) < size:
            chunk = os.pread(source, min(_CHUNK, size - position), position)
            if not chunk:
                break
            if chunk != bytes(len(chunk)):  # not every file system reports holes
                written += len(chunk)
                if written > limit:
                    raise OSError(errno.ENOSPC, "too much is written in it")
                _write(target, chunk, position)
            position += len(chunk)
        os.ftruncate(target, size)
        os.fchmod(target, 0o644)  # whatever the umask
    finally:
        os.close(target)
    return written


def _write(descriptor: int, data: bytes, position: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(descriptor, view, position)
        view, position = view[done:], position + done


def _next_data(descriptor: int, position: int) -> int:
    """Offset of the next data; the size if there is none."""
    try:
        return os.lseek(descriptor, position, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return os.fstat(descriptor).st_size
        return position  # a file system without SEEK_DATA
