"""Slurm's own client, ``scontrol``: each command within 5 seconds, and none left behind."""

import contextlib
import math
import os
import select
import signal
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from hostagent.slurm.node import Node, parse_nodes
from hostagent.visible import visible

_PROGRAM = "scontrol"
#: Seconds of one command: without a controller it tries for ten.
COMMAND_S = 5.0
_FOLDERS = ("/usr/bin", "/usr/local/bin", "/opt/slurm/bin", "/usr/local/slurm/bin")
#: Times in UTC, so that they can be compared; no language, no settings of whoever calls.
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TZ": "UTC0", "LC_ALL": "C"}
_MOST_BYTES = 256 * 1024 * 1024
_TURN_MS, _WAIT_S = 50, 0.002
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
            raise SlurmError(f"scontrol update of {node} failed: {_last_line(answer)}")

    def _shown(self, *arguments: str) -> tuple[Node, ...]:
        answer = self._called(*arguments)
        if answer.status:
            raise SlurmError(f"scontrol show node failed: {_last_line(answer)}")
        return parse_nodes(answer.out)

    def _called(self, *arguments: str) -> Answer:
        seconds = min(COMMAND_S, self._ends - time.monotonic())
        if seconds <= 0:
            raise SlurmError(f"no time is left for scontrol {arguments[0]}")
        if self._slurm_conf and not os.path.exists(self._slurm_conf):
            raise SlurmError(f"found no slurm.conf at {self._slurm_conf}")
        environment = {**_ENVIRONMENT, **({"SLURM_CONF": self._slurm_conf} if self._slurm_conf else {})}
        try:
            return run((program(self._bin_dir), *arguments), environment, seconds)
        except OSError as error:
            raise SlurmError(f"scontrol does not start: {error.strerror}") from error


def program(bin_dir: str) -> str:
    """The path of scontrol. Raises ``SlurmError``."""
    path = [one for one in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(one)]
    for folder in (bin_dir,) if bin_dir else (*_FOLDERS, *path):
        name = os.path.join(os.path.abspath(folder), _PROGRAM)
        if os.access(name, os.X_OK) and os.path.isfile(name):
            return name
    where = bin_dir or f"{', '.join(_FOLDERS)} and PATH"
    raise SlurmError(f"found no scontrol in {where}: --bin-dir names its directory")


def run(command: tuple[str, ...], environment: Mapping[str, str], seconds: float) -> Answer:
    """Run a program in a process group of its own, which is ended whatever happens. Raises ``OSError``, ``SlurmError`` when time is up.

    Without ``subprocess``, whose import alone takes as long as the command.
    """
    ends = time.monotonic() + seconds
    with _started(command, environment) as (pid, out, err):
        texts = {out: bytearray(), err: bytearray()}
        status = _read(pid, texts, ends)
        if status is None:
            raise SlurmError(f"{os.path.basename(command[0])} {command[1]} did not end in {seconds:.1f} s")
        return Answer(status, *(bytes(texts[one]).decode("utf-8", "replace") for one in (out, err)))


@contextlib.contextmanager
def _started(command: tuple[str, ...], environment: Mapping[str, str]) -> Iterator[tuple[int, int, int]]:
    """Process and the descriptors of its two outputs. A signal that ends us waits until it is known which process is to be ended. Its group
    is killed before its number is free for another process.
    """
    pid, ends = 0, list[int]()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        try:
            (out, out_end), (err, err_end) = os.pipe(), os.pipe()
            ends = [out, out_end, err, err_end]
            places: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
            places += [(os.POSIX_SPAWN_DUP2, one, number) for number, one in ((1, out_end), (2, err_end))]
            pid = os.posix_spawn(command[0], command, environment, file_actions=places, setpgroup=0, setsigmask=())
            os.close(out_end)
            os.close(err_end)
            ends = [out, err]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        yield pid, out, err
    finally:
        if pid:
            _end(pid)
        for one in ends:
            os.close(one)


def _end(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _read(pid: int, texts: dict[int, bytearray], ends: float) -> int | None:
    """Its status, and in `texts` what it writes; None where it does not end in time. A child of it that keeps the outputs open is not
    waited for.
    """
    poll, is_open = select.poll(), set(texts)
    for one in texts:
        os.set_blocking(one, False)
        poll.register(one, select.POLLIN)
    while True:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        for one in tuple(is_open):
            if not _drained(one, texts[one]):
                poll.unregister(one)
                is_open.discard(one)
        if ended is not None:
            return ended.si_status if ended.si_code == os.CLD_EXITED else 128 + ended.si_status
        if time.monotonic() >= ends or any(len(text) > _MOST_BYTES for text in texts.values()):
            return None
        if is_open:
            poll.poll(min(_TURN_MS, max(1, int((ends - time.monotonic()) * 1000))))
        else:
            time.sleep(_WAIT_S)


def _drained(descriptor: int, text: bytearray) -> bool:
    """False at its end."""
    while True:
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return True
        if not data:
            return False
        text += data
        if len(text) > _MOST_BYTES:
            return True


def shown(update: Mapping[str, str]) -> str:
    """As a person would type it."""
    return " ".join(f"{key}={value}" for key, value in update.items())


def _last_line(answer: Answer) -> str:
    lines = [line.strip() for line in (*answer.out.split("\n"), *answer.err.split("\n")) if line.strip()]
    return visible(lines[-1])[:_SAID] if lines else f"exit {answer.status}"
