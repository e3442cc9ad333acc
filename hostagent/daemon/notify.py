"""Notifies systemd (sd_notify(3)), where ``NOTIFY_SOCKET`` is set."""

import contextlib
import os
import socket

from hostagent.core.escape import visible

#: Characters of a status: systemctl shows it on one line.
_LONGEST = 200


class Notify:
    """``READY``, ``STATUS`` and ``WATCHDOG``, to the socket that the environment names."""

    def __init__(self, address: str) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._is_ready = False

    @classmethod
    def of_environment(cls) -> "Notify":
        """Remove the variable from the environment, so that no child notifies in our place."""
        return cls(os.environ.pop("NOTIFY_SOCKET", ""))

    def ready(self, status: str) -> None:
        """After each pass; the first one sends ``READY``."""
        words = [] if self._is_ready else ["READY=1"]
        self._is_ready = True
        self._send(*words, _status(status), "WATCHDOG=1")

    def waiting(self, why: str) -> None:
        """Before the start is done: what it waits for."""
        self._send(_status(why))

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, *words: str) -> None:
        if self._address:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as line:
                line.sendto("\n".join(words).encode(), self._address)


def _status(text: str) -> str:
    """On one line: text of the host must not add a variable of its own."""
    return f"STATUS={visible(text)[:_LONGEST]}"
