"""A place in which the target's own programs run and change nothing: a process with mounts of its own, and all that it starts.

As root it is the first of its own process numbers, so with it ends all that was started there; it ends with this process.
"""

# mount_setattr(2) needs Linux 5.12; on older kernels directories next to the covered ones are not read-only, and no package
# manager writes there when asked. What is mounted below a covered directory is hidden by the overlay, so each such mount is put
# back: covered where a package manager writes (/var/lib/dpkg, /var/cache/apt, a keyring directory), bound where it only reads.
# /run stays the host's: sockets of resolvers are there. SELinux labels of overlays were not tried.

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from hostagent.core.answers import Answer
from hostagent.core.smallfile import reason
from hostagent.core.unread import Unread, Why
from hostagent.core.vocabulary import Kind
from hostagent.host.files import unread
from hostagent.host.paths import Root
from hostagent.host.programs import Runner
from hostagent.host.runner import Runs, serve
from hostagent.host.task import Task
from hostagent.install.chroot import furnish
from hostagent.install.offers.cover import cover
from hostagent.sandbox import mounting
from hostagent.sandbox.child import Send
from hostagent.sandbox.namespaces import own_mounts, write_nowhere

#: Seconds for mounts, and for a few small files.
_LAY_S = 10
KEPT = "/var/tmp/hostagent-kept"  # noqa: S108  in memory
_MAX_FILE = 16 * 1024 * 1024


class OverlayFile(NamedTuple):
    """A file in its place; `content` None: none is there."""

    path: str
    content: bytes | None
    mode: int = 0o644


class Room:
    """The target at `root`, over which a process of its own has laid memory. Raises ``OSError`` where none can be started."""

    def __init__(self, root: str, kind: Kind, kept: str = "") -> None:
        """`kept`: a directory of this machine that is at `KEPT` in the room: what is written there stays."""
        self.root = Root(root)
        own = os.path.abspath(kept) if kept else ""  # the process works in /
        self._process = Runner(lambda send, tasks: _live(send, tasks, (self.root.path, kind, own)))

    def lay(self, files: Iterable[OverlayFile]) -> "Unread | None":
        """Exactly these files are laid from now on: what was laid before and is not among them is as it was."""
        answer = self._ask(("lay", [tuple(one) for one in files]), _LAY_S)
        return answer if isinstance(answer, Unread) else None

    def read(self, path: str) -> "bytes | Unread":
        """A file as it is in the room."""
        answer: bytes | Unread = self._ask(("read", path), _LAY_S)
        return answer

    def run(self, argv: tuple[str, ...], seconds: float, environment: Mapping[str, str]) -> Answer:
        """exit_code, stdout, stderr."""
        task = Task(argv, seconds, self.root.path, environment=tuple(environment.items()))
        return self._ask(("run", tuple(task)), seconds)

    def close(self) -> None:
        self._process.close()

    def _ask(self, message: tuple[Any, ...], seconds: float) -> Answer:
        try:
            answer = self._process.ask(message, seconds)
        except (EOFError, TimeoutError) as error:
            return Unread("error" if isinstance(error, EOFError) else "timeout", f"the package manager's room: {error}")
        return Unread(cast("Why", answer[0]), answer[1]) if isinstance(answer, tuple) else answer


def _live(send: Send, tasks: int, place: tuple[str, Kind, str]) -> None:
    root = place[0]
    fault: Unread | None = None
    before: dict[str, OverlayFile] = {}
    try:
        _furnish(*place)
    except OSError as error:
        why: Why = "denied" if isinstance(error, PermissionError) else "error"
        fault = Unread(why, f"no private mounts over {error.filename or root}: {reason(error)}")

    def work(runs: Runs, task: tuple[Any, ...]) -> Answer:
        if fault is not None:
            return fault
        what, given = task
        if what == "run":
            return runs.answer(Task(*given))
        try:
            return _read(Root(root), given) if what == "read" else _lay(Root(root), before, [OverlayFile(*one) for one in given])
        except OSError as error:
            return unread(error, given if what == "read" else error.filename or root)

    serve(send, tasks, work)


def _furnish(root: str, kind: Kind, kept: str) -> None:
    own_mounts()
    write_nowhere()
    target = Root(root)
    source = os.open(kept, os.O_PATH | os.O_DIRECTORY) if kept else -1
    if kind == "image":
        furnish(target)
    cover(target)
    if kept:
        _keep(target, source)


def _keep(target: Root, source: int) -> None:
    os.close(_directory(target, KEPT))
    for change in (lambda place: mounting.bind(mounting.at(source), place), mounting.to_write):
        descriptor = target.open(KEPT, os.O_PATH | os.O_DIRECTORY)
        try:
            change(mounting.at(descriptor))
        finally:
            os.close(descriptor)
    os.close(source)


def _lay(root: Root, before: dict[str, OverlayFile], files: list[OverlayFile]) -> str:
    wanted = {one.path: one for one in files}
    for path in wanted.keys() - before.keys():
        before[path] = _as_it_is(root, path)
    for path, own in before.items():
        _put(root, wanted.get(path, own))
    return "laid"


def _read(root: Root, path: str) -> bytes:
    descriptor = root.reopen(place := root.open(path, os.O_PATH), path)
    os.close(place)
    with open(descriptor, "rb") as stream:
        return stream.read(_MAX_FILE)


def _as_it_is(root: Root, path: str) -> OverlayFile:
    try:
        place = root.open(path, os.O_PATH)
    except (FileNotFoundError, NotADirectoryError):
        return OverlayFile(path, None)
    mode = os.fstat(place).st_mode
    os.close(place)
    return OverlayFile(path, _read(root, path) if stat.S_ISREG(mode) else None, stat.S_IMODE(mode))


def _put(root: Root, file: OverlayFile) -> None:
    """Raises ``OSError``."""
    directory = _directory(root, os.path.dirname(file.path))
    name = os.path.basename(file.path)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)
        if file.content is None:
            return
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, file.mode, dir_fd=directory)
        with open(descriptor, "wb") as stream:
            stream.write(file.content)
            os.fchmod(descriptor, file.mode)
    finally:
        os.close(directory)


def _directory(root: Root, path: str) -> int:
    """A descriptor of it; those that are missing are made."""
    flags = os.O_RDONLY | os.O_DIRECTORY
    try:
        return root.open(path or "/", flags)
    except FileNotFoundError:
        outer = _directory(root, os.path.dirname(path))
        try:
            os.mkdir(os.path.basename(path), 0o755, dir_fd=outer)
        finally:
            os.close(outer)
        return root.open(path, flags)
