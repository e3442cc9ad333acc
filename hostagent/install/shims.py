"""Puts hostagent in place of TAO's script, in the three places of a skill bank.

Each file takes its name by one rename, so each place is whole at any time. A failed change is rolled back. The next call removes what a
killed call left.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from hostagent.core import lockfile
from hostagent.core.errors import HostagentError
from hostagent.core.smallfile import NotOwnError, reason
from hostagent.install import ourselves
from hostagent.install.bank import ELSEWHERE, NEW, OLD, Place, before_of, check_places, folder, found_at, shims_at
from hostagent.setup.shimtext import FOLDERS, KEPT, NAME, shim

_LOCK_S = 10.0
#: In the root of a skill bank, while it is changed.
LOCK = f".{NAME}.hostagent-lock"


class Shim(NamedTuple):
    """`kept`: whether the file before it was kept next to it, or was put back."""

    path: str
    kept: bool


def write_shims(directory: str, *, exact: bool) -> tuple[Shim, ...]:
    """At each of the three places, in the order in which callers look. Raises ``HostagentError``."""
    root, words, gone = os.path.realpath(directory), ourselves.words(), ourselves.gone()
    with _locked(root):
        _clear(root)
        places = check_places(root)
        try:
            for place in places:
                _prepare(root, place, shim(words, gone, place.before, exact=exact))
            for place in places:
                _exchange(root, place)
        except BaseException:
            _take_back(root, places)
            raise
    return tuple(Shim(_path(root, place), place.before.kept) for place in places)


def remove_shims(directory: str) -> tuple[Shim, ...]:
    """Those that are there. Raises ``HostagentError``."""
    root = os.path.realpath(directory)
    with _locked(root):
        _clear(root)
        places = shims_at(root)
        for place in reversed(places):
            _remove(root, place)
    return tuple(Shim(_path(root, place), place.before.kept) for place in places)


def _path(root: str, place: Place) -> str:
    return os.path.join(root, place.folder, NAME)


@contextlib.contextmanager
def _locked(root: str) -> Iterator[None]:
    """One call at a time."""
    path = os.path.join(root, LOCK)
    descriptor = _lock(root, path)
    try:
        yield
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else NAME
        raise HostagentError(f"cannot write {name} below {root}: {reason(error)}", "Correct that, then run it again") from error
    finally:
        lockfile.remove(descriptor, path)
        if descriptor >= 0:
            os.close(descriptor)


def _lock(root: str, path: str) -> int:
    """-1 where the caller may not write, which each place reports, or where the file system has no locks."""
    try:
        os.stat(os.path.join(root, "."))
    except OSError as error:
        wanted = "wanted the root of a skill bank"
        raise HostagentError(f"cannot open {root}: {reason(error)}, {wanted}", "Name its directory, or make it with 'mkdir'") from error
    try:
        return lockfile.take(path, time.monotonic() + _LOCK_S).descriptor
    except lockfile.LockTimeoutError as error:
        raise HostagentError(f"another program works in {root}: {error}", "Wait until it has ended, then run it again") from error
    except NotOwnError as error:
        raise HostagentError(f"cannot lock {root}: {reason(error)}", f"Look who made it, then remove {path}") from error
    except OSError:
        return -1


def _clear(root: str) -> None:
    """Removes what a killed call left: its temporary files, second names and new directories."""
    for below in reversed(FOLDERS):
        try:
            with folder(root, below) as inside:
                made = _clear_folder(inside)
        except OSError as error:
            if error.errno not in ELSEWHERE:
                raise
        else:
            _drop_folders(root, below, made)


def _clear_folder(inside: int) -> int:
    """How many directories were made for a file that never got its name."""
    new = before_of(inside, NEW)
    if not found_at(inside, NAME):  # of a file system without links
        second = OLD if found_at(inside, OLD) else KEPT if new and new.kept else ""
        if second and found_at(inside, second):
            os.rename(second, NAME, src_dir_fd=inside, dst_dir_fd=inside)
    here, kept = found_at(inside, NAME), found_at(inside, KEPT)
    if here and kept and os.path.samestat(here, kept):
        os.unlink(KEPT, dir_fd=inside)
    for name in (NEW, OLD):
        if found_at(inside, name):
            os.unlink(name, dir_fd=inside)
    return new.made if new and not here else 0


def _prepare(root: str, place: Place, text: bytes) -> None:
    """Directories, and the file by another name."""
    with folder(root, place.folder, place.before.made if place.found == "nothing" else 0) as inside:
        descriptor = os.open(NEW, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=inside)
        with open(descriptor, "wb") as stream:
            stream.write(text)
            stream.flush()
            os.fchmod(descriptor, 0o755)
            os.fsync(descriptor)


def _exchange(root: str, place: Place) -> None:
    with folder(root, place.folder) as inside:
        if place.found == "another file":
            _keep(inside)
        os.rename(NEW, NAME, src_dir_fd=inside, dst_dir_fd=inside)
        os.fsync(inside)


def _keep(inside: int) -> None:
    """A second name for the file, so that the first is never without one."""
    try:
        os.link(NAME, KEPT, src_dir_fd=inside, dst_dir_fd=inside, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without links, or a file of another user
        os.rename(NAME, KEPT, src_dir_fd=inside, dst_dir_fd=inside)


def _take_back(root: str, places: tuple[Place, ...]) -> None:
    """Roll back after a failure. An older shim may keep its new text: it is complete as well."""
    older = {place.folder for place in places if place.found == "shim"}
    with contextlib.suppress(OSError, HostagentError):
        for place in reversed(shims_at(root)):
            if place.folder not in older:
                _remove(root, place)
        _clear(root)
        for place in reversed(places):
            if place.found == "nothing":
                _drop_folders(root, place.folder, place.before.made)


def _remove(root: str, place: Place) -> None:
    with folder(root, place.folder) as inside:
        if place.before.kept:
            os.rename(KEPT, NAME, src_dir_fd=inside, dst_dir_fd=inside)
        else:
            os.unlink(NAME, dir_fd=inside)
        os.fsync(inside)
    _drop_folders(root, place.folder, place.before.made)


def _drop_folders(root: str, name: str, made: int) -> None:
    """Those that were made for it, as long as nothing else is in them."""
    for _ in range(made):
        above, _, last = name.rpartition("/")
        try:
            with folder(root, above) as inside:
                os.rmdir(last, dir_fd=inside)
        except FileNotFoundError:
            pass
        except OSError:
            return
        name = above
