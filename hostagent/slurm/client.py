"""Runs Slurm's own clients, ``scontrol`` and ``sinfo``: each command within 5 seconds by default, and ended with its children."""

import contextlib
import math
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from hostagent.core.escape import visible
from hostagent.slurm.node import Node, parse_nodes

_SCONTROL = "scontrol"
#: Seconds of one command: without a controller it tries for ten.
COMMAND_S = 5.0
_FOLDERS = ("/usr/bin", "/usr/local/bin", "/opt/slurm/bin", "/usr/local/slurm/bin")
#: Times in UTC, so that they can be compared; no language, no settings of the caller.
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TZ": "UTC0", "LC_ALL": "C"}
_SAID = 300
_SIGNALS = frozenset({signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM})


class SlurmError(Exception):
    """Slurm did not answer, or refused."""


class Answer(NamedTuple):
    """``status``: as a shell has it."""

    status: int
    out: str
    err: str


class Cluster(Protocol):
    """What of `Client` a caller may need. Raises ``SlurmError``."""

    def show(self, node: str) -> Node: ...

    def update(self, node: str, values: Mapping[str, str]) -> None: ...


class Client:
    """``scontrol`` of one cluster. `ends`: when the program that calls it has to end, on the monotonic clock."""

    def __init__(self, bin_dir: str = "", slurm_conf: str = "", ends: float = math.inf) -> None:
        self._bin_dir = bin_dir
        self._slurm_conf = slurm_conf or os.environ.get("SLURM_CONF", "")
        self._ends = ends

    def show(self, node: str) -> Node:
        """Raises ``SlurmError``, also where there is no such node."""
        for one in self._shown("show", "node", "-o", node):
            if one.name == node:
                return one
        raise SlurmError(f"scontrol shows no node {node}; --node names it")

    def show_all(self) -> tuple[Node, ...]:
        """Raises ``SlurmError``."""
        return self._shown("show", "node", "-o")

    def update(self, node: str, values: Mapping[str, str]) -> None:
        """One update with all of the values. Raises ``SlurmError``."""
        answer = self._called("update", f"NodeName={node}", *(f"{key}={value}" for key, value in values.items()))
        if answer.status:
            raise SlurmError(f"scontrol update of {node} failed: {last_line(answer)}")

    def _shown(self, *arguments: str) -> tuple[Node, ...]:
        answer = self._called(*arguments)
        if answer.status:
            raise SlurmError(f"scontrol show node failed: {last_line(answer)}")
        return parse_nodes(answer.out)

    def _called(self, *arguments: str) -> Answer:
        return self.ask(_SCONTROL, *arguments)

    def ask(self, name: str, *arguments: str, seconds: float = 0.0) -> Answer:
        """What a program of Slurm answers, whatever its exit status is. `seconds`: 0 for `COMMAND_S`. Raises ``SlurmError``."""
        seconds = min(seconds or COMMAND_S, self._ends - time.monotonic())
        if seconds <= 0:
            raise SlurmError(f"no time is left for {name} {arguments[0]}")
        if self._slurm_conf and not os.path.exists(self._slurm_conf):
            raise SlurmError(f"found no slurm.conf at {self._slurm_conf}")
        environment = {**_ENVIRONMENT, **({"SLURM_CONF": self._slurm_conf} if self._slurm_conf else {})}
        try:
            return run((program(self._bin_dir, name), *arguments), environment, seconds)
        except OSError as error:
            raise SlurmError(f"{name} does not start: {error.strerror}") from error


def program(bin_dir: str, name: str = _SCONTROL) -> str:
    """The path of a program of Slurm. Raises ``SlurmError``."""
    path = [one for one in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(one)]
    for folder in (bin_dir,) if bin_dir else (*_FOLDERS, *path):
        file = os.path.join(os.path.abspath(folder), name)
        if os.access(file, os.X_OK) and os.path.isfile(file):
            return file
    where = bin_dir or f"{', '.join(_FOLDERS)} and PATH"
    raise SlurmError(f"found no {name} in {where}: --bin-dir names its directory")


def run(command: tuple[str, ...], environment: Mapping[str, str], seconds: float) -> Answer:
    """Run a program in a session of its own, of which nothing is left. Raises ``OSError``, ``SlurmError`` when time is up."""
    with _started(command, environment) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise SlurmError(f"{os.path.basename(command[0])} {command[1]} did not end in {seconds:.1f} s") from error
    status = process.returncode
    return Answer(status if status >= 0 else 128 - status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


@contextlib.contextmanager
def _started(command: tuple[str, ...], environment: Mapping[str, str]) -> "Iterator[subprocess.Popen[bytes]]":
    """A signal that ends us waits until it is known which process is to be ended."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    process = None
    try:
        try:
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, start_new_session=True)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        yield process
    finally:
        if process:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with process:  # closes its pipes, and waits for it
                pass


def is_caller(owner: str) -> bool:
    """Whether a node's owner is the calling user: a name, a number, or both as in root(0)."""
    name, _, number = owner.rstrip(")").partition("(")
    uid = os.getuid()
    try:
        own = pwd.getpwuid(uid).pw_name
    except KeyError:
        own = ""
    return str(uid) in (name, number) or (not number and name == own)


def shown(update: Mapping[str, str]) -> str:
    """As a person would type it."""
    return " ".join(f"{key}={value}" for key, value in update.items())


def last_line(answer: Answer) -> str:
    """The last line of a program's output."""
    lines = [line.strip() for line in (*answer.out.split("\n"), *answer.err.split("\n")) if line.strip()]
    return visible(lines[-1])[:_SAID] if lines else f"exit {answer.status}"
