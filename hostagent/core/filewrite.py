"""Writes a rendered report atomically, and only to the path that its caller named."""

import contextlib
import errno
import math
import os
import stat
import time

_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
_OPEN_DESCRIPTORS = "/dev/fd/"
_NULL = os.makedev(1, 3)
_NEW = os.O_WRONLY | os.O_CLOEXEC


def deliver(text: str, path: str, mode: int | None = None, *, ends: float = math.inf) -> None:
    """Write `text` to `path`. Raises ``OSError``.

    A regular file or a link is replaced atomically, with `mode`, or 0666 less the umask. Written to directly are /dev/stdout, /dev/stderr
    and /dev/fd/N, which the caller opened, without a deadline; /dev/null; and a pipe or character device that belongs to root or the
    caller and is named without a link, until `ends` on the monotonic clock. Everything else is refused.
    """
    data = text.encode("utf-8", "backslashreplace")
    path = f"/{os.path.abspath(path).lstrip('/')}"  # abspath keeps two leading slashes (POSIX)
    own = _own_descriptor(path)
    if own is not None:
        _feed(os.dup(own), data, math.inf)  # opening it again would start at offset 0
        return
    folder, name = os.path.split(os.fsencode(path))
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        found = _look(name, place)
        if found is None or stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
            _refuse_dev(place)
            _replace(data, name, place, mode)
        else:
            _feed(_open_existing(found, name, place, folder), data, ends)
    finally:
        os.close(place)


def has_place(path: str) -> bool:
    """Whether the directory of `path` exists: checked at the start of a long run that writes at its end."""
    return os.path.isdir(os.path.dirname(os.path.abspath(path)))


def _own_descriptor(path: str) -> int | None:
    """The inherited descriptor that a path like /dev/stdout or /dev/fd/3 names; None for any other path."""
    if path in _STANDARD:
        return _STANDARD[path]
    number = path.removeprefix(_OPEN_DESCRIPTORS)
    if number == path:
        return None
    if number.isascii() and number.isdigit() and len(number) <= 7 and (int(number) <= 2 or _is_inherited(int(number))):
        return int(number)
    raise OSError(errno.EBADF, "found no such open descriptor")


def _is_inherited(descriptor: int) -> bool:
    """Python opens its own descriptors non-inheritable; inherited ones stay inheritable."""
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        return False


def _refuse_dev(place: int) -> None:
    """No new file in /dev: a mistyped name would replace a link that other programs use, or look like a device."""
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(place), os.stat("/dev")):
            raise OSError(errno.EINVAL, "found no device of that name, wanted one or a file that is not in /dev")


def _look(name: bytes, place: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _open_existing(found: os.stat_result, name: bytes, place: int, folder: bytes) -> int:
    """A non-blocking descriptor of a pipe or character device that may be written."""
    kind = stat.S_IFMT(found.st_mode)
    if kind not in (stat.S_IFIFO, stat.S_IFCHR):
        word = {stat.S_IFDIR: "directory", stat.S_IFSOCK: "socket", stat.S_IFBLK: "block device"}.get(kind, "thing of another kind")
        raise OSError(errno.EINVAL, f"found a {word}, wanted a file, a pipe or a character device")
    if not (kind == stat.S_IFCHR and found.st_rdev == _NULL) and found.st_uid not in (0, os.geteuid()):
        raise OSError(
            errno.EPERM, f"found a {'pipe' if kind == stat.S_IFIFO else 'device'} of user {found.st_uid}, wanted root's or your own"
        )
    if os.readlink(b"/proc/self/fd/%d" % place) != folder:
        raise OSError(errno.ELOOP, "found a pipe or device behind a link, wanted it named without one")
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=place)  # fails for a pipe without a reader
    now = os.fstat(descriptor)
    if (now.st_dev, now.st_ino, now.st_rdev) != (found.st_dev, found.st_ino, found.st_rdev):
        os.close(descriptor)
        raise OSError(errno.EAGAIN, "found another file there a moment later")
    return descriptor


def _feed(descriptor: int, data: bytes, ends: float) -> None:
    """Write all of `data`, waiting for a slow reader until `ends`; closes the descriptor."""
    rest = memoryview(data)
    try:
        while rest:
            try:
                rest = rest[os.write(descriptor, rest) :]
            except BlockingIOError:
                _wait(descriptor, ends)
    finally:
        os.close(descriptor)


def _wait(descriptor: int, ends: float) -> None:
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    left_s = ends - time.monotonic()
    if left_s <= 0 or not poll.poll(None if left_s == math.inf else left_s * 1000):
        raise OSError(errno.ETIMEDOUT, "its reader did not take it all in time")


def _replace(data: bytes, name: bytes, place: int, mode: int | None) -> None:
    """By a temporary file and rename(2): a reader sees the old or the new file, complete."""
    temporary = b".%s.%s" % (name[:200], os.urandom(8).hex().encode())
    try:
        if not _written_nameless(data, temporary, place, mode):
            _fill(os.open(temporary, _NEW | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _bits(mode), dir_fd=place), data, mode)
        os.replace(temporary, name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=place)
        raise


def _written_nameless(data: bytes, temporary: bytes, place: int, mode: int | None) -> bool:
    """By O_TMPFILE and linkat(2): even SIGKILL leaves no temporary file. False where the file system does not support it, or
    without /proc.
    """
    try:
        descriptor = os.open(".", _NEW | os.O_TMPFILE, _bits(mode), dir_fd=place)
    except OSError:
        return False
    named = os.dup(descriptor)
    try:
        _fill(descriptor, data, mode)
        os.link(f"/proc/self/fd/{named}", temporary, dst_dir_fd=place, follow_symlinks=True)
    except FileNotFoundError:
        return False
    finally:
        os.close(named)
    return True


def _bits(mode: int | None) -> int:
    return 0o666 if mode is None else mode


def _fill(descriptor: int, data: bytes, mode: int | None) -> None:
    try:
        if mode is not None and stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:  # of the umask; a process that may not chmod has set it
            with contextlib.suppress(PermissionError):  # a directory with ACLs
                os.fchmod(descriptor, mode)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
