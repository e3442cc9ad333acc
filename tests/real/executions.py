"""Which programs a process and all that comes of it execute, by the kernel's proc connector (linux/cn_proc.h): nothing is traced, nothing
slowed down. It needs root, and this machine's own process ids and network namespace.
"""

import contextlib
import os
import select
import socket
import struct
import threading

_NETLINK_CONNECTOR, _CN_IDX_PROC, _CN_VAL_PROC, _LISTEN = 11, 1, 1, 1
_FORK, _EXEC, _EXIT = 1, 2, 0x80000000
_HEADERS = 16 + 20  # nlmsghdr, cn_msg
_EVENT = struct.Struct("=IIQIIII")  # what, processor, time; of a fork the parent's and the child's ids, of an exec the process' own
_BUFFER = 64 * 1024 * 1024


class Executions:
    """From its start on; `programs` are the command lines, as far as they could still be read."""

    def __init__(self, pid: int) -> None:
        """`pid`: the first of those that are watched. Raises ``OSError`` where the kernel does not tell."""
        self._line = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_CONNECTOR)
        self._line.setsockopt(socket.SOL_SOCKET, 33, _BUFFER)  # SO_RCVBUFFORCE
        self._line.bind((0, _CN_IDX_PROC))
        self._watched, self.programs, self.forks = {pid, *_below(pid)}, [], 0
        self.problem = ""
        self._ended, self._end = os.pipe()
        body = struct.pack("=IIIIHHI", _CN_IDX_PROC, _CN_VAL_PROC, 0, 0, 4, 0, _LISTEN)
        self._line.send(struct.pack("=IHHII", 16 + len(body), 3, 0, 0, os.getpid()) + body)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Executions":  # noqa: PYI034  Python 3.10 has no Self
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._end)
        self._thread.join(5)
        self._line.close()

    def _listen(self) -> None:
        while True:
            ready, _, _ = select.select([self._line, self._ended], [], [])
            if self._ended in ready:
                return
            try:
                self._hear(self._line.recv(65536))
            except OSError as error:  # more came than was taken
                self.problem = str(error)
                return

    def _hear(self, data: bytes) -> None:
        what, _, _, first, first_group, _, child_group = _EVENT.unpack_from(data.ljust(_HEADERS + _EVENT.size, b"\0"), _HEADERS)
        if what == _FORK and first_group in self._watched:
            self._watched.add(child_group)
            self.forks += 1
        elif what == _EXEC and first_group in self._watched:
            self.programs.append(_command(first))
        elif what == _EXIT and first == first_group:  # its number will be another's
            self._watched.discard(first)


def _below(pid: int) -> set[int]:
    found: set[int] = set()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children") as stream:
        for child in map(int, stream.read().split()):
            found |= {child, *_below(child)}
    return found


def _command(pid: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as stream:
        return stream.read().replace(b"\0", b" ").decode(errors="replace").strip()
    return f"process {pid}, which has gone"
