"""State of the three places of a skill bank where TAO's script is looked up. No link below the bank's root is followed."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import Literal, NamedTuple

from hostagent.core.errors import HostagentError
from hostagent.core.smallfile import reason
from hostagent.setup.shimtext import FOLDERS, KEPT, NAME, Before, recognised

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_BYTES = 1 << 20
#: The errors of a folder that is not there, or behind a link.
ELSEWHERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
#: What is written before it takes its name; and, where a call of 0.1.0 was killed, an older shim.
NEW, OLD = f".{NAME}.hostagent-new", f".{NAME}.hostagent-old"


class Place(NamedTuple):
    """`found`: what is there. `before`: what a shim records of the file before it."""

    folder: str  # below the root
    found: Literal["nothing", "shim", "another file"]
    before: Before


@contextlib.contextmanager
def folder(root: str, below: str, made: int = 0) -> Iterator[int]:
    """A descriptor of it; of its directories the last `made` are made where they are missing. Raises ``OSError``."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    parts = [part for part in below.split("/") if part]
    try:
        for number, part in enumerate(parts):
            is_new = number >= len(parts) - made and _make_folder(part, descriptor)
            inside = os.open(part, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inside
            if is_new:
                os.fchmod(descriptor, 0o755)  # whatever the umask: all users call the script
        yield descriptor
    finally:
        os.close(descriptor)


def _make_folder(part: str, above: int) -> bool:
    with contextlib.suppress(FileExistsError):
        os.mkdir(part, dir_fd=above)
        return True
    return False


def check_places(root: str) -> tuple[Place, ...]:
    """Raises ``HostagentError`` where something is in the way; nothing is changed."""
    planned = set[str]()
    return tuple(_place(root, one, planned) for one in FOLDERS)


def shims_at(root: str) -> tuple[Place, ...]:
    """The places with a shim, without those behind a link. Raises ``HostagentError``; nothing is changed."""
    found = list[Place]()
    for below in FOLDERS:
        try:
            with folder(root, below) as inside:
                if before := before_of(inside, NAME):
                    found.append(_file(os.path.join(root, below), below, inside)._replace(before=_restorable(before, inside)))
        except OSError as error:
            if error.errno not in ELSEWHERE:
                raise HostagentError(
                    f"cannot look into {os.path.join(root, below)}: {reason(error)}", "Correct that, then run it again"
                ) from error
    return tuple(found)


def _restorable(before: Before, inside: int) -> Before:
    """What can be put back: the other file may have gone."""
    return before if not before.kept or found_at(inside, KEPT) else Before(kept=False)


def _place(root: str, below: str, planned: set[str]) -> Place:
    """`planned`: directories that the places before it make."""
    try:
        missing = [one for one in (below.rsplit("/", up)[0] for up in range(below.count("/") + 1)) if _is_missing(root, one)]
        if not missing:
            with folder(root, below) as inside:
                return _file(os.path.join(root, below), below, inside)
        deepest = os.path.dirname(missing[-1])
        with folder(root, deepest) as inside:
            _refuse_without_right(os.path.join(root, deepest), inside)
    except OSError as error:
        raise HostagentError(
            f"cannot write below {os.path.join(root, below)}: {reason(error)}", "Correct that, then run it again"
        ) from error
    made = [one for one in missing if one not in planned]
    planned.update(made)
    return Place(below, "nothing", Before(kept=False, made=len(made)))


def _is_missing(root: str, below: str) -> bool:
    """Raises ``HostagentError`` where it, or what is above it, is no directory."""
    place = root
    for part in below.split("/"):
        place = os.path.join(place, part)
        try:
            found = os.lstat(place)
        except FileNotFoundError:
            return True
        if not stat.S_ISDIR(found.st_mode):
            what = "a link" if stat.S_ISLNK(found.st_mode) else "no directory"
            raise HostagentError(f"found {place}, {what}, wanted a directory of the skill bank itself", "Move it away, or name another one")
    return False


def _file(name: str, below: str, inside: int) -> Place:
    """What is in the folder of the descriptor `inside`."""
    _refuse_without_right(name, inside)
    here, kept = found_at(inside, NAME), found_at(inside, KEPT)
    for one, what in ((NAME, here), (KEPT, kept)):
        if what and not stat.S_ISREG(what.st_mode):
            raise HostagentError(f"found {name}/{one}, which is no regular file, wanted one or none", "Move it away, then run it again")
    if here is None:
        return Place(below, "nothing", Before(kept=False))
    if before := before_of(inside, NAME):
        return Place(below, "shim", before)
    if kept:
        message = f"found {name}/{NAME}, which is not hostagent's, and {KEPT} next to it, which is never overwritten"
        raise HostagentError(message, f"Move {KEPT} away, then run it again")
    return Place(below, "another file", Before(kept=True))


def found_at(inside: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=inside, follow_symlinks=False)
    except FileNotFoundError:
        return None


def before_of(inside: int, name: str) -> Before | None:
    """What a shim of that name records; None where there is none."""
    here = found_at(inside, name)
    if here is None or not stat.S_ISREG(here.st_mode):
        return None
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=inside)
    with open(descriptor, "rb") as stream:
        return recognised(stream.read(_MAX_BYTES))


def _refuse_without_right(name: str, inside: int) -> None:
    """Before the first change, for all three places."""
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=inside, effective_ids=True):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), name)
