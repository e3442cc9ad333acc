"""hostagent in the place of TAO's script: in all three places of a skill bank, or in none.

Each file takes its name by one rename. All three are one change even where a process is killed: another one, a guard, stands by from
before the first change on, takes back what was begun, or cleans up what was done. Where both are killed each place is whole for itself,
and the next call goes on.
"""

import contextlib
import errno
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, NoReturn

from hostagent import lockfile
from hostagent.errors import HostagentError
from hostagent.install import ourselves
from hostagent.install.bank import NEW, OLD, Place, folder, found_at, looked_at, shims_at
from hostagent.setup.shimtext import KEPT, NAME, shim
from hostagent.smallfile import NotOwnError, reason

_LOCK_S = 10.0
#: In the root of a skill bank, as long as somebody changes it.
LOCK = f".{NAME}.hostagent-lock"


class Shim(NamedTuple):
    """`kept`: whether another file is beside it, or was put back."""

    path: str
    kept: bool


def write_shims(directory: str, *, exact: bool) -> tuple[Shim, ...]:
    """At each of the three places, in the order in which callers look. Raises ``HostagentError``."""
    root, words, gone = os.path.realpath(directory), ourselves.words(), ourselves.gone()
    with _locked(root) as unlock:
        places = looked_at(root)
        texts = {place: shim(words, gone, place.before, exact=exact) for place in places}
        with _guarded(lambda: _take_back(root, texts), lambda: _clean(root, places), unlock):
            for place, text in texts.items():
                _prepare(root, place, text)
            for place in places:
                _exchange(root, place)
    return tuple(Shim(_path(root, place), place.before.kept) for place in places)


def remove_shims(directory: str) -> tuple[Shim, ...]:
    """Those that are there. Raises ``HostagentError``."""
    root = os.path.realpath(directory)
    with _locked(root) as unlock:
        places = shims_at(root)

        def remove() -> None:
            for place in reversed(places):
                _remove(root, place)

        with _guarded(remove, remove, unlock):
            remove()
    return tuple(Shim(_path(root, place), place.before.kept) for place in places)


def _path(root: str, place: Place) -> str:
    return os.path.join(root, place.folder, NAME)


@contextlib.contextmanager
def _locked(root: str) -> Iterator[Callable[[], None]]:
    """One at a time. The guard has the lock too, until it has ended; what is given takes the file of the lock away, in whom ends last."""
    path = os.path.join(root, LOCK)
    descriptor = _lock(root, path)
    unlock = partial(lockfile.remove, descriptor, path)
    try:
        yield unlock
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else NAME
        raise HostagentError(f"cannot write {name} below {root}: {reason(error)}", "Correct that, then run it again") from error
    finally:
        unlock()
        if descriptor >= 0:
            os.close(descriptor)


def _lock(root: str, path: str) -> int:
    """-1 where the caller may not write, which is said of each place, or where the file system has no locks."""
    try:
        os.stat(os.path.join(root, "."))
    except OSError as error:
        wanted = "wanted the root of a skill bank"
        raise HostagentError(f"cannot open {root}: {reason(error)}, {wanted}", "Name its directory, or make it with 'mkdir'") from error
    try:
        return lockfile.take(path, time.monotonic() + _LOCK_S).descriptor
    except lockfile.HeldError as error:
        raise HostagentError(f"another program works in {root}: {error}", "Wait until it has ended, then run it again") from error
    except NotOwnError as error:
        raise HostagentError(f"cannot lock {root}: {reason(error)}", f"Look who made it, then remove {path}") from error
    except OSError:
        return -1


@contextlib.contextmanager
def _guarded(take_back: Callable[[], None], clean: Callable[[], None], unlock: Callable[[], None]) -> Iterator[None]:
    """What happens inside is done whole or not at all, whichever of the two processes is killed."""
    hears, says = socket.socketpair()
    guard = os.fork()
    if guard == 0:
        says.close()
        _stand_by(hears, take_back, clean, unlock)
    hears.close()
    is_done = False
    try:
        says.recv(1)  # it stands by, or was killed
        yield
        is_done = True
        with contextlib.suppress(ConnectionError):  # killed: then we are the one who is left
            says.send(b"done", socket.MSG_NOSIGNAL)
    finally:
        says.close()
        if os.waitpid(guard, 0)[1] != 0:
            (clean if is_done else take_back)()


def _stand_by(hears: socket.socket, take_back: Callable[[], None], clean: Callable[[], None], unlock: Callable[[], None]) -> NoReturn:
    """In the guard, which no signal to the other's terminal or group reaches, and which holds none of its streams open."""
    code = 1
    try:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nothing, descriptor)
        with contextlib.suppress(ConnectionError):
            hears.send(b"!", socket.MSG_NOSIGNAL)
        (clean if hears.recv(16) else take_back)()
        code = 0
        unlock()
    finally:
        os._exit(code)


def _prepare(root: str, place: Place, text: bytes) -> None:
    """Directories, and the file by another name."""
    with folder(root, place.folder, place.before.made if place.found == "nothing" else 0) as inside:
        for name in (NEW, OLD):
            _unlink(name, inside)
        descriptor = os.open(NEW, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=inside)
        with open(descriptor, "wb") as stream:
            stream.write(text)
            stream.flush()
            os.fchmod(descriptor, 0o755)
            os.fsync(descriptor)


def _exchange(root: str, place: Place) -> None:
    with folder(root, place.folder) as inside:
        if place.found != "nothing":
            _keep(inside, place)
        os.rename(NEW, NAME, src_dir_fd=inside, dst_dir_fd=inside)
        os.fsync(inside)


def _keep(inside: int, place: Place) -> None:
    """What stands there gets a second name, so that the first is never without a file."""
    name = _second(place)
    second = found_at(inside, name)
    if second and (second.st_dev, second.st_ino) != place.inode:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
    if second:  # from a call that was killed, with its guard
        return
    try:
        os.link(NAME, name, src_dir_fd=inside, dst_dir_fd=inside, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without links, or somebody else's file
        os.rename(NAME, name, src_dir_fd=inside, dst_dir_fd=inside)


def _second(place: Place) -> str:
    return OLD if place.found == "shim" else KEPT


def _take_back(root: str, texts: dict[Place, bytes]) -> None:
    for place, text in reversed(texts.items()):
        with contextlib.suppress(FileNotFoundError), folder(root, place.folder) as inside:
            _unlink(NEW, inside)
            if place.found == "nothing":
                _unlink_own(inside, text)
            else:
                _put_back(inside, place, _second(place))
        _drop_folders(root, place)


def _unlink_own(inside: int, text: bytes) -> None:
    with contextlib.suppress(FileNotFoundError), open(os.open(NAME, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=inside), "rb") as stream:
        if stream.read() == text:
            os.unlink(NAME, dir_fd=inside)


def _put_back(inside: int, place: Place, name: str) -> None:
    """A rename of one name of a file to another of its own does nothing: see rename(2)."""
    here, kept = found_at(inside, NAME), found_at(inside, name)
    if kept is None or (kept.st_dev, kept.st_ino) != place.inode:
        return
    if here and (here.st_dev, here.st_ino) == place.inode:
        os.unlink(name, dir_fd=inside)
    else:
        os.rename(name, NAME, src_dir_fd=inside, dst_dir_fd=inside)


def _clean(root: str, places: tuple[Place, ...]) -> None:
    """What the new ones have replaced."""
    for place in places:
        with folder(root, place.folder) as inside:
            _unlink(OLD, inside)


def _remove(root: str, place: Place) -> None:
    """Any number of times: whatever of it is done already."""
    with contextlib.suppress(FileNotFoundError), folder(root, place.folder) as inside:
        for name in (NEW, OLD):
            _unlink(name, inside)
        here = found_at(inside, NAME)
        if here and (here.st_dev, here.st_ino) == place.inode:
            if place.before.kept and found_at(inside, KEPT):
                os.rename(KEPT, NAME, src_dir_fd=inside, dst_dir_fd=inside)
            else:
                _unlink(NAME, inside)
            os.fsync(inside)
    _drop_folders(root, place)


def _drop_folders(root: str, place: Place) -> None:
    """Those that were made for it, as long as nothing else is in them."""
    name = place.folder
    for _ in range(place.before.made):
        above, _, last = name.rpartition("/")
        try:
            with folder(root, above) as inside:
                os.rmdir(last, dir_fd=inside)
        except FileNotFoundError:
            pass
        except OSError:
            return
        name = above


def _unlink(name: str, inside: int) -> None:
    if found_at(inside, name):
        os.unlink(name, dir_fd=inside)
