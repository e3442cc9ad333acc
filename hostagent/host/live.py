"""The backend of a real host: this machine, a live host mounted at a directory, or an image tree."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hostagent.core.answers import Answer
from hostagent.core.deadline import Deadline, within
from hostagent.core.errors import HostagentError
from hostagent.core.smallfile import reason
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.host.files import Files, unread
from hostagent.host.paths import Root
from hostagent.sandbox.worker import HungWorker, Worker
from hostagent.sandbox.worker_spec import Lane, below

#: Seconds one program may run.
PROGRAM_TIMEOUT_S = 5.0
#: Questions that only a running host answers.
_RUNNING_ONLY = frozenset(
    (
        *("nvml", "podresources", "rdma", "network", "pci_controls", "configz", "processes", "sockets", "kernel_log", "adjtimex"),
        *("lock_holder", "gpu_users", "shims", "enrolled", "kernel_words"),
    )
)
#: Questions that `Files` answers.
_OF_FILES = frozenset({"read", "tail", "list", "stat", "readlink", "realpath", "statvfs", "volume", "elf", "lock_holder"})
_RUNTIME_ONLY = ("/proc", "/sys", "/dev", "/run", "/var/run")
#: These exist on every running host; if one is missing, the host is only partly mounted here.
_NEVER_ABSENT = frozenset({"/proc/devices", "/proc/stat", "/proc/cmdline", "/sys/module"})


class Domains:
    """Questions that domains answer: those of their lanes, and others by name. `hostagent.engine.questions` has all of them."""

    def __init__(self, lanes: Iterable[Lane], answers: "Mapping[str, Callable[..., Answer | Unread]]") -> None:
        """`answers`: functions ``(backend, *arguments)`` by question."""
        self.lanes = {one.name: one for one in lanes}
        self.answers = answers
        self._by_method = {method: one for one in self.lanes.values() for method in one.methods}
        self._directories = tuple(directory for one in self.lanes.values() for directory in one.directories)

    def lane_of(self, method: str, path: str) -> "Lane | None":
        """The lane of a question, None without one. Called for every question: most are decided by the prefix of their path."""
        if method in self._by_method:
            return self._by_method[method]
        if method in ("read", "list") and path.startswith(self._directories):
            return next((one for one in self.lanes.values() if one.has(method, path)), None)
        return None


class LiveBackend:
    """Answers from the kernel, the file system, the workers of the lanes, and the domains. Reads nothing outside of its root.

    `workers` are started and closed by the caller. `kernel`: the one that an image will boot.
    """

    def __init__(
        self,
        root: str,
        kind: Kind,
        domains: Domains,
        *,
        workers: "Sequence[Worker | HungWorker]" = (),
        deadline: Deadline | None = None,
    ) -> None:
        self._kind = kind
        self.root = Root(root)
        self.files = Files(self.root)
        self._domains = domains
        self.kernel = ""
        self._workers = workers
        self._deadline = deadline or within(30)
        self._of_kernel_log: dict[str, Answer] = {}

    @property
    def kind(self) -> Kind:
        return self._kind

    @property
    def own_pids(self) -> frozenset[int]:
        """Process ids of this process and its workers, which hold devices of the host open.

        Only those that the root's /proc has: in another pid namespace another process may have the same id.
        """
        pids = (os.getpid(), *(one.pid for one in self._workers))
        ours = Files(Root("/"))
        return frozenset(pid for pid in pids if (started := _started(ours, pid)) and started == _started(self.files, pid))

    def ask(self, method: str, *arguments: str) -> "Answer | Unread":
        """Never raises: a fault of a host, or of a library that reads it, is a value, which is also recorded."""
        path = arguments[0] if arguments else ""
        try:
            if self._deadline.left_s < 0:
                return Unread("timeout", f"the deadline of {self._deadline.seconds:g} s for the whole run has passed")
            if self._kind == "image" and (method in _RUNNING_ONLY or any(below(path, one) for one in _RUNTIME_ONLY)):
                return Unread("not-running", f"{path or method}: an image has no running kernel")
            lane = self._domains.lane_of(method, path)
            if lane:
                return self._in_lane(lane, method, *arguments)
            if method in self._domains.answers:
                return self._domains.answers[method](self, *arguments)
            if method not in _OF_FILES:
                return getattr(self, f"_{method}")(*arguments)
            answer = getattr(self.files, method)(*arguments)
        except OSError as error:
            return unread(error, arguments[0] if arguments else method)
        except Exception as error:
            return Unread("error", f"{method}: {type(error).__name__}: {error}")
        if path in _NEVER_ABSENT and isinstance(answer, Unread) and answer.why == "absent":
            return Unread("error", f"{path} is not there: the host's /proc, /sys and /dev are not all mounted here")
        return answer

    def _in_lane(self, lane: Lane, method: str, *arguments: str) -> "Answer | Unread":
        worker = next((one for one in self._workers if one.lane is lane), None)
        if worker is None and (known := lane.idle(self.files)) is not None:
            return known.get((method, *arguments), Unread("absent", f"{' '.join((method, *arguments))}: nothing of that kind here"))
        return (worker or Worker(lane)).ask(method, *arguments)  # one that was not started returns an ``Unread``

    def run(self, *argv: str) -> Answer:
        place = self.program(argv[0])
        if isinstance(place, Unread):
            return place
        from hostagent.host.programs import run

        return run((place, *argv[1:]), self.program_timeout_s, self.root.path)

    @property
    def program_timeout_s(self) -> float:
        """Seconds that a program may run now."""
        return max(0.1, min(PROGRAM_TIMEOUT_S, self._deadline.left_s))

    def program(self, name: str) -> "str | Unread":
        """A program of the host that may be run."""
        if self._kind == "image":
            return Unread("not-running", f"{name} is not run in an image")
        if self.root.path == "/":
            return name
        from hostagent.host.host_binaries import program

        place = program(self.root, name)
        if isinstance(place, str) and self.root.simulated:
            return Unread("error", f"{name} is not run: {self.root.path} is no live host, its /proc and /sys are not a kernel's")
        return place

    def _host(self) -> Answer:
        answer: dict[str, Any] = {"now": time.time(), "uid": os.geteuid(), "hostname": self._hostname()}
        if self._kind == "image":
            return {**answer, "release": self.kernel} if self.kernel else answer
        for key, path in (("release", "osrelease"), ("machine", "arch"), ("boot_id", "random/boot_id")):
            text = self.files.read(f"/proc/sys/kernel/{path}")
            if isinstance(text, bytes):
                answer[key] = text.decode("utf-8", "replace").strip()
        if self.root.simulated:
            answer["simulated"] = True
        # /proc/sys/kernel/arch came with Linux 6.1
        return {"machine": os.uname().machine, **answer}

    def _hostname(self) -> str:
        """Below another root uname(2) would name the container."""
        if self._kind == "live":
            return os.uname().nodename
        text = self.files.read("/etc/hostname")
        return text.decode("utf-8", "replace").strip() if isinstance(text, bytes) else ""

    def _os_release(self) -> Answer:
        from hostagent.host.os_release import MAX_BYTES, os_release

        data = self.files.read("/etc/os-release", str(MAX_BYTES))
        if isinstance(data, Unread) and data.why == "absent":
            data = self.files.read("/usr/lib/os-release", str(MAX_BYTES))
        return data if isinstance(data, Unread) else os_release(data)

    def _processes(self) -> Answer:
        from hostagent.host.processes import processes

        return processes(self.root)

    def _sockets(self) -> Answer:
        from hostagent.host.sockets import sockets

        return sockets(self.root)

    def _pci_controls(self, *addresses: str) -> Answer:
        from hostagent.host.pci_config import controls

        return controls(self.files, addresses)

    def _environment(self) -> Answer:
        """Empty: `hostagent.engine.target` answers for a job's environment."""
        return {}

    def _kernel_log(self) -> Answer:
        return self._logs("kernel_log")

    def _kernel_words(self) -> Answer:
        return self._logs("kernel_words")

    def _logs(self, question: str) -> Answer:
        """The answer to one of the two questions about the kernel log: one read of the ring buffer serves both, a journal one of them."""
        from hostagent.host.kernel_log import read_ring, with_journal

        if question not in self._of_kernel_log:
            self._of_kernel_log = read_ring(self.root)._asdict()
        return with_journal(question, self._of_kernel_log.pop(question), self.run)

    def _adjtimex(self) -> Answer:
        import ctypes

        # struct timex: modes (0 reads and sets nothing), four longs, then the status word (adjtimex(2))
        buffer = (ctypes.c_long * 32)()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.adjtimex(ctypes.byref(buffer)) < 0:
            return unread(OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno())), "adjtimex")
        return int(buffer[5] & 0xFFFFFFFF)


def refuse_wrong_root(path: str, kind: Kind, kernel: str = "", host_has: Sequence[str] = ("/proc", "/sys")) -> None:
    """Raises ``HostagentError`` if `path` is no root of a host: it would read as a broken host. `host_has`: paths of a live host."""
    root = Root(path)
    try:
        os.close(root.open("/", os.O_RDONLY | os.O_DIRECTORY))
    except OSError as error:
        raise HostagentError(f"cannot read {path}: {reason(error)}", "Name a directory") from error
    if kind == "host-root" and not all(_entries(root, path) for path in host_has):
        raise HostagentError(
            f"found no {' and '.join(host_has)} below {root.path}, wanted a live host",
            "Mount its / with everything below it (rbind, rslave)",
        )
    if kind == "image" and not any("os-release" in _entries(root, path) for path in ("/etc", "/usr/lib")):
        raise HostagentError(
            f"found no os-release below {root.path}, wanted the root of an image", "Name the directory that holds its /etc"
        )
    if kernel and not any(kernel in _entries(root, path) for path in ("/lib/modules", "/usr/lib/modules")):
        raise HostagentError(f"found no /lib/modules/{kernel} below {root.path}", "Name a kernel release that the image has")


def _entries(root: Root, path: str) -> list[str]:
    names = Files(root).list(path)
    return [] if isinstance(names, Unread) else list(names)


def _started(files: Files, pid: int) -> bytes:
    """When a process began, in clock ticks since the boot; b"" if it is not there. Source: proc_pid_stat(5), field 22."""
    found = files.read(f"/proc/{pid}/stat", "4096")
    fields = b"" if isinstance(found, Unread) else found.rpartition(b") ")[2]
    return b"".join(fields.split()[19:20])
