"""Processes that listen on the TCP ports of jobs, by /proc: sock_diag(7) would load a kernel module."""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator

from hostagent.core.unread import Unread
from hostagent.host.files import Files, unread
from hostagent.host.paths import Root

#: TCP_LISTEN (include/net/tcp_states.h). Sockets that listen come first in the kernel's table, and nothing is read beyond them.
_LISTEN = "0A"
_PIECE = 16384
_MOST_BYTES = 4 * 1024 * 1024
#: Seconds to look for the process: it has thousands of neighbours with many open files each.
_LOOK_S = 0.3
_COMM_BYTES = "64"


def listeners(root: Root, files: Files, net: str, ports: Iterable[int]) -> "list[list[object]] | Unread":
    """``[port, name of the process]`` of those of `ports` that are taken, "" where the process cannot be seen.

    `net`: the namespace's directory in /proc.
    """
    wanted = frozenset(ports)
    taken: dict[str, int] = {}
    for name in ("tcp", "tcp6"):
        path = f"{net}/{name}"
        text = _first_rows(files, path)
        if isinstance(text, Unread):
            if text.why == "absent" and name == "tcp6":  # a kernel without IPv6
                continue
            return text
        taken |= {inode: port for port, inode in parse_listening(text) if port in wanted}
    holders = dict(_holders(root, files, frozenset(taken))) if taken else {}
    return [[port, name] for port, name in sorted({(port, holders.get(inode, "")) for inode, port in taken.items()})]


def _first_rows(files: Files, path: str) -> "str | Unread":
    opened = files.descriptor(path)
    if isinstance(opened, Unread):
        return opened
    try:
        data = b""
        while len(data) < _MOST_BYTES and (piece := os.read(opened, _PIECE)):
            data += piece
            rows = piece.splitlines()[1:-1]
            if rows and not any(_is_listening(row) for row in rows[-1:]):
                break
        return data.decode("ascii", "replace")
    except OSError as error:
        return unread(error, path)
    finally:
        os.close(opened)


def _is_listening(row: bytes) -> bool:
    fields = row.split()
    return len(fields) > 3 and fields[3] == _LISTEN.encode()


def parse_listening(text: str) -> "list[tuple[int, str]]":
    r"""Port and inode of each socket of /proc/net/tcp or tcp6 that listens.

    >>> row = "   0: 00000000:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0 100 0 0 10 0"
    >>> parse_listening(f"  sl  local_address rem_address   st\n{row}\n")
    [(29500, '31337')]
    """
    rows = (line.split() for line in text.splitlines()[1:])
    listening = (row for row in rows if len(row) > 9 and row[3] == _LISTEN)
    return [(int(port, 16), row[9]) for row in listening if _is_hexadecimal(port := row[1].rpartition(":")[2])]


def _is_hexadecimal(text: str) -> bool:
    return 0 < len(text) <= 4 and all(digit in "0123456789ABCDEFabcdef" for digit in text)


def _holders(root: Root, files: Files, inodes: "frozenset[str]") -> "Iterator[tuple[str, str]]":
    """Inode of a socket and name of a process that has it open, as far as this user may look and the time lasts."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    ends = time.monotonic() + _LOOK_S
    listed = files.list("/proc")
    for pid in [] if isinstance(listed, Unread) else filter(str.isdecimal, listed):
        if not wanted or time.monotonic() > ends:
            return
        for link in _open_files(root, f"/proc/{pid}/fd"):
            if link in wanted:
                comm = files.read(f"/proc/{pid}/comm", _COMM_BYTES)
                yield wanted.pop(link), comm.decode("utf-8", "replace").strip() if isinstance(comm, bytes) else ""


def _open_files(root: Root, directory: str) -> Iterator[str]:
    with contextlib.suppress(OSError):
        opened = root.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in os.listdir(opened):
                with contextlib.suppress(OSError):
                    yield os.readlink(name, dir_fd=opened)
        finally:
            os.close(opened)
