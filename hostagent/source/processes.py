"""Processes of the daemons that matter here, by psutil; and listening sockets."""

from typing import Any

from hostagent.facts.unread import Unread
from hostagent.knowledge import daemons
from hostagent.source.base import MIB, Answer
from hostagent.source.files import Files
from hostagent.source.paths import Root
from hostagent.source.secret import without_secret_arguments

#: Names as /proc/<pid>/comm cuts them: 15 characters.
NAMES = frozenset(name[:15] for name in daemons.processes())
_SOCKETS_BYTES = 16 * MIB
_COMM_BYTES = 64


def processes(root: Root) -> Answer:
    """pid, name, argv and started_at (seconds since the epoch) of each daemon of `NAMES`, by pid."""
    psutil = _psutil(root)
    rows: list[dict[str, Any]] = []
    candidates = _candidates(root)
    if isinstance(candidates, Unread):
        return candidates
    for pid in candidates:
        try:
            process = psutil.Process(pid)
            argv = without_secret_arguments(process.cmdline())
            rows.append({"pid": pid, "name": process.name(), "argv": argv, "started_at": process.create_time()})
        except (psutil.Error, OSError, ValueError, IndexError, KeyError):
            continue  # it ended while we looked
    return rows


def sockets(root: Root) -> Answer:
    """Paths of listening unix sockets, of the network namespace of process 1.

    psutil reads /proc/net/unix, which below a host root is this process's own namespace, and drops the listening flag.
    """
    files = Files(root)
    text: Answer = Unread("absent", "/proc/net/unix")
    for path in ("/proc/1/net/unix", "/proc/net/unix"):
        text = files.read(path, str(_SOCKETS_BYTES))
        if not isinstance(text, Unread):
            return [{"path": name} for name in parse_listening(text.decode("utf-8", "replace"))]
        if text.why != "absent":
            break
    return text


def parse_listening(text: str) -> "list[str]":
    """Paths of /proc/net/unix whose socket accepts connections: __SO_ACCEPTCON in the flags (proc_net(5)).

    >>> parse_listening(f"Num RefCount Protocol Flags Type St Inode Path{chr(10)}0: 00000002 00000000 00010000 0001 01 12 /run/a.sock")
    ['/run/a.sock']
    """
    rows = (line.split(None, 7) for line in text.splitlines()[1:])
    return sorted({row[7] for row in rows if len(row) == 8 and row[3] == "00010000"})


def _psutil(root: Root) -> Any:
    import psutil

    psutil.PROCFS_PATH = root.locate("/proc")
    return psutil


def _candidates(root: Root) -> "list[int] | Unread":
    """Process ids by name alone: asking psutil about each of some thousand kernel threads would take a second."""
    files = Files(root)
    entries = files.list("/proc")
    if isinstance(entries, Unread):
        return entries
    comms = {entry: files.read(f"/proc/{entry}/comm", str(_COMM_BYTES)) for entry in entries if entry.isdigit()}
    pids = [int(entry) for entry, comm in comms.items() if isinstance(comm, bytes) and comm.decode("utf-8", "replace").strip() in NAMES]
    return sorted(pid for pid in pids if _is_process(root, files, pid))


def _is_process(root: Root, files: Files, pid: int) -> bool:
    """Each of these psutil opens by itself: below a host root they may be anything, or lead out of it."""
    if root.locate(f"/proc/{pid}") != f"{root.locate('/proc')}/{pid}":
        return False
    found = (files.stat(path) for path in ("/proc/stat", f"/proc/{pid}/stat", f"/proc/{pid}/cmdline"))
    return all(not isinstance(one, Unread) and one["kind"] == "file" for one in found)
