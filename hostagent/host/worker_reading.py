"""The work of a worker: asks all questions of its lane, each announced before."""

import time
from collections.abc import Callable, Mapping
from functools import partial

from hostagent.core.answers import Answer
from hostagent.core.unread import Unread
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.sandbox.worker_spec import LOCKING, LOOKING, Ask, Lane, never

#: More than any host has; a bound for untrusted trees.
_MAX_ENTRIES = 4096
_MAX_DEPTH = 8


def read_lane(lane: Lane, ask: Ask, done: Callable[..., None], root: str, ends: float) -> None:
    """Ask all questions of `lane`. `done` marks methods as complete, with the answer for their unanswered questions.

    `ends`: of the whole run, on the monotonic clock.
    """
    place = Root(root)
    files = Files(place)
    if lane.idle is not never:
        known: Mapping[tuple[str, ...], Answer | Unread] | None = ask((), LOOKING, partial(lane.idle, files))
        if known is not None:
            for question, answer in known.items():
                ask(question, LOOKING, partial(_itself, answer))
            done("read", "list", *lane.methods)
            return
    unlocked: Unread | None = ask((), LOCKING, partial(lane.lock, place, ends), ends - time.monotonic())
    if unlocked is not None:
        done("read", "list", *lane.methods, rest=unlocked)
        return
    walk = _Walk(ask, files, lane.is_wanted)
    for directory in lane.directories:
        walk.down(directory, _MAX_DEPTH)
    done("read", "list")
    done(*lane.methods, rest=lane.ask_all(ask, files, place))
    lane.end()


def _itself(answer: "Answer | Unread") -> "Answer | Unread":
    return answer


class _Walk:
    """Lists directories and reads the wanted files in them, each step announced."""

    def __init__(self, ask: Ask, files: Files, is_wanted: Callable[[str], bool]) -> None:
        self._ask = ask
        self._files = files
        self._is_wanted = is_wanted
        self._left = _MAX_ENTRIES

    def down(self, directory: str, depth: int) -> None:
        """Its files first, then what is below it."""
        names: Answer = self._ask(("list", directory), f"list {directory}", partial(self._files.list, directory))
        if isinstance(names, Unread) or not depth:
            return
        paths = [f"{directory}/{name}" for name in names[: self._left]]
        self._left -= len(paths)
        within: list[str] = self._ask((), f"stat {directory}/*", partial(_directories, self._files, paths))
        for path in sorted(set(paths).difference(within)):
            if self._is_wanted(path):
                self._ask(("read", path), f"read {path}", partial(self._files.read, path))
        for path in within:
            self.down(path, depth - 1)


def _directories(files: Files, paths: list[str]) -> list[str]:
    found = {path: files.stat(path) for path in paths}
    return [path for path, answer in found.items() if isinstance(answer, dict) and answer["kind"] == "dir"]
