"""HTTP: one thread serves all connections and waits for none of them.

However many ask, and however slowly, there is one thread, few descriptors, and half of a processor at most. Askers take turns, and of too
many connections the oldest one of the user or address with the most is closed: so none of them keeps another from an answer.
"""

# A thread per connection was tried: it kept its bounds and lost its probes at 1,000 connections. A flood that keeps the kernel's
# queue of 1,024 full (26,000 connections a second) costs two of three probes their first second. Figures: tests/bench/RESULTS.md.

import contextlib
import os
import resource
import select
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

from hostagent.core.smallfile import refuse_others
from hostagent.http.answer import Page
from hostagent.http.asker import Askers
from hostagent.http.connection import Connection
from hostagent.kube.config import trusted_owners

#: Connections at once; with so many askers are not looked up.
_MOST, _FEW = 64, 16
#: Seconds that each has before it makes room for others; that one turn takes; between two looks at who is late; of rest in each turn.
_LEAST_S, _TURN_S, _LOOK_S, _REST_S = 0.016, 0.008, 1.0, 0.0005


class _Server:
    """One that is over is closed there and then, so that no more are open than are counted."""

    def __init__(self, line: socket.socket, page: Page, tls: "Callable[[], ssl.SSLContext | None]") -> None:
        self._line, self._page, self._tls = line, page, tls
        self._most = _slots(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self._open: dict[int, Connection] = {}  # by descriptor, the oldest first
        self._askers = Askers()
        self._poll = select.epoll()
        line.setblocking(False)
        self._poll.register(line, select.EPOLLIN)

    def forever(self) -> None:
        """After each turn it rests for as long as that took of the processor."""
        while True:
            ready = self._poll.poll(_LOOK_S)
            began_s = time.thread_time()
            with contextlib.suppress(Exception):  # no descriptor for another connection, or no memory: a later turn may have them
                self._turn([number for number, _ in ready], time.monotonic())
            time.sleep(max(time.thread_time() - began_s, _REST_S))

    def _turn(self, ready: list[int], now: float) -> None:
        """Close late connections, accept waiting ones, and serve those that are `ready`; those not reached are ready in the next turn."""
        ends_s = time.thread_time() + _TURN_S
        for number in [number for number, one in self._open.items() if one.is_late(now)]:
            self._close(number)
        accepted = self._accepted(now, ends_s) if self._line.fileno() in ready else []
        for number in _in_turns((number, self._open[number]) for number in dict.fromkeys((*ready, *accepted)) if number in self._open):
            self._go_on(number, now)
            if time.thread_time() > ends_s:
                break

    def _accepted(self, now: float, ends_s: float) -> list[int]:
        """Descriptors of accepted connections. Half of the turn is for existing ones."""
        taken = list[int]()
        with contextlib.suppress(OSError):  # the queue is empty, or there is no descriptor for another connection
            while time.thread_time() < ends_s - _TURN_S / 2:
                line, address = self._line.accept()
                asker = self._askers.of(line, address) if len(self._open) >= _FEW else ""
                if not self._has_room(asker, now):
                    line.close()
                    continue
                self._open[line.fileno()] = Connection(line, self._tls(), self._page, now, asker)
                self._poll.register(line, select.EPOLLIN)
                taken.append(line.fileno())
        return taken

    def _has_room(self, asker: object, now: float) -> bool:
        """Whether there is room for one more of `asker`, "" where that is not known. The oldest connection of the asker with the most is
        closed for it; for the same asker only after its least time, so that the kernel's queue, in which others wait, is emptied.
        """
        if len(self._open) < self._most:
            return True
        ((most, _),) = Counter(one.asker for one in self._open.values()).most_common(1)
        number, oldest = next((number, one) for number, one in self._open.items() if one.asker == most)
        if asker and asker == most and now - oldest.began < _LEAST_S:
            return False
        self._close(number)
        return True

    def _go_on(self, number: int, now: float) -> None:
        if wanted := self._open[number].go_on(now):
            self._poll.modify(number, wanted)
        else:
            self._close(number)

    def _close(self, number: int) -> None:
        self._open.pop(number).line.close()  # nothing else holds its descriptor: it is polled no more


def _in_turns(ready: "Iterable[tuple[int, Connection]]") -> Iterator[int]:
    """One of each asker, then the second of each, and so on."""
    by_asker: dict[object, list[int]] = {}
    for number, one in ready:
        by_asker.setdefault(one.asker, []).append(number)
    for row in zip_longest(*by_asker.values()):
        yield from (number for number in row if number is not None)


def _slots(descriptors: int) -> int:
    """Connections at once where a process may have so many descriptors, -1 for any number: most are left for writes to Kubernetes.

    >>> _slots(1024), _slots(64), _slots(3), _slots(-1)
    (64, 16, 1, 64)
    """
    return _MOST if descriptors < 0 else max(1, min(_MOST, descriptors // 4))


def listen(line: socket.socket, page: Page, certificates: "Certificates | None") -> None:
    """Serve on `line` from now on, in a thread; HTTPS where there are certificates."""
    server = _Server(line, page, certificates.context if certificates else lambda: None)
    threading.Thread(target=server.forever, daemon=True).start()


class Certificates:
    """The certificate and its key, as they are now: read again when one of them changes."""

    def __init__(self, cert: str, key: str) -> None:
        """Raises ``OSError`` where they cannot be used, or where other users may write them."""
        self._paths = (cert, key)
        self._guard = threading.Lock()
        self._marks: Any = None
        self._context = self._loaded()

    def context(self) -> ssl.SSLContext:
        """Where half of the pair is new, or one is away for a moment, the last that could be used."""
        with self._guard:
            with contextlib.suppress(OSError):
                if self._marks != self._file_marks():
                    self._context = self._loaded()
            return self._context

    def _file_marks(self) -> Any:
        return [(found.st_ino, found.st_mtime_ns, found.st_size) for found in map(os.stat, self._paths)]

    def _loaded(self) -> ssl.SSLContext:
        marks = self._file_marks()
        for path in self._paths:
            refuse_others(path, trusted_owners())
        fresh = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        fresh.minimum_version = ssl.TLSVersion.TLSv1_2
        fresh.load_cert_chain(*self._paths, password=b"")  # no prompt for one
        self._marks = marks
        return fresh
