"""The state directory of the daemon: what it publishes, for all users of the host, and what it needs after a restart.

Each file is written whole or not at all. One that cannot be written (a full disk) costs no pass: it stays as it was, and expires.
"""

# A pod's state file lists no profile files: names of files in a pod mean nothing on the host. What is read back has to be root's,
# of this boot, and of the right shape.

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from hostagent.core import lockfile
from hostagent.core.escape import visible
from hostagent.core.filewrite import deliver
from hostagent.core.smallfile import read_small, reason
from hostagent.core.typed import ShapeError, build, plain
from hostagent.daemon.conditions import TYPES
from hostagent.daemon.debounce import State
from hostagent.engine.report import Report, state
from hostagent.engine.report.node_status import Transition, compact

STATE, SUMMARY, REPORT, PUBLISHED, HISTORY, CLEARED = (
    "state.json",
    "summary.json",
    "report.json",
    "told.json",
    "history.json",
    "cleared.json",
)
RECORD = "record.json"
#: What the two processes of a daemon lock while one of them writes.
LOCK = "files.lock"
#: Mode of each file. The report quotes logs, which are root's to read; what only the daemon reads back has that mode, too.
MODES = {STATE: 0o644, SUMMARY: 0o644, REPORT: 0o600, PUBLISHED: 0o600, HISTORY: 0o600, RECORD: 0o644}
_MAX_BYTES = 4 * 1024 * 1024
#: Seconds that one process waits for the other one to have written its files: a moment, unless it is stopped.
_WAIT_S = 1.0
MAX_TIME = 1e12  # seconds since the epoch


class FileContent(NamedTuple):
    """What was read back, and why not ("" where it was, or where there is none)."""

    value: Any
    problem: str = ""


@contextlib.contextmanager
def alone(folder: str) -> Iterator[None]:
    """Excludes the daemon's other process from reading and writing in this block. Where that one is stopped in its own block, or no file
    can be locked there, it goes on without the lock.
    """
    descriptor = -1
    with contextlib.suppress(OSError, lockfile.LockTimeoutError):
        descriptor = lockfile.take(os.path.join(folder, LOCK), time.monotonic() + _WAIT_S).descriptor
    try:
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def mark(folder: str, name: str) -> tuple[int, ...]:
    """Identity of the file, another one after each write; () where there is none."""
    try:
        found = os.stat(os.path.join(folder, name))
    except OSError:
        return ()
    return (found.st_ino, found.st_mtime_ns, found.st_size)


def put_aside(folder: str, name: str) -> None:
    """Rename a file that could not be read, so that the next write does not destroy it."""
    with contextlib.suppress(OSError):
        os.replace(os.path.join(folder, name), os.path.join(folder, f"{name}.damaged"))


def is_writable(folder: str) -> bool:
    """Whether files can be written there; the folder is made where it is missing."""
    try:
        state.make(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def save(folder: str, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Write the files of these names. Returns a sentence for each one that could not be written."""
    try:
        state.make(folder)
    except OSError as error:
        return (f"no state written to {folder}: {reason(error)}",)
    return tuple(problem for name, text in texts.items() if (problem := _saved(os.path.join(folder, name), text, MODES[name])))


def _saved(path: str, text: str, mode: int) -> str:
    try:
        deliver(text, path, mode=mode)
    except OSError as error:
        return f"{path} is not written and stays as it was: {reason(error)}"
    return ""


def texts(published: State, document: Mapping[str, Any], summary: Mapping[str, Any], report_text: str) -> dict[str, str]:
    """The files after one pass, by name, but for the history. `document`: of the state file; `report_text`: the report as JSON."""
    return {PUBLISHED: published_text(published), REPORT: report_text, SUMMARY: summary_text(summary), STATE: state_text(document)}


def published_text(published: State) -> str:
    return json.dumps(plain(published)) + "\n"


def summary_text(summary: Mapping[str, Any]) -> str:
    return f"{compact(summary)}\n"


def state_text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1) + "\n"


def document(found: Mapping[str, Any], report: Report, published: State, last: Transition | None = None) -> dict[str, Any]:
    """The state file: ``verdict`` is the published one, ``measured`` that of the last pass. `found`: `state.document` of the
    report; `last`: the newest transition.
    """
    verdict, headline = plain(published.verdicts), published.headline_beside(report.verdict)
    instead = {"headline": headline, "action": "none", "todo": []} if headline else {}
    newest = {"last_transition": plain(last)} if last else {}
    return {**found, "verdict": verdict, **instead, "measured": found["verdict"], "conditions": plain(published.conditions), **newest}


def published(folder: str, boot_id: str) -> FileContent:
    """The ``State`` published last in this boot; None for none, or where it or the boot ("") cannot be read."""

    def parsed(text: str) -> State:
        found: State = build(State, json.loads(text), "told")
        if tuple(one.type for one in found.held) != TYPES:
            raise ValueError("found other conditions")
        times = [time for one in found.held for time in (one.changed_at, one.flapping_until, *(change.at for change in one.changes))]
        if not all(0 <= one <= MAX_TIME for one in times):
            raise ValueError("found a time out of range")
        return found

    kept = _read(os.path.join(folder, PUBLISHED), parsed)
    return kept if kept.value and boot_id and kept.value.boot_id == boot_id else FileContent(None, kept.problem)


def text(folder: str, name: str) -> FileContent:
    """The text of a file, "" where there is none or where it cannot be read."""
    kept = _read(os.path.join(folder, name), str)
    return kept._replace(value=kept.value or "")


def state_of(folder: str) -> FileContent:
    """The state file as data, {} where there is none or where it cannot be read."""

    def parsed(text: str) -> dict[str, Any]:
        found = json.loads(text)
        if not isinstance(found, dict):
            raise TypeError("found no object")
        return found

    kept = _read(os.path.join(folder, STATE), parsed)
    return kept._replace(value=kept.value or {})


def observed_at(folder: str) -> float:
    """Of the state file, seconds since the epoch; 0 where there is none, or one that is damaged."""
    found = state_of(folder).value.get("observed_at")
    return float(found) if isinstance(found, int | float) and 0 <= found <= MAX_TIME else 0.0


def parsed(kind: type, text: str, where: str) -> FileContent:
    """JSON as an instance of `kind`; None, and why, where it is damaged. `where` names the place in messages."""
    try:
        return FileContent(build(kind, json.loads(text, parse_constant=_refuse), where))
    except ShapeError as error:
        return FileContent(None, f"it has another shape: {error!s:.200}")
    except (ValueError, RecursionError, OverflowError):
        return FileContent(None, "it is no JSON")


def _refuse(word: str) -> float:
    raise ValueError(f"found the number {word}")


def _read(path: str, parsed: Callable[[str], Any]) -> FileContent:
    try:
        return FileContent(parsed(read_small(path, _MAX_BYTES, {0, os.geteuid()}).decode()))
    except FileNotFoundError:
        return FileContent(None)
    except OSError as error:
        return FileContent(None, f"{path} is not read: {reason(error)}")
    except (ValueError, TypeError, RecursionError, OverflowError, ShapeError) as error:
        return FileContent(None, f"{path} is damaged: {visible(str(error)[:200])}")
