"""The loop's side of the publisher process: sends the newest message, and restarts the process when it dies.

Over the socket go four bytes of length and a pickle, from the loop to the publisher alone; no other process has the socket.
"""

import contextlib
import gc
import os
import pickle
import signal
import socket
from collections.abc import Callable
from typing import Any

from hostagent.sandbox.child import refuse_threads, settle

#: Seconds before the first restart, and at most.
_FIRST_S, _LONGEST_S = 1.0, 60.0
#: Seconds between two ticks of the loop: /livez takes it for dead after half a minute.
_TICK_S = 5.0
#: After a publisher that lived so long the pause before a restart begins anew.
_LIVED_S = 120.0


class PublisherProcess:
    """Never blocks: a publisher that does not read misses older messages."""

    def __init__(self, serve: Callable[[socket.socket], None], keep: tuple[int, ...] = ()) -> None:
        """`serve` is what the process does until the socket closes; `keep`: descriptors that it needs."""
        self._serve = serve
        self._keep = keep
        self._line: socket.socket | None = None
        self.pid = 0
        self._newest: bytes = b""
        self._is_waiting = False  # the newest has not begun to go out
        self._rest = memoryview(b"")  # of what is going out now
        self._pause_s, self._again_at, self._began = _FIRST_S, 0.0, 0.0
        self._ticked_at = -_TICK_S

    def publish(self, what: Any, now: float) -> None:
        """Send this message, in place of one that the publisher has not received yet. `now`: monotonic seconds."""
        data = pickle.dumps(what, protocol=5)
        self._newest, self._is_waiting = len(data).to_bytes(4, "little") + data, True
        self.look(now)

    def tick(self, now: float) -> None:
        """Send every `_TICK_S` that the loop is alive, where nothing else is being sent."""
        self.look(now)
        if self._line and not self._rest and not self._is_waiting and now - self._ticked_at >= _TICK_S:
            self._ticked_at = now
            data = pickle.dumps(("tick",), protocol=5)
            self._rest = memoryview(len(data).to_bytes(4, "little") + data)
            self._flush()

    def look(self, now: float) -> None:
        """Restart the process where it has died, and send what the socket takes."""
        if self.pid and self._is_gone():
            self._lost(now)
        if not self.pid and now >= self._again_at:
            self._start(now)
        self._flush()

    def close(self, within_s: float = 0.0) -> None:
        """Close its socket, which ends it; kill it where it does not end within that time."""
        if self._line:
            self._line.close()
            self._line = None
        if self.pid:
            _wait(self.pid, within_s)
            self.pid = 0

    def drain(self) -> None:
        """Wait until the publisher has received everything, or is gone."""
        if self._line:
            self._line.setblocking(True)
            self._flush()

    def _start(self, now: float) -> None:
        refuse_threads()
        gc.freeze()  # shared memory stays shared: garbage collection would write to each object
        try:
            ours, theirs = socket.socketpair()
            parent = os.getpid()
            pid = os.fork()
        except OSError:
            self._again_at = now + self._pause_s
            return
        if pid == 0:
            try:
                ours.close()
                settle(parent, (theirs.fileno(), *self._keep))
                self._serve(theirs)
            finally:
                os._exit(0)
        theirs.close()
        ours.setblocking(False)
        self._line, self.pid, self._began, self._rest = ours, pid, now, memoryview(b"")
        self._is_waiting = bool(self._newest)

    def _lost(self, now: float) -> None:
        self._pause_s = _FIRST_S if now - self._began > _LIVED_S else min(2 * self._pause_s, _LONGEST_S)
        self._again_at = now + self._pause_s
        if self._line:
            self._line.close()
        self._line, self.pid = None, 0

    def _is_gone(self) -> bool:
        with contextlib.suppress(ChildProcessError):
            return os.waitpid(self.pid, os.WNOHANG)[0] != 0
        return True

    def _flush(self) -> None:
        while self._line and (self._rest or self._is_waiting):
            if not self._rest:
                self._rest, self._is_waiting = memoryview(self._newest), False
            try:
                self._rest = self._rest[self._line.send(self._rest) :]
            except BlockingIOError:
                return
            except OSError:  # it died: the next `look` handles that
                self._rest = memoryview(b"")
                return


def _wait(pid: int, within_s: float) -> None:
    import time

    ends = time.monotonic() + within_s
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        while os.waitpid(pid, os.WNOHANG)[0] == 0:
            if time.monotonic() >= ends:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return
            time.sleep(0.01)
