"""hostagent as an administrator runs it on a made root, and what the root is like before and after."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.real.installroots import Root, tree

FAMILIES = ("os", "kernel", "driver", "nvswitch", "toolkit", "runtime", "cdi")
TOOLKIT = ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1")


class Host:
    """A root with the profile whose repositories it has."""

    def __init__(self, root: Root, install: str = "", more: str = "") -> None:
        self.root = root
        self.seen = root.path  # its files as it sees them, where mounts are over some
        self.profile = root.profile(root.path.parent, more, install)

    def command(self, name: str, *words: str) -> list[str]:
        profile = () if name == "rollback" else ("--profile", str(self.profile))
        return [sys.executable, "-m", "hostagent", name, "--root", str(self.root.path), *profile, *words]

    def call(self, name: str, *words: str, timeout: float = 300, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(name, *words), env={**os.environ, **environment}, capture_output=True, text=True, timeout=timeout, check=False
        )

    def install(self, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return self.call("install", "--yes", *words, **environment)

    def start(self, name: str, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.command(name, *words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )

    def plan(self, *words: str) -> "tuple[int, dict]":
        done = self.call("plan", "--format", "json", *words)
        assert done.returncode in (0, 4), done.stdout[-2000:] + done.stderr[-2000:]
        return done.returncode, json.loads(done.stdout)

    def todo(self, *words: str) -> list[str]:
        return [step["id"] for step in self.plan(*words)[1]["steps"] if step["state"] == "to-do"]

    def failing(self) -> list[str]:
        """Checks of what an installation answers for that fail: "id: message"."""
        done = self.call("check", "--format", "json", "--kernel", self.root.kernel)
        report = json.loads(done.stdout)
        return [
            f"{one['id']}: {one['message']}"
            for one in report["findings"]
            if one["outcome"] == "fail" and one["axis"] == "fitness" and one["id"].split(".")[0] in FAMILIES
        ]

    def state(self) -> dict[str, object]:
        """What a rollback restores."""
        etc = {path: what for path, what in tree(self.root.path, "etc").items() if path != "etc/ld.so.cache"}
        marks = {kind: self.root.run("apt-mark", f"show{kind}").stdout.split() for kind in ("hold", "auto", "manual")}
        units = self.root.run("systemctl", "--root=/", "list-unit-files", "--no-legend", "--state=enabled", check=False).stdout.splitlines()
        installed = {name: what for name, what in self.root.packages().items() if not what.startswith("rc")}
        return {"etc": etc, "packages": installed, "marks": marks, "units": units}

    def runs(self) -> list[str]:
        place = self.root.path / "var/lib/hostagent/runs"
        return sorted(os.listdir(place)) if place.exists() else []


def whole(root: Root) -> dict[str, tuple[object, ...]]:
    """Everything in the root but what programs write by being started: their logs and locks are looked at too."""
    return tree(root.path)


def changed(before: dict, after: dict) -> list[str]:
    """What a person would look at where two of these differ."""
    return sorted(str(key) for key in {*before, *after} if before.get(key) != after.get(key))


def kill_tree(process: "subprocess.Popen[str]") -> None:
    """kill -9 of a program and of all that it started, whatever session that is in."""
    import psutil

    whole = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    for one in whole:
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
    process.wait(30)


class _Handler(SimpleHTTPRequestHandler):
    mode = "well"

    def do_GET(self) -> None:
        if self.mode == "hang":
            time.sleep(3600)
        if self.mode == "gone":
            self.send_error(503)
            return
        super().do_GET()

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def served(directory: Path, mode: str = "well") -> Iterator[str]:
    """A repository by HTTP on the loopback: ``well``, ``hang`` (accepts and says nothing), ``gone`` (503)."""
    handler = partial(type("Handler", (_Handler,), {"mode": mode}), directory=str(directory))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
