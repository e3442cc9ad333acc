"""A service of hostagent as a user starts it, such as the daemon over a made tree or a recording, for tests."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import requests

from tests.cpu import crowding


def port() -> int:
    """A free one, below those that the kernel gives to whoever connects meanwhile."""
    while True:
        number = random.randrange(20000, 32768)
        with contextlib.suppress(OSError), socket.socket() as line:
            line.bind(("127.0.0.1", number))
            return number


class Service:
    """A process of hostagent that answers HTTP on `port`. Ended on leaving; standard error is in the file `errors`."""

    def __init__(self, folder: Path, argv: "Iterable[object]", port: int, environment: "dict[str, str] | None" = None) -> None:
        self.port, self.errors = port, folder / "errors"
        with self.errors.open("ab") as stream:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "hostagent", *map(str, argv)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env={**os.environ, **(environment or {})},
            )

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """By SIGKILL."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()

    def get(self, path: str, **more: Any) -> requests.Response:
        return requests.get(f"http://127.0.0.1:{self.port}{path}", **{"timeout": 10, **more})

    def answers(self, path: str) -> bool:
        with contextlib.suppress(requests.ConnectionError):
            return self.get(path).ok
        return False

    def end(self, within_s: float = 5.0) -> int:
        """By SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(within_s)

    def said(self) -> str:
        return self.errors.read_text(errors="replace")


class Daemon(Service):
    """`hostagent daemon`, with its state in `state`."""

    def __init__(self, folder: Path, *options: object, environment: "dict[str, str] | None" = None) -> None:
        chosen, self.state = port(), folder / "state"
        listen = () if "--listen" in options else ("--listen", f"127.0.0.1:{chosen}")
        super().__init__(folder, ["daemon", "--state-dir", self.state, *listen, *options], chosen, environment)


def eventually(is_so: Callable[[], Any], within_s: float = 30.0) -> float:
    """Seconds until it was so; a busy machine gets longer."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < within_s * crowding(), "it did not come to that"
        time.sleep(0.02)
    return time.monotonic() - began
