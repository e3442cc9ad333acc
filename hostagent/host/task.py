"""A program run: its parameters, and the steps from fork to execve(2)."""

import contextlib
import ctypes
import os
import signal
from typing import NamedTuple, NoReturn

from hostagent.core.answers import MIB
from hostagent.core.unread import Unread, UnreadError, Why, need
from hostagent.host.files import Files
from hostagent.host.host_binaries import DIRECTORIES
from hostagent.host.paths import Root

PDEATHSIG = 1  # prctl(2)
_prctl = ctypes.CDLL(None).prctl
_PATH = ":".join(DIRECTORIES)
_ENVIRONMENT = {"LC_ALL": "C", "PATH": _PATH, "HOME": "/nonexistent"}
#: Room for files that a program writes next to its copies.
_ROOM = 64 * MIB
_FAILED = 127

#: Placeholder in an argv for the directory with the copies.
COPIES = "\0copies"


class Task(NamedTuple):
    """A program run. Crosses a pipe as a tuple."""

    argv: tuple[str, ...]
    seconds: float  # then it is killed
    root: str = "/"  # its root, by chroot(2)
    confined: bool = False  # without network, new privileges or much memory; writes only next to its copies
    user: int = 0  # user and group id that it changes to; 0: none
    host: str = "/"  # root of the files that it gets copies of
    copied: tuple[str, ...] = ()  # their paths there; a missing one is left out
    limit: int = 0  # written bytes of all of them, at most
    environment: tuple[tuple[str, str], ...] = ()  # in addition to `_ENVIRONMENT`
    output: int = 32 * MIB  # bytes of stdout or stderr, at most


class Outputs(NamedTuple):
    """Descriptors that the process writes to. `fault` gets the reason if the program was not started: ``refused``, or
    ``unread WHY DETAIL``.
    """

    out: int
    err: int
    fault: int


class _RefusedError(Exception):
    """The kernel refuses namespaces."""


def become(task: Task, outputs: Outputs, parent: int, place: str, *, alone: bool) -> NoReturn:
    """execve(2) the program; never returns. `alone`: in namespaces of its own, else its copies go to the directory `place`."""
    name = task.argv[0]
    try:
        os.setsid()  # a group of its own, to kill it with its children
        program, place = _prepare(task, place, alone=alone)
        _prctl(PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(_FAILED)
        os.dup2(outputs.out, 1)
        os.dup2(outputs.err, 2)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGHUP):  # ignored until now
            signal.signal(number, signal.SIG_DFL)
        environment = {**_ENVIRONMENT, **dict(task.environment), **({"TMPDIR": place, "SQLITE_TMPDIR": place} if place else {})}
        os.execve(program, [place if word == COPIES else word for word in task.argv], environment)  # noqa: S606  an argv list, no shell
    except _RefusedError:
        _report(outputs, "refused")
    except UnreadError as error:
        _report_unread(outputs, error.unread.why, error.unread.detail)
    except OSError as error:
        _report_unread(outputs, "denied" if isinstance(error, PermissionError) else "error", f"{name}: {error.strerror or error}")
    except Exception as error:
        _report_unread(outputs, "error", f"{name}: {type(error).__name__}: {error}")
    finally:
        os._exit(_FAILED)


def _prepare(task: Task, place: str, *, alone: bool) -> tuple[str, str]:
    """The program, and where its copies are. Raises ``UnreadError``, ``OSError``, and ``_RefusedError``."""
    if not task.confined:
        _change_root(task.root)
        return _find_program(task.argv[0]), ""
    # Lazy: few hosts need it. Before the mount that may hide these modules:
    from hostagent.host.copies import copy_all, open_all
    from hostagent.sandbox.confinement import confine
    from hostagent.sandbox.namespaces import be_alone, private_directory, write_nowhere

    if alone:
        if not be_alone():
            raise _RefusedError
        write_nowhere()
    _change_root(task.root)
    program = _find_program(task.argv[0])
    if task.copied:
        _first_to_go()
        opened = need(open_all(Files(Root(task.host)), task.copied))
        if alone:
            place = private_directory(task.limit + _ROOM)
            if not place:
                raise _RefusedError
        need(copy_all(opened, place, task.limit))
    confine(task.user, task.seconds, place)
    return program, place


def _change_root(root: str) -> None:
    """Raises ``OSError``."""
    if root != "/":
        try:
            Root(root).enter()
        except OSError as error:
            raise PermissionError(f"cannot change root to {root}") from error


def _find_program(name: str) -> str:
    """The path of a program; raises ``UnreadError``. Before privileges are dropped: an unreadable directory would read as absent."""
    places = [name] if "/" in name else [f"{directory}/{name}" for directory in _PATH.split(":")]
    there = [path for path in places if os.path.isfile(path)]
    if not there:
        raise UnreadError(Unread("absent", f"no program {name}"))
    return next((path for path in there if os.access(path, os.X_OK)), there[0])


def _first_to_go() -> None:
    """Make it the first victim of the OOM killer: its copies are in memory."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb") as stream:
        stream.write(b"1000")


def _report_unread(outputs: Outputs, why: Why, detail: str) -> None:
    _report(outputs, f"unread {why} {detail}")


def _report(outputs: Outputs, fault: str) -> None:
    os.write(outputs.fault, fault[:1000].encode("utf-8", "replace"))
