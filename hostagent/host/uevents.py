"""Uevents of the kernel: devices that appear, disappear or change (udev(7); those of udev itself do not reach containers).

Each pair of veth, made and deleted, sends 4 messages and 8 more for each CPU, of its queues, which take pyudev half a millisecond
(measured on two cores). Interfaces of software are watched by rtnetlink (`read_link_events`), so the kernel drops theirs, but for
the loopback device's: it is never made or deleted, and writing "change" to its uevent file triggers a pass.
"""

import contextlib
import ctypes
import os
import socket
import struct
from typing import Any

#: What a reader of ours looks at.
_SUBSYSTEMS = frozenset({"pci", "net", "infiniband"})
#: Of one look; the rest stays in the socket.
_MOST = 4096
_SO_ATTACH_FILTER = 26
_VIRTUAL = b"/devices/virtual/net/"
#: Lengths of the actions before "@": add, move and bind, remove, change, online and unbind, offline (lib/kobject_uevent.c).
_ACTIONS = (3, 4, 6, 7)
_INSTRUCTION = struct.Struct("=HBBI")  # struct sock_filter
_LOAD = {1: 0x30, 4: 0x20}  # BPF_LD | BPF_ABS of so many bytes
_KEPT = b"lo\0"
_JUMP_EQUAL, _RETURN = 0x15, 0x06
_WHOLE = 0xFFFFFFFF


class Uevents:
    """From its start on. Where there is no libudev, or no right to listen, `problem` says so, and nothing is heard."""

    def __init__(self) -> None:
        self.descriptor = -1
        self.problem = ""
        self._monitor: Any = None
        try:
            import pyudev

            self._monitor = pyudev.Monitor.from_netlink(pyudev.Context(), source="kernel")
            self._monitor.start()
            self.descriptor = self._monitor.fileno()
            _attach(self.descriptor, dropping(_VIRTUAL, _KEPT))
        except Exception as error:  # pyudev raises what libudev and ctypes make of it
            self._end(error)

    def look(self) -> bool:
        """Whether one of them is of a kind that is read. Of what was lost because too many came at once, any may be."""
        found = False
        for _ in range(_MOST):
            try:
                device = self._monitor.poll(timeout=0) if self._monitor else None
            except OSError as error:
                if not self._is_overrun():
                    self._end(error)
                found = True
                continue
            if device is None:
                break
            found = found or device.subsystem in _SUBSYSTEMS
        return found

    def _is_overrun(self) -> bool:
        """The kernel says once that it dropped some (ENOBUFS, netlink(7)), until it was asked; pyudev raises and does not ask."""
        with socket.socket(fileno=os.dup(self.descriptor)) as line:
            return line.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0

    def _end(self, error: Exception) -> None:
        self._monitor, self.descriptor = None, -1
        self.problem = f"devices that come and go are not heard of: {type(error).__name__}: {error}"


def _attach(descriptor: int, program: bytes) -> None:
    """A kernel without socket filters passes every message: that costs time alone."""
    kept = ctypes.create_string_buffer(program, len(program))
    fprog = struct.pack("@HP", len(program) // _INSTRUCTION.size, ctypes.addressof(kept))  # struct sock_fprog
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as opened:
        opened.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, fprog)


def dropping(prefix: bytes, kept: bytes) -> bytes:
    """A classic BPF program (socket(7), SO_ATTACH_FILTER) that drops a uevent whose device path begins with `prefix`, after any action,
    unless `kept` follows.

    A load behind the end of a message drops it: messages of the kernel are longer, they repeat action and path.
    """
    parts = [prefix[at : at + 4] for at in range(0, len(prefix) - 3, 4)]
    parts += [prefix[at : at + 1] for at in range(len(parts) * 4, len(prefix))]
    blocks = [_block(length, [b"@", *parts], [kept[at : at + 1] for at in range(len(kept))]) for length in _ACTIONS]
    return b"".join([*blocks, _INSTRUCTION.pack(_RETURN, 0, 0, _WHOLE)])


def _block(at: int, parts: "list[bytes]", kept: "list[bytes]") -> bytes:
    """Compares what is at `at` with `parts`: the first that differs leads behind this block. Then with `kept`: the first that differs leads
    to the last instruction, which drops.
    """
    behind = 2 * (len(parts) + len(kept)) + 2
    program: list[bytes] = []
    for number, part in enumerate((*parts, *kept)):
        other = behind if number < len(parts) else behind - 1
        program.append(_INSTRUCTION.pack(_LOAD[len(part)], 0, 0, at))
        program.append(_INSTRUCTION.pack(_JUMP_EQUAL, 0, other - len(program) - 1, int.from_bytes(part, "big")))
        at += len(part)
    return b"".join([*program, _INSTRUCTION.pack(_RETURN, 0, 0, _WHOLE), _INSTRUCTION.pack(_RETURN, 0, 0, 0)])
