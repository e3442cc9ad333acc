"""Uevents of the kernel: devices that appear, disappear or change (udev(7); those of udev itself do not reach containers).

A veth pair, created and deleted, sends 4 messages and 8 more per CPU for its queues, which take pyudev half a millisecond (measured on
two cores). Virtual interfaces are watched by rtnetlink (`read_link_events`), so a filter drops theirs, except those of the loopback
device: it is never created or deleted, and writing "change" to its uevent file triggers a pass.
"""

import contextlib
import ctypes
import os
import socket
import struct
from typing import Any

#: Subsystems that readers use.
_SUBSYSTEMS = frozenset({"pci", "net", "infiniband"})
#: Events per `look`; the rest stays in the socket.
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
    """Receives events from its start on. Without libudev, or permission to listen, `problem` has the reason and there are none."""

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
        except Exception as error:  # any exception of pyudev, libudev or ctypes
            self._end(error)

    def look(self) -> bool:
        """Whether a new event is of a subsystem that is read; True if events were lost because there were too many."""
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
        """Clear the kernel's pending ENOBUFS (netlink(7)), which pyudev raises without clearing; whether it was set."""
        with socket.socket(fileno=os.dup(self.descriptor)) as line:
            return line.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0

    def _end(self, error: Exception) -> None:
        self._monitor, self.descriptor = None, -1
        self.problem = f"devices that come and go are not heard of: {type(error).__name__}: {error}"


def _attach(descriptor: int, program: bytes) -> None:
    """Attach the filter; a kernel without socket filters passes every message, which only costs time."""
    kept = ctypes.create_string_buffer(program, len(program))
    fprog = struct.pack("@HP", len(program) // _INSTRUCTION.size, ctypes.addressof(kept))  # struct sock_fprog
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as opened:
        opened.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, fprog)


def dropping(prefix: bytes, kept: bytes) -> bytes:
    """A classic BPF program (socket(7), SO_ATTACH_FILTER) that drops uevents with a device path below `prefix`, after any action,
    unless `kept` follows.

    A load beyond the end of a message drops it: kernel messages are longer, as they repeat action and path.
    """
    parts = [prefix[at : at + 4] for at in range(0, len(prefix) - 3, 4)]
    parts += [prefix[at : at + 1] for at in range(len(parts) * 4, len(prefix))]
    blocks = [_block(length, [b"@", *parts], [kept[at : at + 1] for at in range(len(kept))]) for length in _ACTIONS]
    return b"".join([*blocks, _INSTRUCTION.pack(_RETURN, 0, 0, _WHOLE)])


def _block(at: int, parts: "list[bytes]", kept: "list[bytes]") -> bytes:
    """Compares the bytes at `at` with `parts`: a difference jumps behind this block. Then with `kept`: a difference jumps to the last
    instruction, which drops.
    """
    behind = 2 * (len(parts) + len(kept)) + 2
    program: list[bytes] = []
    for number, part in enumerate((*parts, *kept)):
        other = behind if number < len(parts) else behind - 1
        program.append(_INSTRUCTION.pack(_LOAD[len(part)], 0, 0, at))
        program.append(_INSTRUCTION.pack(_JUMP_EQUAL, 0, other - len(program) - 1, int.from_bytes(part, "big")))
        at += len(part)
    return b"".join([*program, _INSTRUCTION.pack(_RETURN, 0, 0, _WHOLE), _INSTRUCTION.pack(_RETURN, 0, 0, 0)])
