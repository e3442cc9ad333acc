"""The recorded runs of a host: ``/var/lib/hostagent/runs/N`` with plan, state before, copies, retained packages, journal and log.

A journal has one JSON object a line, each on the disk before the next thing happens:

    {"event": "begin", "at": 1758600000.0, "tool": "0.1"}             the first change comes next; again where a later run continues
    {"event": "part", "part": "driver", "steps": ["driver.packages"]}
    {"event": "operation", "step": "driver.packages", "number": 0, "seconds": 8.1, "rc": 0}
    {"event": "end", "outcome": "done" | "reboot" | "failed", "message": ""}
    {"event": "undo"}, {"event": "undone", "kept": []}
"""

# `runs/.new` is renamed to N once the state before is on the disk: a kill before that leaves no run. A copy, a kept package and a
# line of the journal that a kill or a full disk cut are none, and are made again. Any link below runs/ is an error.

import contextlib
import io
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from typing import Any

from hostagent import __version__
from hostagent.core.errors import HostagentError
from hostagent.core.smallfile import read_small, reason
from hostagent.install.target import Target

#: On the host: the lock, and the runs.
FOLDER = "/var/lib/hostagent"
#: The run's token, in the environment of the programs that it starts, so that the next run finds those that still run.
TOKEN = "token.json"  # noqa: S105  the name of the file
_TOKEN_FORM = re.compile(r"[0-9a-f]{32}")
_NEW = ".new"
_JOURNAL = "journal.jsonl"
#: What a run writes.
_WRITTEN = ("a directory", "a file")
#: Bytes: a journal of 28,000 operations has four million.
_MAX_JOURNAL_BYTES, _MAX_TOKEN_BYTES = 4 * 1024 * 1024, 256


def folder(target: Target) -> str:
    """The folder of the lock and the runs, as a path of this process; it may not exist."""
    return target.directory(FOLDER)


@contextlib.contextmanager
def named(path: str) -> Iterator[None]:
    """Adds the file's name to an ``OSError`` without one, as a write without space raises it."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, path) from error


class Run:
    """One run, at `path` of this process."""

    def __init__(self, number: int, path: str) -> None:
        self.number = number
        self.path = path

    def note(self, event: str, **what: Any) -> None:
        """Append a line to the journal, on a new line where the last one is incomplete. Raises ``OSError``."""
        line = json.dumps({"event": event, "at": round(time.time(), 3), **what}) + "\n"
        path = f"{self.path}/{_JOURNAL}"
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            is_cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            rest = memoryview((f"\n{line}" if is_cut else line).encode())
            with named(path):
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def journal(self) -> tuple[Mapping[str, Any], ...]:
        """Its events; a line that was cut is none. Raises ``HostagentError`` where it cannot be read."""
        path, found = f"{self.path}/{_JOURNAL}", list[Mapping[str, Any]]()
        try:
            data = read_small(path, _MAX_JOURNAL_BYTES)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise HostagentError(f"{path} cannot be read: {reason(error)}", f"Look who made it, then remove {self.path}") from error
        for line in io.BytesIO(data):
            with contextlib.suppress(ValueError, RecursionError):
                one = json.loads(line.decode(errors="replace"))
                if isinstance(one, dict):
                    found.append(one)
        return tuple(found)

    @property
    def state(self) -> str:
        """done, reboot or failed, as it ended; "begun" before that; "undoing", "undone"."""
        state = "begun"
        for one in self.journal():
            match one.get("event"):
                case "begin":
                    state = "begun"
                case "end":
                    state = str(one.get("outcome"))
                case "undo":
                    state = "undoing"
                case "undone":
                    state = "undone"
                case _:
                    pass
        return state

    def save(self, name: str, value: Any) -> None:
        """Write a JSON file of the run atomically, 0600. Raises ``OSError``."""
        from hostagent.core.filewrite import deliver

        with named(f"{self.path}/{name}"):
            deliver(json.dumps(value, indent=1) + "\n", f"{self.path}/{name}", mode=0o600)

    def forget(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.path}/{name}")

    def new_token(self) -> str:
        """Replace the token by a new random one, 0600, so that only root can read it. Raises ``OSError``."""
        token = secrets.token_hex(16)
        self.save(TOKEN, token)
        return token

    @property
    def token(self) -> str:
        """Empty where all started programs have ended, where the file is damaged, and in a run of an older hostagent, which had none."""
        with contextlib.suppress(OSError, ValueError, RecursionError):
            found = json.loads(read_small(f"{self.path}/{TOKEN}", _MAX_TOKEN_BYTES))
            return found if isinstance(found, str) and _TOKEN_FORM.fullmatch(found) else ""
        return ""

    def add_plan(self, document: Mapping[str, Any]) -> None:
        number = sum(name.startswith("plan") for name in os.listdir(self.path))
        self.save(f"plan-{number + 1}.json" if number else "plan.json", document)


def runs(target: Target) -> tuple[Run, ...]:
    """All recorded runs, oldest first.

    Raises ``HostagentError`` where a link in them could lead out of the host's root, and where they are not what a run writes.
    """
    place = f"{folder(target)}/runs"
    _refuse_others(place)
    with contextlib.suppress(FileNotFoundError):
        return tuple(Run(int(name), f"{place}/{name}") for name in sorted(filter(str.isdecimal, os.listdir(place)), key=int))
    return ()


def _refuse_others(place: str) -> None:
    """Refuse anything but directories and files: a root from elsewhere may have links and pipes there."""
    inside = (os.path.join(above, name) for above, folders, files in os.walk(place) for name in (*folders, *files))
    for path in (os.path.dirname(place), place, *inside):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            found, wanted = _kind(os.lstat(path).st_mode), _allowed_kinds(path, place)
            if found not in wanted:
                raise HostagentError(f"{path}: found {found}, wanted {' or '.join(wanted)} of a run", "Look who made it, then remove it")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a directory", stat.S_IFREG: "a file"}
    return kinds.get(stat.S_IFMT(mode), "no file")


def _allowed_kinds(path: str, place: str) -> tuple[str, ...]:
    """What may be at `path`, which is the folder above the runs, or `place`, where they are, or inside."""
    name, _, rest = path[len(place) + 1 :].partition("/")
    if not rest and (name in ("", _NEW) or name.isdecimal()):
        return ("a directory",)
    return ("a file",) if rest == _JOURNAL and name.isdecimal() else _WRITTEN


def newest(target: Target) -> "Run | None":
    return next(reversed(runs(target)), None)


def to_continue(target: Target) -> "Run | None":
    """The newest run, where it failed or did not end, and was not rolled back: its state before is the one to restore."""
    found = newest(target)
    return found if found is not None and found.state in ("begun", "failed", "undoing") else None


def to_undo(target: Target) -> "Run | None":
    """The newest run that was not rolled back."""
    return next((one for one in reversed(runs(target)) if one.state != "undone"), None)


@contextlib.contextmanager
def opened(target: Target) -> Iterator[Run]:
    """A new run, to be filled and then to `begin`. One that did not begin is removed, and one that was killed before it is ignored."""
    place, last = f"{folder(target)}/runs", newest(target)
    run = Run(last.number + 1 if last else 1, f"{place}/{_NEW}")
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        shutil.rmtree(run.path, ignore_errors=True)
        os.mkdir(run.path, 0o700)
        yield run
    finally:
        if run.path == f"{place}/{_NEW}":
            shutil.rmtree(run.path, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.rmdir(place)


def begin(run: Run) -> None:
    """Give it its number: from here on it has to be continued or rolled back."""
    run.note("begin", tool=__version__)
    path = f"{os.path.dirname(run.path)}/{run.number}"
    os.rename(run.path, path)
    run.path = path
