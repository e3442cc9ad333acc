"""The backend of a real host: this machine, a live host mounted at a directory, or an image tree."""

import os
import time
from collections.abc import Sequence
from typing import Any

from hostagent.deadline import Deadline, within
from hostagent.errors import HostagentError
from hostagent.facts.unread import Unread
from hostagent.smallfile import reason
from hostagent.source.answers import Answer
from hostagent.source.files import Files, unread
from hostagent.source.lane import Lane, below
from hostagent.source.lanes import lane_of
from hostagent.source.paths import Root
from hostagent.source.worker import Hung, Worker
from hostagent.vocabulary import Kind

#: Seconds one program may run.
PROGRAM_TIMEOUT_S = 5.0
#: What an image has only once it runs.
_RUNNING_ONLY = frozenset(
    (
        *("nvml", "podresources", "rdma", "network", "pci_controls", "configz", "processes", "sockets", "kernel_log", "adjtimex"),
        *("lock_holder", "gpu_users", "shims", "enrolled"),
    )
)
#: Asked of files.
_OF_FILES = frozenset(
    {"read", "tail", "list", "stat", "readlink", "realpath", "statvfs", "modinfo", "elf", "nccl_library", "lock_holder", "state_file"}
)
_RUNTIME_ONLY = ("/proc", "/sys", "/dev", "/run", "/var/run")
#: These exist on every running host; if one is missing, the host is only partly mounted here.
_NEVER_ABSENT = frozenset({"/proc/devices", "/proc/stat", "/proc/cmdline", "/sys/module"})


class LiveBackend:
    """Asks the kernel, the file system, and the workers of the lanes. Below a root other than ``/`` nothing outside it is read.

    `workers` have been started, and are ended by who started them. `kernel`: the one that an image will boot.
    """

    def __init__(
        self,
        root: str = "/",
        kind: Kind = "live",
        *,
        workers: "Sequence[Worker | Hung]" = (),
        deadline: Deadline | None = None,
        kernel: str = "",
    ) -> None:
        self._kind = kind
        self._root = Root(root)
        self._files = Files(self._root)
        self._kernel = kernel
        self._workers = workers
        self._deadline = deadline or within(30)

    @property
    def kind(self) -> Kind:
        return self._kind

    def ask(self, method: str, *arguments: str) -> "Answer | Unread":
        """Never raises: what a host, or a library that reads it, does wrong is a value, and stands on the tape."""
        path = arguments[0] if arguments else ""
        try:
            if self._deadline.left_s < 0:
                return Unread("timeout", f"the deadline of {self._deadline.seconds:g} s for the whole run has passed")
            if self._kind == "image" and (method in _RUNNING_ONLY or any(below(path, one) for one in _RUNTIME_ONLY)):
                return Unread("not-running", f"{path or method}: an image has no running kernel")
            lane = lane_of(method, path)
            if lane:
                return self._in_lane(lane, method, *arguments)
            if method not in _OF_FILES:
                return getattr(self, f"_{method}")(*arguments)
            answer = getattr(self._files, method)(*arguments)
        except OSError as error:
            return unread(error, arguments[0] if arguments else method)
        except Exception as error:
            return Unread("error", f"{method}: {type(error).__name__}: {error}")
        if path in _NEVER_ABSENT and isinstance(answer, Unread) and answer.why == "absent":
            return Unread("error", f"{path} is not there: the host's /proc, /sys and /dev are not all mounted here")
        return answer

    def _in_lane(self, lane: Lane, method: str, *arguments: str) -> "Answer | Unread":
        worker = next((one for one in self._workers if one.lane is lane), None)
        if worker is None and (known := lane.idle(self._files)) is not None:
            return known.get((method, *arguments), Unread("absent", f"{' '.join((method, *arguments))}: nothing of that kind here"))
        return (worker or Worker(lane)).ask(method, *arguments)  # one that was not started says so

    def _run(self, *argv: str) -> Answer:
        timeout_s = max(0.1, min(PROGRAM_TIMEOUT_S, self._deadline.left_s))
        if argv[:2] == ("rpm", "--dbpath"):
            from hostagent.source.rpmcopy import ask_rpm

            place = None if self._kind == "image" or self._root.simulated else self._program("rpm")
            return ask_rpm(self._files, argv, timeout_s, self._root.path, place)
        place = self._program(argv[0])
        if isinstance(place, Unread):
            return place
        from hostagent.source.programs import run

        return run((place, *argv[1:]), timeout_s, self._root.path)

    def _program(self, name: str) -> "str | Unread":
        """A program of the host that may be run."""
        if self._kind == "image":
            return Unread("not-running", f"{name} is not run in an image")
        if self._root.path == "/":
            return name
        from hostagent.source.foreign import program

        place = program(self._root, name)
        if isinstance(place, str) and self._root.simulated:
            return Unread("error", f"{name} is not run: {self._root.path} is no live host, its /proc and /sys are not a kernel's")
        return place

    def _host(self) -> Answer:
        answer: dict[str, Any] = {"now": time.time(), "uid": os.geteuid(), "hostname": self._hostname()}
        if self._kind == "image":
            return {**answer, "release": self._kernel} if self._kernel else answer
        for key, path in (("release", "osrelease"), ("machine", "arch"), ("boot_id", "random/boot_id")):
            text = self._files.read(f"/proc/sys/kernel/{path}")
            if isinstance(text, bytes):
                answer[key] = text.decode("utf-8", "replace").strip()
        if self._root.simulated:
            answer["simulated"] = True
        # /proc/sys/kernel/arch came with Linux 6.1
        return {"machine": os.uname().machine, **answer}

    def _hostname(self) -> str:
        """Below another root uname(2) would name the container."""
        if self._kind == "live":
            return os.uname().nodename
        text = self._files.read("/etc/hostname")
        return text.decode("utf-8", "replace").strip() if isinstance(text, bytes) else ""

    def _os_release(self) -> Answer:
        from hostagent.source.osrelease import MAX_BYTES, os_release

        data = self._files.read("/etc/os-release", str(MAX_BYTES))
        if isinstance(data, Unread) and data.why == "absent":
            data = self._files.read("/usr/lib/os-release", str(MAX_BYTES))
        return data if isinstance(data, Unread) else os_release(data)

    def _processes(self) -> Answer:
        from hostagent.source.processes import processes

        return processes(self._root)

    def _sockets(self) -> Answer:
        from hostagent.source.sockets import sockets

        return sockets(self._root)

    def _gpu_users(self) -> Answer:
        from hostagent.source.gpuusers import gpu_users

        return gpu_users(self._root, {os.getpid(), *(one.pid for one in self._workers)})

    def _shims(self) -> Answer:
        from hostagent.source.shims import shims

        return shims(self._root)

    def _enrolled(self, *paths: str) -> Answer:
        from hostagent.source.mok import enrolled

        return enrolled(self._files, paths)

    def _podresources(self, *_: str) -> Answer:
        from hostagent.source.podresources import ask

        return ask(self._root)

    def _configz(self, address: str, ca: str, token_file: str) -> Answer:
        from hostagent.source.configz import ask

        if self._root.simulated:
            return Unread("error", "configz is not asked: this is no live host")
        return ask(self._files, address, ca, token_file)

    def _pci_controls(self, *addresses: str) -> Answer:
        from hostagent.source.pciconfig import controls

        return controls(self._files, addresses)

    def _environment(self) -> Answer:
        """Of no job: one that was given is answered before, see `hostagent.evidence`."""
        return {}

    def _kernel_log(self) -> Answer:
        from hostagent.source.kernellog import kernel_log

        return kernel_log(self._root, self._run)

    def _adjtimex(self) -> Answer:
        import ctypes

        # struct timex: modes (0 reads and sets nothing), four longs, then the status word (adjtimex(2))
        buffer = (ctypes.c_long * 32)()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.adjtimex(ctypes.byref(buffer)) < 0:
            return unread(OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno())), "adjtimex")
        return int(buffer[5] & 0xFFFFFFFF)


def refuse_wrong_root(path: str, kind: Kind, kernel: str = "", host_has: Sequence[str] = ("/proc", "/sys")) -> None:
    """A mount point of something else would be judged as a broken host. Raises ``HostagentError``. `host_has`: what a live host shows."""
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
