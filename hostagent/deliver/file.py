"""Writing a rendered report: whole or not at all."""

import errno
import os
import stat
import time


def deliver(text: str, path: str, mode: int = 0o644) -> None:
    """Write `text` to `path` through a file beside it and a rename. A link is replaced, not followed. Raises ``OSError``.

    A device or a pipe (/dev/stdout) is written to: replacing it would take it from everybody else.
    """
    data = text.encode("utf-8", "backslashreplace")
    if own := _own_descriptor(path):
        _write(os.dup(own), data)  # opened anew it would begin at the start of what it appends to
        return
    if _is_stream(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        os.set_blocking(descriptor, True)  # a pipe nobody reads refused to open; one with a reader may be slow
        _write(descriptor, data)
        return
    directory, name = os.path.split(os.path.abspath(path))
    temporary = os.path.join(directory, f".{name[:200]}.{os.getpid()}.{time.monotonic_ns()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, mode)
        _write(descriptor, data, sync=True)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _own_descriptor(path: str) -> int:
    """What this process has open under a name like /dev/stdout or /dev/fd/3; 0 for any other path."""
    number = {"/dev/stdout": "1", "/dev/stderr": "2"}.get(path) or path.removeprefix("/dev/fd/")
    return int(number) if number.isdigit() else 0


def _is_stream(path: str) -> bool:
    """Whether writing means writing into what is there, and not replacing it."""
    if os.path.abspath(path).startswith("/proc/"):
        return True
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except OSError:
        return False
    if kind == stat.S_IFBLK:
        raise OSError(errno.EINVAL, "it is a block device", path)
    return kind in (stat.S_IFCHR, stat.S_IFIFO)


def _write(descriptor: int, data: bytes, *, sync: bool = False) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        if sync:
            os.fsync(descriptor)
