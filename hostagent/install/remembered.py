"""Reads the files of a run back, and validates each value before it becomes a path or an argument of a program.

The folder of an image, or of a root from elsewhere, may hold anything. Programs of a plan are not checked here: they run inside that root,
and to install into it is to trust its programs.
"""

import contextlib
import json
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from hostagent.core.errors import HostagentError
from hostagent.core.frozen import frozen
from hostagent.core.smallfile import read_small, reason
from hostagent.core.typed import ShapeError, build, shown
from hostagent.core.vocabulary import StepState, UndoKind
from hostagent.engine.target import Evidence
from hostagent.install.runs import Run, to_continue
from hostagent.install.target import Target
from hostagent.plan.model import OPERATIONS

#: Bytes of one file: the state of 100,000 files and packages has 20 million.
_MAX_BYTES = 64 * 1024 * 1024
_MAX_JOURNAL_NUMBER = 1e12
_DIGEST = re.compile(r"[0-9a-f]{64}")
#: A version, and a package with its architecture: no option, and no path.
_VERSION = re.compile(r"(?!-)[^\s/\0-\x1f\x7f]{1,400}")
_PACKAGE = re.compile(r"(?!-)[^\s/:\0-\x1f\x7f]{1,300}:[^\s/:\0-\x1f\x7f]{0,100}")
#: Without packages where they could not be read at the end of the run.
_AFTER = "after.json"
_PLAN = re.compile(r"plan(?:-([0-9]{1,9}))?\.json")
_KINDS = frozenset({"file", "link", "directory", "other", "none"})
_MAX_ID, _MAX_MODE, _MAX_NS = (1 << 32) - 2, 0o7777, 1 << 63


@frozen
class _Package:
    version: str
    state: str
    held: bool
    automatic: Any


@frozen
class _State:
    packages: dict[str, _Package] | None
    files: dict[str, tuple[Any, ...]]


@frozen
class _KeptItems:
    packages: tuple[str, ...]
    files: tuple[str, ...]


@frozen
class _Undo:
    kind: UndoKind
    do: tuple[dict[str, Any], ...]


@frozen
class _Step:
    id: str
    state: StepState
    do: tuple[dict[str, Any], ...]
    undo: _Undo


@frozen
class _Program:
    argv: tuple[str, ...]


@frozen
class _UndoProgram:
    argv: tuple[str, ...]
    codes: tuple[int, ...]


@frozen
class _AtPath:
    path: str


@frozen
class _Plan:
    steps: tuple[_Step, ...]


def state_of(run: Run, name: str) -> Any:
    """``before.json`` or ``after.json``, as it was written. Raises ``HostagentError`` where it cannot be read, or is not of that shape."""

    def check(found: Any) -> None:
        state: _State = build(_State, found, name, unknown=_more)
        _want(state.packages is not None or name == _AFTER, f"{name}.packages", None, "a mapping")
        for key, package in (state.packages or {}).items():
            _want_package(key, f"{name}.packages")
            version = package.version
            _want(version == "" or bool(_VERSION.fullmatch(version)), f"{name}.packages.{key:.80}.version", version, "a version")
        for path, row in state.files.items():
            _check_file(path, row, f"{name}.files")

    return _read(run, name, check)


def kept_of(run: Run, name: str) -> Any:
    """``undo.json``, as it was written. Raises ``HostagentError``."""

    def check(found: Any) -> None:
        kept: _KeptItems = build(_KeptItems, found, name, unknown=_more)
        for key in kept.packages:
            _want_package(key, f"{name}.packages")
        for path in kept.files:
            _want_path(path, f"{name}.files")

    return _read(run, name, check)


def plans(run: Run) -> tuple[Mapping[str, Any], ...]:
    """Its plan, and those of the runs that continued it, oldest first, as they were written. Raises ``HostagentError``."""
    return tuple(_read(run, name, partial(_check_plan, name)) for name in _plan_names(run))


class Unfinished(NamedTuple):
    """Steps that an unfinished run had planned, and packages that were held before it."""

    steps: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


def unfinished(place: Evidence) -> Unfinished:
    """Empty where there is no such run, or its files cannot be read."""
    if place.snapshot:
        return Unfinished()
    with contextlib.suppress(OSError, HostagentError):
        run = to_continue(Target(place))
        if run is not None:
            steps = (step["id"] for plan in plans(run) for step in plan["steps"] if step["state"] == "to-do")
            held = (key.partition(":")[0] for key, one in state_of(run, "before.json")["packages"].items() if one["held"])
            return Unfinished(tuple(dict.fromkeys(steps)), tuple(dict.fromkeys(held)))
    return Unfinished()


def _plan_names(run: Run) -> list[str]:
    found = (_PLAN.fullmatch(name) for name in os.listdir(run.path))
    return [one[0] for one in sorted(filter(None, found), key=lambda one: int(one[1] or 0))]


def _check_plan(name: str, found: Any) -> None:
    plan: _Plan = build(_Plan, found, name, unknown=_more)
    for number, step in enumerate(plan.steps):
        for kind, operations in ((_Program, step.do), (_UndoProgram, step.undo.do)):
            for one in operations:
                _check_operation(one, kind, f"{name}.steps[{number}]")


def _check_operation(one: Mapping[str, Any], program: type, where: str) -> None:
    _want(len(one) == 1 and set(one) <= set(OPERATIONS), where, one, "one operation")
    ((kind, what),) = one.items()
    made = build(program if kind == "run" else _AtPath, what, f"{where}.{kind}", unknown=_more)
    if isinstance(made, _AtPath):
        _want_path(made.path, f"{where}.{kind}.path")
    else:
        _want(bool(made.argv) and not any("\0" in word for word in made.argv), f"{where}.run.argv", list(made.argv), "words of a program")


def _check_file(path: str, row: "tuple[Any, ...]", where: str) -> None:
    """Of one path: what `hostagent.install.state.Entry` holds, of which an older run may lack the last. Raises ``ShapeError``."""
    _want_path(path, where)
    kinds = (str, int, int, int, str, str, int)
    wanted = "kind, mode, owner, group, link, digest and time"
    _want(0 < len(row) <= len(kinds), f"{where}.{path:.200}", row, wanted)
    are_right = all(isinstance(one, kind) and not isinstance(one, bool) for one, kind in zip(row, kinds, strict=False))
    _want(are_right, f"{where}.{path:.200}", row, wanted)
    whole: tuple[Any, ...] = (*row, *("none", 0, 0, 0, "", "", 0)[len(row) :])
    kind, mode, uid, gid, text, digest, mtime_ns = whole
    _want(kind in _KINDS, f"{where}.{path:.200}: kind", kind, f"one of {', '.join(sorted(_KINDS))}")
    _want(0 <= mode <= _MAX_MODE, f"{where}.{path:.200}: mode", mode, "0 to 07777")
    _want(0 <= uid <= _MAX_ID and 0 <= gid <= _MAX_ID, f"{where}.{path:.200}: owner and group", (uid, gid), "numbers of users")
    _want((kind == "link") == bool(text) and "\0" not in text, f"{where}.{path:.200}: link", text, "where a link leads")
    _want(bool(_DIGEST.fullmatch(digest)) if kind == "file" else digest == "", f"{where}.{path:.200}: digest", digest, "a SHA-256")
    _want(-_MAX_NS < mtime_ns < _MAX_NS, f"{where}.{path:.200}: time", mtime_ns, "nanoseconds")


def moment(value: Any) -> float:
    """Of a line of the journal, in seconds since 1970; 0 for what is none.

    >>> moment(1758600000.5), moment("x"), moment(10**400)
    (1758600000.5, 0.0, 0.0)
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= _MAX_JOURNAL_NUMBER else 0.0


def _read(run: Run, name: str, check: Callable[[Any], None]) -> Any:
    path = f"{run.path}/{name}"
    try:
        found = json.loads(read_small(path, _MAX_BYTES))
        check(found)
    except OSError as error:
        raise HostagentError(f"{path} cannot be read: {reason(error)}", _next(run)) from error
    except (ValueError, RecursionError) as error:
        why = f"{error}" if isinstance(error, ShapeError) else "it is no JSON that a run of hostagent wrote"
        raise HostagentError(f"{path} cannot be used: {why}", _next(run)) from error
    return found


def _next(run: Run) -> str:
    return f"Look who changed it. Nothing is changed; without {run.path} this run is forgotten and cannot be taken back"


def _more(path: tuple[Any, ...]) -> None:
    """Ignore fields that a newer version may have written."""


def _want_package(key: str, where: str) -> None:
    _want(bool(_PACKAGE.fullmatch(key)), where, key, "a package and its architecture")


def _want_path(path: str, where: str) -> None:
    parts = path.split("/")
    is_path = parts[0] == "" and len(parts) > 1 and not {"", ".", ".."}.intersection(parts[1:]) and "\0" not in path
    _want(is_path, where, path, "a path from / on, without '..'")


def _want(condition: bool, where: str, found: Any, wanted: str) -> None:
    if not condition:
        raise ShapeError(f"{where}: found {shown(found)}, wanted {wanted}")
