"""One process and its host, as the kernel shows them: evidence whether the process is the daemon of its name."""

import os
import stat
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar

from hostagent.core.answers import ARGUMENT_BYTES, ARGUMENTS, KIB
from hostagent.core.tables import daemons
from hostagent.core.tables.platforms import OPERATOR_DRIVER
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.host.files import Files, unread
from hostagent.host.hidepid import first_process
from hostagent.host.paths import Root
from hostagent.host.process_trust import parse_status, service_of

_IN_DRIVER_CONTAINER = frozenset(daemons.processes("nvidia"))

T = TypeVar("T")


class Host:
    """Properties of the host with which processes are compared."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.files = Files(root)

    @cached_property
    def first(self) -> "str | Unread":
        return first_process(self.root, self.files)

    @cached_property
    def first_cgroup(self) -> str:
        return str(need(self.files.read("/proc/1/cgroup")).decode("utf-8", "replace"))

    @cached_property
    def shows_root(self) -> bool:
        """Whether root's processes show as root: in a user namespace that does not map root they show as user nobody."""
        users, _ = parse_status(need(self.files.read("/proc/1/status")).decode("utf-8", "replace"))
        return bool(users) and not any(users)

    @cached_property
    def psutil(self) -> Any:
        """The module psutil opens files itself: it gets the host's /proc as a descriptor opened below the host's root."""
        import psutil

        self._procfs = self.root.open("/proc", os.O_PATH | os.O_DIRECTORY)
        psutil.PROCFS_PATH = f"/proc/self/fd/{self._procfs}"
        return psutil

    def close(self) -> None:
        if "psutil" in vars(self):
            os.close(self._procfs)
            self.psutil.PROCFS_PATH = "/proc"

    @cached_property
    def own_root(self) -> "tuple[int, int] | None":
        return self._directory("/")

    @cached_property
    def driver_root(self) -> "tuple[int, int] | None":
        """Device and inode of the driver container's root; None without one."""
        return self._directory(OPERATOR_DRIVER)

    def _directory(self, path: str) -> "tuple[int, int] | None":
        try:
            place = self.root.open(path, os.O_PATH | os.O_DIRECTORY, follow=path == "/")
        except OSError as error:
            missing = unread(error, path)
            if missing.why == "absent":
                return None
            raise UnreadError(missing) from None
        found = os.fstat(place)
        os.close(place)
        return found.st_dev, found.st_ino


class Process:
    """The `Evidence` of one process. Raises ``UnreadError`` for what cannot be read, ``ProcessLookupError`` when it has ended."""

    def __init__(self, host: Host, pid: int, name: str) -> None:
        self.host = host
        self.pid = pid
        self.name = name

    @cached_property
    def started_at(self) -> float:
        """Seconds since the epoch; raises ``ProcessLookupError`` also for a process that has ended and is not reaped."""
        for path in ("/proc/stat", f"/proc/{self.pid}/stat"):  # in a simulated tree they may be of any kind
            found = need(self.host.files.stat(path)) if not is_gone(self.host.files, self.pid) else None
            if found is None:
                raise ProcessLookupError
            if found["kind"] != "file":
                raise UnreadError(Unread("error", f"{path} is no file"))
        psutil = self.host.psutil
        try:
            process = psutil.Process(self.pid)
            started_at = float(process.create_time())
            if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                raise ProcessLookupError
        except psutil.AccessDenied as error:
            raise UnreadError(Unread("denied", f"/proc/{self.pid}/stat: permission denied")) from error
        except psutil.Error as error:
            raise ProcessLookupError from error
        except (ValueError, IndexError, KeyError, RuntimeError) as error:
            raise UnreadError(Unread("error", f"/proc/{self.pid}/stat: {error}")) from error
        return started_at

    @property
    def service(self) -> "str | Unread":
        return service_of(self._read("cgroup").decode("utf-8", "replace"), self.host.first_cgroup)

    @property
    def may_be_of_driver_container(self) -> bool:
        return self.name in _IN_DRIVER_CONTAINER and self.host.driver_root is not None

    @property
    def is_outside(self) -> bool:
        if not self._status[1]:
            raise UnreadError(Unread("error", f"/proc/{self.pid}/status: no line NSpid"))
        return self._status[1] == 1

    @property
    def is_root(self) -> bool:
        if not self.host.shows_root:
            raise UnreadError(Unread("denied", "root's processes look like nobody's from this user namespace"))
        return len(self.users) == 4 and not any(self.users)

    @property
    def users(self) -> "tuple[int, ...]":
        return self._status[0]

    @property
    def root(self) -> "Literal['host', 'driver', '']":
        found = self._stat_link("root")
        place = (found.st_dev, found.st_ino)
        return "driver" if place == self.host.driver_root else "host" if place == self.host.own_root else ""

    @property
    def has_own_program(self) -> bool:
        """By the executable: a user may start a setuid program by a link of any name."""
        path = self._look(lambda place: os.readlink("exe", dir_fd=place)).removesuffix(" (deleted)")
        folder, _, program = path.rpartition("/")
        found = self._stat_link("exe")
        is_fixed = found.st_uid == 0 and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        is_named = program != "" and (self.name.startswith(program) or daemons.PROGRAMS.get(self.name) == program)
        return is_fixed and is_named and self._look(lambda _: not self.host.root.untrusted(folder))

    @property
    def argv(self) -> "list[str]":
        return parse_arguments(self._read("cmdline", ARGUMENTS * ARGUMENT_BYTES))

    def environment(self, words: "list[str]") -> "dict[str, str]":
        """Its search path, and the socket that its command line `words` names; nothing else of an environment, which may hold secrets."""
        try:
            variables = self._read("environ").split(b"\0")
        except UnreadError:  # only root may read it
            variables = []
        path = next((one[5:] for one in variables if one.startswith(b"PATH=")), b"").decode("utf-8", "replace")[:ARGUMENT_BYTES]
        address = flag_path(words, "--address", "-a")
        return {name: value for name, value in (("path", path), ("address", address)) if value}

    @cached_property
    def _status(self) -> "tuple[tuple[int, ...], int]":
        return parse_status(self._read("status").decode("utf-8", "replace"))

    def _read(self, name: str, limit: int = 64 * KIB) -> bytes:
        data = self.host.files.head(f"/proc/{self.pid}/{name}", limit)
        if isinstance(data, bytes):
            return data
        if is_gone(self.host.files, self.pid):
            raise ProcessLookupError
        raise UnreadError(data)

    def _stat_link(self, name: str) -> os.stat_result:
        """stat(2) of the target of a link in /proc/<pid>. The kernel's magic link has length 0; a link of a simulated tree stays in it."""
        if self._look(lambda place: os.stat(name, dir_fd=place, follow_symlinks=False)).st_size == 0:
            return self._look(lambda place: os.stat(name, dir_fd=place))
        return self._look(os.fstat, f"/{name}")

    def _look(self, ask: "Callable[[int], T]", name: str = "") -> T:
        """The result of `ask` for a descriptor of its directory, or of `name` in it."""
        path = f"/proc/{self.pid}{name}"
        try:
            place = self.host.root.open(path, os.O_PATH)
            try:
                return ask(place)
            finally:
                os.close(place)
        except (OSError, ValueError) as error:
            if is_gone(self.host.files, self.pid):
                raise ProcessLookupError from error
            raise UnreadError(unread(error, path)) from error


def flag_path(words: "Sequence[str]", *flags: str) -> str:
    """The absolute path that the last of these flags gives, without a slash at its end; "" for none.

    >>> flag_path(["containerd", "--address", "/run/x.sock"], "--address", "-a"), flag_path(["containerd", "-c=/y/"], "--config", "-c")
    ('/run/x.sock', '/y')
    >>> flag_path(("dockerd", "--data-root"), "--data-root")
    ''
    """
    found = ""
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in flags:
            found = value if equals else next(iter(words[number + 1 : number + 2]), "")
    return found.rstrip("/") if found.startswith("/") else ""


def is_gone(files: Files, pid: "int | str") -> bool:
    found = files.stat(f"/proc/{pid}/comm")
    return isinstance(found, Unread) and found.why == "absent"


def parse_arguments(data: bytes) -> "list[str]":
    r"""The first arguments of /proc/<pid>/cmdline (proc_pid_cmdline(5)), each cut.

    A program that sets its own title leaves blanks between its words and no null byte at the end, or a single one.

    >>> parse_arguments(b"containerd\0-c\0/a b.toml\0"), parse_arguments(b"nginx: master"), parse_arguments(b"")
    (['containerd', '-c', '/a b.toml'], ['nginx:', 'master'], [])
    """
    if not data:
        return []
    words = data.removesuffix(b"\0").split(b"\0", ARGUMENTS)
    if len(words) == 1:
        words = data.rstrip(b"\0 ").split(b" ", ARGUMENTS)
    return [word[:ARGUMENT_BYTES].decode("utf-8", "replace") for word in words[:ARGUMENTS]]
