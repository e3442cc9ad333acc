"""Restores files to their state before a run."""

import contextlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from hostagent.core.smallfile import read_small
from hostagent.install import state
from hostagent.install.runs import Run
from hostagent.install.state import Entry, Files
from hostagent.install.target import Target

_NONE = Entry("none")


class Difference(NamedTuple):
    """`back`: paths to restore; `kept`: paths changed since the run, which stay."""

    back: tuple[str, ...]
    kept: tuple[str, ...]


def difference(before: Files, after: "Files | None", now: Files) -> Difference:
    """`after`: None where the run did not end, and other changes are not known.

    >>> old, new, mine = (Entry("file", 420, 0, 0, "", name) for name in ("old", "new", "mine"))
    >>> difference({"/etc/a": old, "/etc/b": old}, {"/etc/a": new, "/etc/b": new}, {"/etc/a": new, "/etc/b": mine})
    Difference(back=('/etc/a',), kept=('/etc/b',))
    """
    back, kept = list[str](), list[str]()
    for path in sorted({*before, *now, *(after or {})}):
        was, left, found = before.get(path, _NONE), (after or now).get(path, _NONE), now.get(path, _NONE)
        if found.same(was) or left.same(was):
            continue
        (back if found.same(left) else kept).append(path)
    return Difference(tuple(back), tuple(kept))


def restore(target: Target, run: Run, before: Files, kept: Iterable[str], paths: Iterable[str]) -> tuple[str, ...]:
    """Restore everything to `before`, except `kept`. Returns paths that could not be restored, each with the reason."""
    now, left = state.files_of(target, paths), set(kept)
    return _restore(
        target,
        run,
        {path: entry for path, entry in before.items() if path not in left},
        {path: entry for path, entry in now.items() if path not in left},
    )


def put_back(target: Target, run: Run, before: Files) -> tuple[str, ...]:
    """Restore only the paths of `before`."""
    return _restore(target, run, before, state.files_of(target, before, tree=False))


def _restore(target: Target, run: Run, before: Files, now: Files) -> tuple[str, ...]:
    problems = list[str]()
    changed = [path for path in {*before, *now} if not now.get(path, _NONE).same(before.get(path, _NONE))]
    gone = [path for path in changed if before.get(path, _NONE).kind != now.get(path, _NONE).kind]
    for path in sorted(gone, reverse=True):  # contents before their directory
        _try(problems, path, partial(_remove, target, path))
    for path in sorted(changed):
        if (entry := before.get(path, _NONE)).kind != "none":
            _try(problems, path, partial(_put, target, path, entry, f"{run.path}/copies/{entry.digest}"))
    return tuple(problems)


def _try(problems: list[str], path: str, work: Callable[[], None]) -> None:
    try:
        work()
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")


def _place(target: Target, path: str) -> str:
    return f"{target.directory(os.path.dirname(path)).rstrip('/')}/{os.path.basename(path)}"


def _remove(target: Target, path: str) -> None:
    """A directory that is not empty stays."""
    place = _place(target, path)
    with contextlib.suppress(FileNotFoundError):
        if os.path.isdir(place) and not os.path.islink(place):
            with contextlib.suppress(OSError):
                os.rmdir(place)
        else:
            os.unlink(place)


def _put(target: Target, path: str, entry: Entry, copy: str) -> None:
    place = _place(target, path)
    if entry.kind == "directory":
        with contextlib.suppress(FileExistsError):
            os.mkdir(place)
        os.chown(place, entry.uid, entry.gid)
        os.chmod(place, entry.mode)
        return
    temporary = f"{place}.hostagent-old"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    if entry.kind == "link":
        os.symlink(entry.text, temporary)
        os.lchown(temporary, entry.uid, entry.gid)
    elif entry.kind == "file":
        data = read_small(copy, state.MAX_BYTES)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as stream:
            stream.write(data)
            os.fchown(descriptor, entry.uid, entry.gid)
            os.fchmod(descriptor, entry.mode)
        os.utime(temporary, ns=(entry.mtime_ns, entry.mtime_ns))
    else:
        return  # a device or a pipe in /etc: it is not made
    os.rename(temporary, place)
