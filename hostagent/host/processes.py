"""Processes of relevant daemons, without untrusted ones of the same name.

Of an untrusted process only cgroup and ids are read: its user controls the length of its command line, and its root and program may be on
a file system that hangs.
"""

import contextlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from hostagent.core.answers import Answer
from hostagent.core.tables import daemons
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.host.attributes import Attributes
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.host.process import Host, Process, is_gone
from hostagent.host.process_trust import trusted_service

#: Characters that the kernel keeps of a name: TASK_COMM_LEN less the null byte at its end (proc_pid_comm(5)).
_COMM_CHARACTERS = 15
#: Whole names, by names as /proc/<pid>/comm cuts them.
NAMES = {name[:_COMM_CHARACTERS]: name for name in daemons.processes()}
#: Daemons that look up programs of handlers, each in its own search path.
_RUNTIMES = frozenset(daemons.processes("runtime"))
_services_of = cache(daemons.services_of)
_COMM_BYTES = 64
#: Processes per name: jobs may run any number in the cgroup of slurmd.
_MOST = 16


class DaemonRow(NamedTuple):
    """A daemon; `unit` is None if it may be untrusted."""

    pid: int
    name: str
    argv: list[str]
    started_at: float
    unit: "str | None"
    is_root: bool
    environment: "dict[str, str]"

    def answer(self) -> "dict[str, Any]":
        row = {"pid": self.pid, "name": self.name, "argv": self.argv, "started_at": self.started_at, "unit": self.unit}
        return {**row, **self.environment}


def processes(root: Root) -> Answer:
    """pid, name, argv, started_at (seconds since the epoch) and unit of each daemon of `NAMES`, by pid.

    ``unit`` is the service that runs it, "" without a service (the driver container's, those of a host without systemd), and None if
    unknown: it may be untrusted. A container runtime of root also has ``path``, its search path, and ``address``, the socket on its
    command line, where there are any. argv, of the others, is at most 64 arguments, each cut after 4 KiB, of the first 256 KiB of a command
    line. Per name the 16 oldest; only those of root, if there are any.
    """
    host = Host(root)
    try:
        need(host.first)
        called = [Process(host, pid, name) for pid, name in _candidates(root, host.files) if not _is_impostor(Process(host, pid, name))]
        rows = [row for one in called for row in _rows_of(one) if _name(host.files, one.pid) == one.name]
    except UnreadError as error:
        return error.unread
    finally:
        host.close()
    return [row.answer() for row in sorted(_select(rows), key=lambda row: row.pid)]


def _candidates(root: Root, files: Files) -> "Iterator[tuple[int, str]]":
    """Process ids and whole names, by name only: of some thousand kernel threads no more is read."""
    entries = [entry for entry in need(files.list("/proc")) if entry.isascii() and entry.isdigit()]
    with contextlib.ExitStack() as held:
        table = None if root.simulated else held.enter_context(Attributes(root, "/proc"))
        for entry in entries:
            name = _name_in(table, files, entry) if table else _name(files, entry)
            if name:
                yield int(entry), name


def _name_in(table: Attributes, files: Files, pid: str) -> str:
    """`_name` in a real procfs: comm is always a regular file, so that it is opened without a check."""
    try:
        return NAMES.get(table.text(f"{pid}/comm"), "")
    except OSError:
        return _name(files, pid)


def _name(files: Files, pid: "int | str") -> str:
    """Its name in `NAMES`; "" for any other process, and for one that has ended. Read again at the end: another process may have got its
    id meanwhile.
    """
    comm = files.read(f"/proc/{pid}/comm", str(_COMM_BYTES))
    if isinstance(comm, bytes):
        return NAMES.get(comm.decode("utf-8", "replace").removesuffix("\n"), "")
    if is_gone(files, pid):
        return ""
    raise UnreadError(comm)


def _is_impostor(process: Process) -> bool:
    """Whether it is certainly not the daemon of its name: a user may start thousands, and no more of them is read."""
    try:
        return trusted_service(process, _services_of(process.name), has_systemd=process.host.first == "systemd") is None
    except ProcessLookupError:
        return True


def _rows_of(process: Process) -> "Iterator[DaemonRow]":
    """The row of one process; none if it is untrusted, or ended before or while it was read."""
    try:
        started_at = process.started_at
        unit = trusted_service(process, _services_of(process.name), has_systemd=process.host.first == "systemd")
        if unit is None:
            return
        argv = [] if isinstance(unit, Unread) else process.argv
        is_root = not isinstance(unit, Unread) and process.users[:2] == (0, 0)
        environment = process.environment(argv) if is_root and process.name in _RUNTIMES else {}
        if Process(process.host, process.pid, process.name).started_at != started_at:  # its id was reused
            return
    except ProcessLookupError:
        return
    yield DaemonRow(process.pid, process.name, argv, started_at, None if isinstance(unit, Unread) else unit, is_root, environment)


def _select(rows: "Iterable[DaemonRow]") -> "Iterator[DaemonRow]":
    """The oldest of each name, those of root before others."""
    by_name: dict[tuple[str, bool], list[DaemonRow]] = {}
    for row in rows:
        by_name.setdefault((row.name, row.unit is None), []).append(row)
    for group in by_name.values():
        roots = [row for row in group if row.is_root] or group
        yield from sorted(roots, key=lambda row: (row.started_at, row.pid))[:_MOST]
