"""A daemon as a user starts it, over a made tree or a recording, for tests."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests


def port() -> int:
    """A free one, below those that the kernel gives to whoever connects meanwhile."""
    while True:
        number = random.randrange(20000, 32768)
        with contextlib.suppress(OSError), socket.socket() as line:
            line.bind(("127.0.0.1", number))
            return number


class Daemon:
    """Ended on leaving; what it says on standard error is in `errors`."""

    def __init__(self, folder: Path, *options: object, environment: "dict[str, str] | None" = None) -> None:
        self.port, self.state = port(), folder / "state"
        self.errors = folder / "errors"
        listen = () if "--listen" in options else ("--listen", f"127.0.0.1:{self.port}")
        argv = [sys.executable, "-m", "hostagent", "daemon", "--state-dir", self.state, *listen, *options]
        with self.errors.open("ab") as stream:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *map(str, argv)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env={**os.environ, **(environment or {})},
            )

    def __enter__(self) -> "Daemon":  # noqa: PYI034  Python 3.10 has no Self
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()

    def get(self, path: str, **more: Any) -> requests.Response:
        return requests.get(f"http://127.0.0.1:{self.port}{path}", timeout=10, **more)

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


def eventually(is_so: Callable[[], Any], within_s: float = 30.0) -> float:
    """Seconds until it was so."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < within_s, "it did not come to that"
        time.sleep(0.02)
    return time.monotonic() - began
