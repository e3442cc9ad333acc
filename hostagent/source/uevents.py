"""What the kernel says when a device comes, goes or changes (udev(7), the kernel's own events: udev's are not heard in containers)."""

import os
import socket
from typing import Any

#: What a reader of ours looks at.
_SUBSYSTEMS = frozenset({"pci", "net", "infiniband"})
_MOST = 4096


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
