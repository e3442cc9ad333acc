"""Processes of the daemons that matter here, by psutil; and listening sockets."""

from typing import Any

from hostagent.facts.unread import Unread
from hostagent.knowledge import daemons
from hostagent.source.base import KIB, MIB, Answer
from hostagent.source.files import Files
from hostagent.source.paths import Root

#: What the kernel keeps of a name: TASK_COMM_LEN less the null byte at its end (proc_pid_comm(5)).
_COMM_CHARACTERS = 15
#: Names as /proc/<pid>/comm cuts them.
NAMES = frozenset(name[:_COMM_CHARACTERS] for name in daemons.processes())
_SOCKETS_BYTES = 16 * MIB
_COMM_BYTES = 64
#: Any user may start a process that is called containerd, with megabytes of arguments.
_ARGUMENTS = 64
_ARGUMENT_BYTES = 4 * KIB


def processes(root: Root) -> Answer:
    """pid, name, argv and started_at (seconds since the epoch) of each daemon of `NAMES`, by pid.

    At most 64 arguments, each cut after 4 KiB, of the first 256 KiB of a command line.
    """
    psutil = _psutil(root)
    files = Files(root)
    rows: list[dict[str, Any]] = []
    candidates = _candidates(root, files)
    if isinstance(candidates, Unread):
        return candidates
    for pid, comm in candidates.items():
        try:
            process = psutil.Process(pid)
            argv = _arguments(files, pid)
            if not argv and process.status() == psutil.STATUS_ZOMBIE:
                continue
            rows.append({"pid": pid, "name": _whole_name(comm, argv), "argv": argv, "started_at": process.create_time()})
        except (psutil.Error, OSError, ValueError, IndexError, KeyError):
            continue  # it ended while we looked
    return rows


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


def _arguments(files: Files, pid: int) -> "list[str]":
    """Not by psutil, whose `cmdline` and `name` read all of it. Raises ``OSError`` where it cannot be read: the process ended."""
    data = files.head(f"/proc/{pid}/cmdline", _ARGUMENTS * _ARGUMENT_BYTES)
    if isinstance(data, Unread):
        raise ProcessLookupError(data.detail)
    return parse_arguments(data)


def _whole_name(comm: str, argv: "list[str]") -> str:
    """The kernel cuts a name after 15 characters: the program's own goes on from there."""
    program = argv[0].rpartition("/")[2] if argv else ""
    return program if len(comm) == _COMM_CHARACTERS and program.startswith(comm) else comm


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

    psutil.PROCFS_PATH = root.name("/proc")
    return psutil


def _candidates(root: Root, files: Files) -> "dict[int, str] | Unread":
    """Process ids and their names, by name alone: asking psutil about each of some thousand kernel threads would take a second."""
    entries = files.list("/proc")
    if isinstance(entries, Unread):
        return entries
    read = {int(entry): files.read(f"/proc/{entry}/comm", str(_COMM_BYTES)) for entry in entries if entry.isdigit()}
    comms = {pid: comm.decode("utf-8", "replace").strip() for pid, comm in read.items() if isinstance(comm, bytes)}
    return {pid: comm for pid, comm in sorted(comms.items()) if comm in NAMES and _is_process(root, files, pid)}


def _is_process(root: Root, files: Files, pid: int) -> bool:
    """Each of these psutil opens by itself: below a host root they may be anything, or lead out of it."""
    try:
        if root.realpath(f"/proc/{pid}") != f"{root.realpath('/proc')}/{pid}":
            return False
    except OSError:  # it ended while we looked
        return False
    found = (files.stat(path) for path in ("/proc/stat", f"/proc/{pid}/stat"))
    return all(not isinstance(one, Unread) and one["kind"] == "file" for one in found)
