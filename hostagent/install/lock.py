"""One run at a time on one host: a lock on a file of the host, and a wait for processes of a killed run."""

# The token is random and 0600, so no mark that an ordinary user can set, or learn as `_apt`, stops a run; what writes neither to
# a pipe nor to a terminal is a service that a package started, and is not waited for.

import contextlib
import errno
import os
import stat
import struct
import time
from hmac import compare_digest

from hostagent.core import lockfile
from hostagent.core.errors import HostagentError
from hostagent.install.runs import folder, runs
from hostagent.install.target import Target

#: The run's token in the environment of every program that it starts.
VARIABLE = "HOSTAGENT_RUN"
_TRY_S = 0.1
#: How often the folders are made again where other first runs, which changed nothing, have removed them.
_MAX_ROUNDS = 100
#: Errors of a disk that takes no more.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
#: Of getauxval(3): the real user that started a program. The kernel keeps pairs of words, type and value.
_AT_UID, _PAIR = 11, struct.Struct("@LL")


class Busy(Exception):  # noqa: N818  it is no error: another run is at work
    """Another run, or a process that it started, still runs."""


class Lock:
    """Held until every process that has inherited `descriptor` has closed it."""

    def __init__(self, descriptor: int, path: str, made: tuple[str, ...], *, waited: bool) -> None:
        self.descriptor = descriptor
        self.waited = waited
        self._path = path
        self._made = made  # paths that were created for the lock, outermost last

    def close(self, *, changed: bool) -> None:
        """`changed` False: what was created for the lock is removed, since nothing else was changed."""
        if not changed:
            _unmake(self._path, self._made)
        os.close(self.descriptor)


def take(target: Target, timeout_s: float, *, make: bool) -> "Lock | None":
    """Wait until this process has the lock and nothing of an earlier run goes on. None where there is no lock file, and none is made.

    Raises ``Busy`` when the time is up, ``HostagentError`` where what is there is not root's alone, ``OSError`` where there is no room.
    """
    ends = time.monotonic() + timeout_s
    place, made = folder(target), list[str]()
    path = f"{place}/lock"
    try:
        held = _take_file(path, ends, made, make=make)
    except BaseException:
        _unmake(path, tuple(made))
        raise
    if held is None:
        return None
    lock = Lock(held.descriptor, path, ((path,) if held.created else ()) + tuple(made), waited=held.waited)
    try:
        _refuse_others(place)
        lock.waited = _all_ended(target, ends) or held.waited
    except BaseException:
        lock.close(changed=False)
        raise
    return lock


def _take_file(path: str, ends: float, made: list[str], *, make: bool) -> "lockfile.Lock | None":
    """Take the lock file; folders created for it are added to `made`."""
    for _ in range(_MAX_ROUNDS):
        try:
            return lockfile.take(path, ends, make=make)
        except FileNotFoundError:
            if not make:
                return None
            _make_folders(os.path.dirname(path), made)
        except lockfile.LockTimeoutError as error:
            raise Busy(f"another run of hostagent changes this host: {error}") from error
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise
            raise _refused(path, error.strerror or str(error)) from error
    place = os.path.dirname(path)
    raise HostagentError(f"{place}: found no directory that stays, wanted one", f"Make it: install -d -m 0700 {place}")


def _make_folders(place: str, made: list[str]) -> None:
    """Folders that another run makes meanwhile are its own; those that it removes are made in the next round."""
    missing, above = list[str](), place
    while not os.path.isdir(above):
        missing.append(above)
        above = os.path.dirname(above)
    with contextlib.suppress(FileNotFoundError):
        for one in reversed(missing):
            with contextlib.suppress(FileExistsError):
                os.mkdir(one, 0o700 if one == place else 0o755)
                made.insert(0, one)


def _unmake(path: str, made: tuple[str, ...]) -> None:
    for one in made:
        with contextlib.suppress(OSError):
            os.unlink(one) if one == path else os.rmdir(one)


def _refuse_others(place: str) -> None:
    found = os.stat(place)
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise _refused(place, f"found {stat.filemode(found.st_mode)} of user {found.st_uid}, wanted root's alone")


def _refused(path: str, why: str) -> HostagentError:
    return HostagentError(f"{path}: {why}", f"Look who made it, then remove {path}")


def _all_ended(target: Target, ends: float) -> bool:
    """Wait for processes of earlier runs; whether there were any."""
    waited = False
    while remaining := leftover_processes(target):
        if time.monotonic() > ends:
            names = ", ".join(map(lockfile.process_label, remaining[:5]))
            raise Busy(f"a run that was ended has left programs that still work: {names}")
        waited = True
        time.sleep(_TRY_S)
    return waited


def leftover_processes(target: Target) -> tuple[int, ...]:
    """The processes that an earlier run of this target started and that still work, by number.

    Those of this user with the token of an unfinished run in their environment. Processes of other users, and programs of root that
    another user started, can forge it: they are not read. A service that a package started has the token, too, and is not counted: it
    writes neither to the run's terminal nor to a pipe of it.
    """
    tokens = [one.token.encode() for one in runs(target) if one.token]
    others = filter(str.isdecimal, os.listdir("/proc")) if tokens else ()
    return tuple(sorted(int(name) for name in others if int(name) != os.getpid() and _is_leftover(name, tokens)))


def _is_leftover(pid: str, tokens: list[bytes]) -> bool:
    with contextlib.suppress(OSError):
        return _is_of(pid, os.geteuid()) and _has(pid, tokens) and _has_output_open(pid)
    return False


def _is_of(pid: str, user: int) -> bool:
    """Whether its real user is that one, now and when the program was started, which excludes programs with the set-user-ID bit."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as lines:
        if not any(line.split()[:2] == ["Uid:", str(user)] for line in lines):
            return False
    with open(f"/proc/{pid}/auxv", "rb") as stream:
        data = stream.read()
    pairs = dict(_PAIR.iter_unpack(data[: len(data) // _PAIR.size * _PAIR.size]))
    return bool(pairs.get(_AT_UID, user) == user)


def _has(pid: str, tokens: list[bytes]) -> bool:
    with open(f"/proc/{pid}/environ", "rb") as stream:
        values = [value for name, _, value in (one.partition(b"=") for one in stream.read().split(b"\0")) if name == VARIABLE.encode()]
    return any(compare_digest(one, token) for one in values for token in tokens)


def _has_output_open(pid: str) -> bool:
    ends = [os.readlink(f"/proc/{pid}/fd/{number}") for number in (1, 2) if os.path.lexists(f"/proc/{pid}/fd/{number}")]
    return any(one.startswith(("pipe:", "/dev/pts/")) for one in ends)
