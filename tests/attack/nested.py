"""A host of a test's own: process 1, its groups in systemd's hierarchy, daemons, users and containers. All real, and gone with it.

The hierarchy is that of version 1 (``name=systemd``), which a test can have to itself on a machine without systemd.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import traceback
import uuid
from collections.abc import Callable, Sequence

from tests.attack import spaces

#: A file system of root's own, only here.
PLACE = "/srv"
GROUPS = "/sys/fs/cgroup/systemd"
HAS_GROUPS = os.path.exists(f"{GROUPS}/cgroup.procs") and os.access(GROUPS, os.W_OK) and not os.path.isdir("/run/systemd/system")
_PR_SET_NAME = 15


def program(folder: str) -> str:
    """A program that does nothing, made in `folder`: its path."""
    source, made = f"{folder}/pause.c", f"{folder}/pause"
    with open(source, "w", encoding="utf-8") as stream:
        stream.write("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
    subprocess.run(["gcc", "-static", "-o", made, source], check=True)
    return made


class Host:
    """What process 1 of a new pid namespace can start. Its groups are below one of their own, its programs in `PLACE`."""

    def __init__(self, made: str) -> None:
        self.base = f"/hostagent-{uuid.uuid4().hex[:8]}"
        self._made = made
        self._pids: list[int] = []

    def join(self, group: str) -> None:
        """Put this process into a group."""
        os.makedirs(f"{GROUPS}{self.base}{group}", exist_ok=True)
        with open(f"{GROUPS}{self.base}{group}/cgroup.procs", "w", encoding="ascii") as stream:
            stream.write("0")

    def install(self, *names: str, place: str = PLACE) -> None:
        """The program, below these names."""
        os.makedirs(place, exist_ok=True)
        for name in names:
            shutil.copy(self._made, f"{place}/{name}")

    def start(self, group: str, path: str, *argv: str, uid: int = 0, before: Callable[[], object] = lambda: None) -> int:
        """A program that runs as `uid` in `group`, after `before` in its process. Returns when it has begun."""

        def run(_: int) -> None:
            before()
            if uid:
                spaces.become(uid)
            os.execv(path, [os.path.basename(path), *argv])

        return self._start(group, run)

    def contain(self, group: str, path: str, *argv: str) -> None:
        """The program as root in a pid namespace of its own, as a container runtime starts it."""

        def run(pipe: int) -> None:
            spaces.unshare("pid")
            pid = os.fork()
            if pid == 0:
                os.execv(path, [os.path.basename(path), *argv])
            os.close(pipe)
            os.waitpid(pid, 0)

        self._start(group, run)

    def listen(self, path: str, *, uid: int = 0, before: Callable[[], object] = lambda: None) -> None:
        """A process that listens on a socket at `path`, as `uid`, after `before` in its process."""

        def run(pipe: int) -> None:
            before()
            if uid:
                spaces.become(uid)
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(path)
                listening.listen()
                os.close(pipe)
                signal.pause()

        self._start("", run)

    def ask(self, question: Callable[[], object], *, group: str = "", spaces_of: Sequence[str] = (), uid: int = 0) -> None:
        """`question` in a process of its own, which asserts: in `group`, then in new namespaces, then as `uid`."""

        def run() -> None:
            if group:
                self.join(group)
            if spaces_of:
                spaces.unshare(*spaces_of)
            if uid:
                spaces.become(uid)
            question()

        assert_in_child(run)

    def _start(self, group: str, run: Callable[[int], object]) -> int:
        """`run` in a process of its own, which becomes a program: until it has, a pipe is open that only execve(2) closes."""
        reading, writing = os.pipe()

        def told() -> None:
            try:
                self.join(group)
                run(writing)
            except BaseException:
                os.write(writing, traceback.format_exc().encode()[-60_000:])
                raise

        self._pids.append(spaces.start(told))
        os.close(writing)
        with open(reading, encoding="utf-8") as stream:
            failed = stream.read()
        assert not failed, failed
        return self._pids[-1]

    def end(self) -> None:
        for pid in self._pids:
            spaces.end(pid)


def host(test: Callable[[Host], object], made: str, name: str = "systemd") -> None:
    """`test` as process 1, called `name`, of a new pid namespace with its own /proc. What fails in it fails here.

    `made`: the program that it may start.
    """
    own = Host(made)

    def run() -> None:
        spaces.unshare("mount")
        spaces.mount("proc", "/proc", "proc")
        spaces.mount("tmpfs", PLACE, "tmpfs", 0, "mode=755")
        own.join("/init.scope")
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
        try:
            test(own)
        finally:
            own.end()

    spaces.unshare("pid")
    try:
        assert_in_child(run)
    finally:
        for folder, _, _ in os.walk(f"{GROUPS}{own.base}", topdown=False):
            os.rmdir(folder)


def assert_in_child(run: Callable[[], object]) -> None:
    """`run` in a process of its own. What fails in it fails here."""
    reading, writing = os.pipe()

    def told() -> None:
        try:
            run()
        except BaseException:
            os.write(writing, traceback.format_exc().encode()[-60_000:])
            raise

    pid = spaces.start(told)
    os.close(writing)
    with open(reading, encoding="utf-8") as stream, contextlib.suppress(OSError):
        failed = stream.read()
    _, status = os.waitpid(pid, 0)
    assert not failed, failed
    assert status == 0
