"""Reads one small regular file: a pipe is refused without blocking, a large file without reading it.

And checks its owners: root uses only files that no other user could have written.
"""

import errno
import os
import stat
from collections.abc import Collection

_MAX_LINKS = 40
#: Its conventional name on the command line.
STANDARD_INPUT = "-"


def read_small(path: str, limit: int, owners: Collection[int] = ()) -> bytes:
    """The bytes of a regular file of at most `limit` bytes; links are followed. Raises ``OSError`` for anything else.

    With `owners`, user ids, also ``NotOwnError`` where another user could have written it: see `refuse_others`.
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
    """All of standard input, at most `limit` bytes. Blocks until its end; raises ``OSError``."""
    with open(0, "rb", closefd=False) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"found more than {limit} bytes")
    return data


class NotOwnError(OSError):
    """Another user could have written it."""


def refuse_others(path: str, owners: Collection[int], opened: "os.stat_result | None" = None) -> None:
    """Raises ``NotOwnError`` where a user other than `owners` could write `path` or replace it; and ``OSError``.

    The file, every directory from / on and every link on the way must belong to `owners`, without write permission for group or others.
    Allowed is a sticky directory (/tmp), where other users cannot touch it, and a directory on a read-only mount: the volumes of a
    ConfigMap have directories of mode 0777 (kubernetes/kubernetes#136032). `opened`: the file that was opened by that name before; it has
    to be the same.
    """
    name = _name(path)
    place, parts, links = b"/", (name if name.startswith(b"/") else os.path.join(os.getcwdb(), name)).split(b"/"), 0
    found = _checked_stat(place, owners)
    while parts:
        part = parts.pop(0)
        if part in {b"", b"."}:
            continue
        if part == b"..":
            place = os.path.dirname(place)  # checked before, and no link
            continue
        here = os.path.join(place, part)
        found = _checked_stat(here, owners)
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


def _checked_stat(place: bytes, owners: Collection[int]) -> os.stat_result:
    """Its lstat(2) result; raises ``NotOwnError``."""
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
    """Whether other users cannot replace its entries, though they may write it."""
    return bool(mode & stat.S_ISVTX) or bool(os.statvfs(directory).f_flag & os.ST_RDONLY)


def is_absent(path: str) -> bool:
    """Whether there is no such name; an unreadable file or a dangling link is not absent. Raises ``OSError`` if unknown."""
    try:
        os.lstat(_name(path))
    except (FileNotFoundError, NotADirectoryError):
        return True
    return False


def _name(path: str) -> bytes:
    """Raises ``OSError`` for a name that no file can have, where Python raises ``ValueError``."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise OSError(errno.EINVAL, "found a name that is no text") from error
    if b"\0" in name:
        raise OSError(errno.EINVAL, "found a zero byte in the name")
    return name


def reason(error: OSError) -> str:
    """The error without the path, as the rest of a sentence."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]
