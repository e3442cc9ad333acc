"""One small regular file, whole: a pipe is refused without waiting for it, a large file without reading it.

And whose hand it is: what root obeys only root may have written.
"""

import errno
import os
import stat
from collections.abc import Collection

_MAX_LINKS = 40
#: What people write for it.
STANDARD_INPUT = "-"


def read_small(path: str, limit: int, owners: Collection[int] = ()) -> bytes:
    """The bytes of a regular file of at most `limit` bytes; a link is followed. Raises ``OSError`` for anything else.

    With `owners`, users by number, also ``NotOwnError`` where somebody else may have had a hand in it: see `refuse_others`.
    """
    descriptor = os.open(_name(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "found something that is not a file, wanted a file")
        if owners:
            refuse_others(path, owners, found)
        with open(descriptor, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"found more than {limit} bytes")
    return data


def read_standard_input(limit: int) -> bytes:
    """All of standard input, at most `limit` bytes. Waits for who writes it; raises ``OSError``."""
    with open(0, "rb", closefd=False) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"found more than {limit} bytes")
    return data


class NotOwnError(OSError):
    """Somebody else could have written it."""


def refuse_others(path: str, owners: Collection[int], opened: "os.stat_result | None" = None) -> None:
    """Raises ``NotOwnError`` where anybody but `owners` could write what `path` names, or put something else there; and ``OSError``.

    The file, every directory from / on and every link on the way belong to `owners`, and neither group nor others may write them. Others
    may write a directory that is sticky, in which they cannot touch what is not theirs (/tmp), and one on a read-only mount: so Kubernetes
    mounts the volumes of a ConfigMap, whose directories have mode 0777 (kubernetes/kubernetes#136032). `opened` is what was opened by that
    name before: what was looked at has to be the same.
    """
    name = _name(path)
    place, parts, links = b"/", (name if name.startswith(b"/") else os.path.join(os.getcwdb(), name)).split(b"/"), 0
    found = _looked_at(place, owners)
    while parts:
        part = parts.pop(0)
        if part in {b"", b"."}:
            continue
        if part == b"..":
            place = os.path.dirname(place)  # which was looked at, and is no link
            continue
        here = os.path.join(place, part)
        found = _looked_at(here, owners)
        if not stat.S_ISLNK(found.st_mode):
            place = here
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = os.readlink(here)
        parts[:0] = target.split(b"/")
        place = b"/" if target.startswith(b"/") else place
    if opened and not os.path.samestat(found, opened):
        raise NotOwnError(errno.EPERM, "found another file there a moment later")


def _looked_at(place: bytes, owners: Collection[int]) -> os.stat_result:
    """What stands there; raises ``NotOwnError``."""
    found = os.lstat(place)
    wanted = " or ".join("root's" if owner == 0 else f"user {owner}'s" for owner in sorted(owners))
    if found.st_uid not in owners:
        raise NotOwnError(errno.EPERM, f"found {os.fsdecode(place)} of user {found.st_uid}, wanted {wanted}")
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o022 and not stat.S_ISLNK(found.st_mode) and not (stat.S_ISDIR(found.st_mode) and _is_held(place, mode)):
        who = "everybody" if mode & 0o002 else f"group {found.st_gid}"
        raise NotOwnError(errno.EPERM, f"found {os.fsdecode(place)}, which {who} may write (mode {mode:04o}), wanted {wanted} alone")
    return found


def _is_held(directory: bytes, mode: int) -> bool:
    """Whether what stands in it stays, though others may write it."""
    return bool(mode & stat.S_ISVTX) or bool(os.statvfs(directory).f_flag & os.ST_RDONLY)


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
    """What went wrong, without the path and as the rest of a sentence."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]
