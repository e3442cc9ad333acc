"""Runs tools from the caller's PATH in parallel, each killed at its timeout and at the end of this process.

Root runs only programs that no other user may write or replace.
"""

import contextlib
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hostagent.core.answers import MIB, Answer
from hostagent.core.smallfile import reason, refuse_others
from hostagent.core.unread import Unread
from hostagent.host.programs import Runner
from hostagent.host.task import Task

#: Seconds per tool.
TOOL_S = 5.0
#: Bytes of output of one tool; a line for each of many thousand nodes is less.
_OUTPUT = 4 * MIB
#: Where bash looks when PATH is not set.
_USUAL = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Variables that make programs load foreign code, or a shell run it.
_LOADED = ("LD_", "BASH_", "GCONV_", "PYTHON", "PERL", "RUBY", "NODE_OPTIONS")
_SHELL = frozenset({"ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "CDPATH", "GLOBIGNORE"})


class ToolRun(NamedTuple):
    """One run: its program by name, and paths that are tried first; with `only_places` no others."""

    tool: str
    arguments: tuple[str, ...]
    places: tuple[str, ...] = ()
    only_places: bool = False
    as_root_too: bool = False  # if it fails for an ordinary user, retry by sudo -n within the same time
    variables: tuple[tuple[str, str], ...] = ()  # in addition to the caller's


class ToolAnswer(NamedTuple):
    """`path`: "" without such a tool; `answer`: exit_code, stdout, stderr, or ``Unread``."""

    path: str
    answer: Answer


class Pending:
    """Running tools. `answers` waits for them; the end of the block of `running_tools` kills those that still run."""

    def __init__(self, wanted: Mapping[str, ToolRun], environment: Mapping[str, str], seconds: float) -> None:
        self._environment = _passed_on(environment)
        self._path = environment.get("PATH", _USUAL)
        self._seconds, self._ends = seconds, time.monotonic() + seconds
        self._wanted = wanted
        self._paths: dict[str, str] = {}
        self._answers: dict[str, Answer] = {}
        self._runners: dict[str, Runner] = {}

    def start(self) -> None:
        for name, one in self._wanted.items():
            self._start(name, one)

    def _start(self, name: str, one: ToolRun) -> None:
        path = tool_path(one, self._path)
        self._paths[name] = path
        self._answers[name] = Unread("absent", f"no program {one.tool}")
        refused = _refusal(path) if path and os.geteuid() == 0 else ""
        if refused:
            self._answers[name] = Unread("denied", refused)
        elif path:
            self._run(name, (path, *one.arguments), self._seconds)

    def _run(self, name: str, argv: tuple[str, ...], seconds: float) -> None:
        try:
            if name not in self._runners:
                self._runners[name] = Runner()
            environment = {**self._environment, **dict(self._wanted[name].variables)}
            self._runners[name].send(tuple(Task(argv, seconds, environment=tuple(environment.items()), output=_OUTPUT)))
        except (OSError, EOFError) as error:
            self._answers[name] = Unread("error", f"{argv[0]} cannot be started: {error}")

    def answers(self) -> dict[str, ToolAnswer]:
        """Wait for all answers."""
        for name in tuple(self._runners):
            self._listen(name)
        for name, one in self._wanted.items():
            if one.as_root_too and self._paths[name] and os.geteuid() != 0 and _failed(self._answers[name]):
                self._by_sudo(name, one)
        return {name: ToolAnswer(self._paths[name], self._answers[name]) for name in self._wanted}

    def _by_sudo(self, name: str, one: ToolRun) -> None:
        sudo = tool_path(ToolRun("sudo", ()), self._path)
        before = self._answers[name]
        left_s = self._ends - time.monotonic()
        if not sudo or left_s <= 0 or _refusal(self._paths[name]):
            return
        self._run(name, (sudo, "-n", self._paths[name], *one.arguments), left_s)
        self._listen(name)
        if _failed(self._answers[name]):
            self._answers[name] = before

    def _listen(self, name: str) -> None:
        if name not in self._runners:  # it could not be started
            return
        left_s = max(self._ends - time.monotonic(), 0)
        try:
            answer = self._runners[name].answer(left_s)
            self._answers[name] = Unread(*answer) if isinstance(answer, tuple) else answer
        except (EOFError, TimeoutError) as error:
            self._answers[name] = Unread("timeout" if isinstance(error, TimeoutError) else "error", f"{self._paths[name]}: {error}")

    def close(self) -> None:
        for runner in self._runners.values():
            runner.close()


@contextlib.contextmanager
def running_tools(wanted: Mapping[str, ToolRun], environment: Mapping[str, str], seconds: float = TOOL_S) -> Iterator[Pending]:
    """Start all tools, with the caller's `environment`. Raises ``RuntimeError`` in a process with threads."""
    pending = Pending(wanted, environment, seconds)
    try:
        pending.start()
        yield pending
    finally:
        pending.close()


def tool_path(one: ToolRun, path: str) -> str:
    """Absolute path of the tool, "" without one. An empty entry of PATH is the current directory."""
    named: Sequence[str] = () if one.only_places or not path else path.split(":")
    for place in (*one.places, *(os.path.join(folder or ".", one.tool) for folder in named)):
        if _is_program(place):
            return os.path.abspath(place)
    return ""


def _is_program(place: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(place).st_mode) and os.access(place, os.X_OK, effective_ids=os.access in os.supports_effective_ids)
    except (OSError, ValueError):
        return False


def _refusal(path: str) -> str:
    """Why root must not run it, "" if it may."""
    try:
        refuse_others(path, {0})
    except OSError as error:
        return f"not run as root: {reason(error)}"
    return ""


def _passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without `_LOADED` and `_SHELL`: tools need its clusters, daemons, proxies, credentials."""
    kept = {name: value for name, value in environment.items() if not name.startswith(_LOADED) and name not in _SHELL}
    return {"PATH": _USUAL, **kept, "LC_ALL": "C"}


def _failed(answer: Any) -> bool:
    return isinstance(answer, Unread) or bool(answer["exit_code"]) or answer["stdout"].strip() in ("", "null")
