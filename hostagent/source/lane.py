"""The worker's own side: what it asks, in which order, and how it lives. Everything here runs in the forked child."""

import contextlib
import json
import os
import resource
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from hostagent.facts.unread import Unread
from hostagent.source.base import Answer
from hostagent.source.files import Files
from hostagent.source.paths import Root
from hostagent.source.renounce import die_with
from hostagent.source.worker import CALL_S, METHODS

#: The kernel driver's own directories. A read below them takes the driver's locks.
DIRECTORIES = ("/proc/driver/nvidia", "/proc/driver/nvidia-nvswitch")
_MODULE = "/sys/module/nvidia"
#: More than any host has; a bound on a tree that somebody else made.
_MAX_ENTRIES = 4096
_MAX_DEPTH = 8
#: The usual hard limit of old is less; closing so many takes milliseconds.
_MAX_DESCRIPTORS = 65536


class Lane:
    """One pipe to the parent: every call is announced, made, and answered."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def ask(self, question: tuple[str, ...], label: str, call: Callable[[], Any], allowed_s: float = CALL_S) -> Any:
        """What `call` answers. An empty `question` announces a call whose answer the parent does not need."""
        self._send("begin", question, label, time.monotonic(), allowed_s)
        answer = call()
        self._send("answer", question, _encoded(answer if question else None), time.monotonic())
        return answer

    def done(self, *methods: str, rest: "Answer | Unread" = None) -> None:
        """These methods are complete; what of theirs was asked and not answered is `rest`, or absent."""
        self._send("done", methods, _encoded(rest))

    def _send(self, *event: Any) -> None:
        data = json.dumps(event).encode() + b"\n"
        while data:
            data = data[os.write(self._pipe, data) :]


def run_worker(pipe: int, parent: int, root: str) -> NoReturn:
    """The whole life of the forked child: it ends here whatever happens, and never returns into the parent's code."""
    try:
        _settle(pipe, parent)
        lane = Lane(3)
        try:
            _read_all(lane, Root(root))
        except BrokenPipeError:
            pass  # the parent has closed its end: nobody waits for a word
        except Exception as error:  # a bug here is an answer too
            lane.done(*METHODS, rest=Unread("error", f"the worker crashed: {type(error).__name__}: {error}"))
    finally:
        os._exit(0)


def _settle(pipe: int, parent: int) -> None:
    """Own as little as possible: only the pipe, no terminal, no handlers of the parent, no life after the parent."""
    signal.set_wakeup_fd(-1)
    # The last three: the parent's faulthandler, which would write to a closed file, is no handler that Python knows.
    usual = {signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT}
    for number in usual.union(one for one in signal.valid_signals() if callable(signal.getsignal(one))):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle; it ends the worker
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # blocked over the fork
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a library that crashes must not leave a core file
    die_with(parent)
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    kept = os.dup(pipe)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.dup2(kept, 3, inheritable=False)
    _close_from(4)


def _close_from(first: int) -> None:
    """Those that are open. To try every number up to the limit takes minutes where the limit is a billion."""
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:  # no /proc
        os.closerange(first, _MAX_DESCRIPTORS)
        return
    for descriptor in map(int, names):
        if descriptor >= first:
            with contextlib.suppress(OSError):  # the listing's own is closed already
                os.close(descriptor)


def _read_all(lane: Lane, root: Root) -> None:
    from hostagent.source import nvml, nvmlgate

    holder = lane.ask((), "the lock on /sys/module/nvidia", partial(_lock, root), 2 * CALL_S)
    if holder:
        lane.done(*METHODS, rest=Unread("timeout", f"another hostagent's worker ({holder}) is still reading NVML"))
        return
    files = Files(root)
    left = [_MAX_ENTRIES]
    for directory in DIRECTORIES:
        _walk(lane, files, directory, _MAX_DEPTH, left)
    lane.done("read", "list")
    unread = lane.ask((), f"opening {nvmlgate.CONTROL}", partial(nvmlgate.gate, files, root))
    if unread is None:
        unread = nvml.answer_all(lane, files, root)
    lane.done("nvml", rest=unread)
    nvml.shut_down()


def _walk(lane: Lane, files: Files, directory: str, depth: int, left: list[int]) -> None:
    """List `directory` and read its files first, then go down."""
    names = lane.ask(("list", directory), f"list {directory}", partial(files.list, directory))
    if isinstance(names, Unread) or not depth:
        return
    paths = [f"{directory}/{name}" for name in names[: left[0]]]
    left[0] -= len(paths)
    below: list[str] = lane.ask((), f"stat {directory}/*", partial(_directories, files, paths))
    for path in sorted(set(paths).difference(below)):
        if _is_wanted(path):
            lane.ask(("read", path), f"read {path}", partial(files.read, path))
    for path in below:
        _walk(lane, files, path, depth - 1, left)


def _directories(files: Files, paths: list[str]) -> list[str]:
    found = {path: files.stat(path) for path in paths}
    return [path for path, answer in found.items() if isinstance(answer, dict) and answer["kind"] == "dir"]


def _is_wanted(path: str) -> bool:
    """Not all of it: ``suspend`` and ``power`` are of no use here, and reading takes locks."""
    parts = path.removeprefix(DIRECTORIES[0]).split("/")[1:]
    return (
        path.startswith((f"{DIRECTORIES[0]}/capabilities/", f"{DIRECTORIES[1]}/"))
        or parts in (["version"], ["params"], ["registry"])
        or (len(parts) == 3 and parts[0] == "gpus" and parts[2] == "information")
    )


def _lock(root: Root) -> str:
    """Empty once this process is the only worker on the machine; else who is.

    The lock is a flock on the module's directory in sysfs, opened for reading: nothing is created, every container
    that mounts the host's /sys meets it, root is not needed, the kernel drops it when the process ends, however it
    ends, and a process that SIGKILL cannot end (it hangs in the driver) keeps it, which is the point.

    Anybody who may read the directory may also hold the lock, and would so keep root from reading NVML: root goes on
    without it when every holder is somebody else's. One that /proc/locks does not show (root in a container with its
    own processes) still counts.
    """
    import fcntl

    try:
        descriptor = os.open(root.locate(_MODULE), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ""  # no module, so nothing here can hang
    ends = time.monotonic() + CALL_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            opened = os.fstat(descriptor)
            holders = _holders(opened.st_ino)
            # In a user namespace without the real root its processes look like nobody's, and so does the directory.
            if holders and os.geteuid() == 0 == opened.st_uid and not any(map(_is_roots, holders)):
                return ""
            if time.monotonic() > ends:
                return f"pid {holders[0]}" if holders else "in another container"
            time.sleep(0.02)
        else:
            return ""


def _holders(inode: int) -> list[str]:
    """Process ids by /proc/locks (proc_locks(5)), which hides processes of other pid namespaces.

    The file system is not compared (overlays name another one than stat does): one holder too many errs to waiting.
    """
    with contextlib.suppress(OSError), open("/proc/locks", encoding="ascii", errors="replace") as locks:
        rows = [line.split() for line in locks]
        return [row[4] for row in rows if len(row) > 5 and row[1] == "FLOCK" and row[5].endswith(f":{inode}") and row[4] not in ("0", "-1")]
    return []


def _is_roots(pid: str) -> bool:
    """False, too, for a process that is gone and left its lock to another: a worker never does."""
    try:
        return os.stat(f"/proc/{pid}").st_uid == 0
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _encoded(answer: Any) -> dict[str, Any]:
    if isinstance(answer, Unread):
        return {"unread": [answer.why, answer.detail]}
    return {"bytes": answer.decode("latin-1")} if isinstance(answer, bytes) else {"value": answer}
