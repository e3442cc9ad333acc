"""One run at a time on one host: a lock on a file of the host, and what a killed run left under way."""

import contextlib
import errno
import fcntl
import os
import stat
import time
from typing import NamedTuple

from hostagent.errors import HostagentError
from hostagent.install.target import Target

#: On the host: the lock, and the runs.
FOLDER = "/var/lib/hostagent"
#: Every program that a run starts has it in its environment: ``TARGET:RUN``.
VARIABLE = "HOSTAGENT_RUN"
_TRY_S = 0.1
_CAREFUL = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Busy(Exception):  # noqa: N818  it is no error: another run is at work
    """Another run is under way, or what it started."""


class Lock:
    """Held until every process that has inherited `descriptor` has closed it."""

    def __init__(self, descriptor: int, path: str, made: tuple[str, ...], *, waited: bool) -> None:
        self.descriptor = descriptor
        self.waited = waited
        self._path = path
        self._made = made  # what was not there before, outermost last

    def close(self, *, changed: bool) -> None:
        """`changed` False: what was made for the lock goes again, for nothing else was done to the host."""
        if not changed:
            for path in self._made:
                with contextlib.suppress(OSError):
                    os.unlink(path) if path == self._path else os.rmdir(path)
        os.close(self.descriptor)


def folder(target: Target) -> str:
    """Where the lock and the runs are for this process; it may not be there."""
    return target.directory(FOLDER)


def take(target: Target, timeout_s: float, *, make: bool) -> "Lock | None":
    """Wait until this process has the lock and nothing of an earlier run goes on. None where there is no lock file, and none is made.

    Raises ``Busy`` when the time is up, ``HostagentError`` where what is there is not root's alone.
    """
    ends = time.monotonic() + timeout_s
    place, made, waited = folder(target), list[str](), False
    path = f"{place}/lock"
    if make:
        _make(place, path, made)
    while True:
        try:
            descriptor = os.open(path, _CAREFUL)
        except FileNotFoundError:
            if not make:
                return None
            _make(place, path, made)
            continue
        except OSError as error:
            raise _refused(path, os.strerror(error.errno or 0)) from error
        _refuse_others(os.fstat(descriptor), path, 0o077)
        _refuse_others(os.stat(place), place, 0o077)
        waited = _locked(descriptor, ends) or waited
        if _is_still(descriptor, path):
            break
        os.close(descriptor)
    lock = Lock(descriptor, path, tuple(made), waited=waited)
    try:
        lock.waited = _all_ended(target, ends) or waited
    except Busy:
        lock.close(changed=False)
        raise
    return lock


def _make(place: str, path: str, made: list[str]) -> None:
    missing, above = list[str](), place
    while not os.path.isdir(above):
        missing.append(above)
        above = os.path.dirname(above)
    try:
        for one in reversed(missing):
            os.mkdir(one, 0o700 if one == place else 0o755)
            made.insert(0, one)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, _CAREFUL | os.O_CREAT | os.O_EXCL, 0o600))
            made.insert(0, path)
    except OSError:  # no space left: a half of it stays nowhere
        for one in made:
            with contextlib.suppress(OSError):
                os.rmdir(one)
        raise


def _locked(descriptor: int, ends: float) -> bool:
    """Whether it had to be waited for."""
    waited = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno != errno.EWOULDBLOCK:
                raise
            if time.monotonic() > ends:
                held = holders(descriptor)
                os.close(descriptor)
                raise Busy(f"another run of hostagent changes this host{_told(held)}") from error
            waited = True
            time.sleep(_TRY_S)
        else:
            return waited


def _told(held: "tuple[Leftover, ...]") -> str:
    """Those of namespaces that are not seen from here have no number."""
    return f": {', '.join(f'{one.program} (pid {one.pid})' for one in held[:3])}" if held else ""


def holders(descriptor: int) -> "tuple[Leftover, ...]":
    """Who has the lock on that file: who waits for it has it open, too, but no lock among what proc(5) says of its descriptor."""
    wanted, found = os.fstat(descriptor), []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            for number in os.listdir(f"/proc/{name}/fd"):
                if _locks(f"/proc/{name}", number, wanted):
                    found.append(Leftover(int(name), _called(name)))
                    break
    return tuple(sorted(found))


def _locks(process: str, number: str, wanted: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        if os.path.samestat(os.stat(f"{process}/fd/{number}"), wanted):
            with open(f"{process}/fdinfo/{number}", encoding="ascii", errors="replace") as lines:
                return any(line.startswith("lock:") and " FLOCK " in line for line in lines)
    return False


def _is_still(descriptor: int, path: str) -> bool:
    """A run that did nothing takes its lock file away."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    return False


def _refuse_others(found: os.stat_result, path: str, unwanted: int) -> None:
    if found.st_uid != os.geteuid() or found.st_mode & unwanted or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise _refused(path, f"found {stat.filemode(found.st_mode)} of user {found.st_uid}, wanted root's alone")


def _refused(path: str, why: str) -> HostagentError:
    return HostagentError(f"{path}: {why}", f"Look who made it, then remove {path}")


class Leftover(NamedTuple):
    pid: int
    program: str


def _all_ended(target: Target, ends: float) -> bool:
    """Whether something had to be waited for."""
    waited = False
    while left := left_over(target):
        if time.monotonic() > ends:
            told = ", ".join(f"{one.program} (pid {one.pid})" for one in left[:5])
            raise Busy(f"a run that was ended has left programs that still work: {told}")
        waited = True
        time.sleep(_TRY_S)
    return waited


def left_over(target: Target) -> tuple[Leftover, ...]:
    """What an earlier run started and still works on this host.

    A service that a package started has the variable too, and stays: it neither writes to the run's terminal nor to a pipe of it.
    """
    wanted = f"{VARIABLE}={target.id}:".encode()
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as stream:
            if any(one.startswith(wanted) for one in stream.read().split(b"\0")) and int(name) != os.getpid() and _speaks(name):
                found.append(Leftover(int(name), _called(name)))
    return tuple(sorted(found))


def _speaks(pid: str) -> bool:
    ends = [os.readlink(f"/proc/{pid}/fd/{number}") for number in (1, 2) if os.path.lexists(f"/proc/{pid}/fd/{number}")]
    return any(one.startswith(("pipe:", "/dev/pts/")) for one in ends)


def _called(pid: str) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as stream:
        return stream.read().strip()
    return "?"
