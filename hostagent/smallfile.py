"""One small regular file, whole: a pipe is refused without waiting for it, a large file without reading it."""

import errno
import os
import stat


def read_small(path: str, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes; a link is followed. Raises ``OSError`` for anything else."""
    descriptor = os.open(_name(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "found something that is not a file, wanted a file")
        with open(descriptor, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"found more than {limit} bytes")
    return data


def is_absent(path: str) -> bool:
    """No such name: not a file that may not be read, nor a link to nowhere. Raises ``OSError`` where that cannot be seen."""
    try:
        os.lstat(_name(path))
    except (FileNotFoundError, NotADirectoryError):
        return True
    return False


def _name(path: str) -> bytes:
    """A name that no file can have is refused as an ``OSError`` too, not as Python's ``ValueError``."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise OSError(errno.EINVAL, "found a name that is no text") from error
    if b"\0" in name:
        raise OSError(errno.EINVAL, "found a zero byte in the name")
    return name


def reason(error: OSError) -> str:
    """What went wrong, in lower case and without the path."""
    return (error.strerror or str(error)).lower()
