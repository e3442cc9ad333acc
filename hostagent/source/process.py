"""One process and its host, as the kernel shows them: what decides whether the process is what it is called."""

import os
import stat
from collections.abc import Callable
from functools import cached_property
from typing import Literal, TypeVar

from hostagent.facts.unread import Unread, UnreadError, need
from hostagent.knowledge import daemons
from hostagent.source.base import KIB, MIB, Answer
from hostagent.source.believed import parse_status, service_of
from hostagent.source.files import Files, unread
from hostagent.source.hidden import first_process
from hostagent.source.lanes.nvmlgate import DRIVER_ROOT
from hostagent.source.paths import Root
from hostagent.source.trusted import only_roots

_IN_DRIVER_CONTAINER = frozenset(daemons.processes("nvidia"))
_STAT_BYTES = 16 * MIB
_ARGUMENTS = 64
_ARGUMENT_BYTES = 4 * KIB

T = TypeVar("T")


class Host:
    """What all processes are held against."""

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
        """In a user namespace without the real root, its processes look like nobody's."""
        users, _ = parse_status(need(self.files.read("/proc/1/status")).decode("utf-8", "replace"))
        return bool(users) and not any(users)

    @cached_property
    def boot_time(self) -> float:
        return _parsed(parse_boot_time, need(self.files.read("/proc/stat", str(_STAT_BYTES))), "/proc/stat")

    @cached_property
    def own_root(self) -> "tuple[int, int] | None":
        return self._directory("/")

    @cached_property
    def driver_root(self) -> "tuple[int, int] | None":
        """Device and inode of the driver container's root; None where there is none."""
        return self._directory(DRIVER_ROOT)

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
    """The `Evidence` of one process. Raises ``UnreadError`` for what cannot be seen, ``ProcessLookupError`` when it has ended."""

    def __init__(self, host: Host, pid: int, name: str) -> None:
        self.host = host
        self.pid = pid
        self.name = name

    @cached_property
    def state(self) -> "tuple[str, int]":
        return _parsed(parse_stat, self._read("stat"), f"/proc/{self.pid}/stat")

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
        found = self._linked("root")
        place = (found.st_dev, found.st_ino)
        return "driver" if place == self.host.driver_root else "host" if place == self.host.own_root else ""

    @property
    def has_own_program(self) -> bool:
        """A setuid program keeps its own name, whatever its user called the link that he started it by."""
        path = self._look(lambda place: os.readlink("exe", dir_fd=place)).removesuffix(" (deleted)")
        folder, _, program = path.rpartition("/")
        found = self._linked("exe")
        is_fixed = found.st_uid == 0 and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return is_fixed and program != "" and self.name.startswith(program) and self._look(lambda _: only_roots(self.host.root, folder))

    @property
    def argv(self) -> "list[str]":
        return parse_arguments(self._read("cmdline", _ARGUMENTS * _ARGUMENT_BYTES))

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

    def _linked(self, name: str) -> os.stat_result:
        """What a link of the process leads to. The kernel's own has no length, and no path of ours; that of a made tree stays in it."""
        if self._look(lambda place: os.stat(name, dir_fd=place, follow_symlinks=False)).st_size == 0:
            return self._look(lambda place: os.stat(name, dir_fd=place))
        return self._look(os.fstat, f"/{name}")

    def _look(self, ask: "Callable[[int], T]", name: str = "") -> T:
        """`ask` of a descriptor of its directory, or of what is called `name` in it."""
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


def _parsed(parse: "Callable[[bytes], T]", data: Answer, path: str) -> T:
    try:
        return parse(data)
    except ValueError as error:
        raise UnreadError(Unread("error", f"{path}: {error}")) from error


def is_gone(files: Files, pid: "int | str") -> bool:
    found = files.stat(f"/proc/{pid}/comm")
    return isinstance(found, Unread) and found.why == "absent"


def parse_arguments(data: bytes) -> "list[str]":
    r"""The first arguments of /proc/<pid>/cmdline (proc_pid_cmdline(5)), each cut.

    A program that writes its own title leaves blanks between its words and no null byte at the end, or one alone.

    >>> parse_arguments(b"containerd\0-c\0/a b.toml\0"), parse_arguments(b"nginx: master"), parse_arguments(b"")
    (['containerd', '-c', '/a b.toml'], ['nginx:', 'master'], [])
    """
    if not data:
        return []
    words = data.removesuffix(b"\0").split(b"\0", _ARGUMENTS)
    if len(words) == 1:
        words = data.rstrip(b"\0 ").split(b" ", _ARGUMENTS)
    return [word[:_ARGUMENT_BYTES].decode("utf-8", "replace") for word in words[:_ARGUMENTS]]


def parse_stat(data: bytes) -> "tuple[str, int]":
    """The state, and the start in clock ticks since the boot, of /proc/<pid>/stat (proc_pid_stat(5)). Raises ``ValueError``.

    >>> parse_stat(b"7 (a) b) S 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 2000 0 0")
    ('S', 2000)
    """
    fields = data.rpartition(b")")[2].split()  # from the third on: the name before may hold anything
    if len(fields) < 20:
        raise ValueError("wanted 22 fields")
    return fields[0].decode("ascii", "replace"), int(fields[19])


def parse_boot_time(data: bytes) -> float:
    r"""Seconds since the epoch at which the kernel started, of /proc/stat (proc_stat(5)). Raises ``ValueError``.

    >>> parse_boot_time(b"cpu  1 0\nbtime 1700000000\n")
    1700000000.0
    """
    found = [line.split()[1] for line in data.splitlines() if line.startswith(b"btime ")]
    if not found:
        raise ValueError("no line btime")
    return float(found[0])
