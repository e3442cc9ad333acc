"""Main loop of the controller: waits for the lease, leads, and starts over when it has lost it."""

import os
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from hostagent.controller.counts import Counts
from hostagent.controller.lease import LEASE_S, RENEW_S, Lease
from hostagent.controller.settings import Settings
from hostagent.controller.term import Term, Tools
from hostagent.controller.writer import Dry, Live, Writer
from hostagent.http.answer import METRICS, Answer, Encoded
from hostagent.kube.api import Api
from hostagent.outputs.log import Log

#: Seconds: between two tries to get the lease; that the loop may be silent before it does not live.
_TRY_S, _LIVES_S = 2.0, 120.0


class Controller:
    """`api` makes a client that calls a function after each answer."""

    def __init__(self, settings: Settings, api: Callable[[Callable[[], None]], Api], log: Log) -> None:
        self._settings, self._api, self._log = settings, api, log
        self.counts = Counts()
        self._is_over = threading.Event()
        self._lease: Lease | None = None
        self._crash: Exception | None = None

    def stop(self, *_: Any) -> None:
        """As a handler of signals."""
        self._is_over.set()

    def run(self) -> None:
        """Until `stop`."""
        settings = self._settings
        thread: threading.Thread | None = None
        if settings.is_elected and not settings.is_dry_run:
            identity = f"{socket.gethostname()}_{os.urandom(8).hex()}"
            self._lease = Lease(self._api(lambda: None), settings.namespace, identity)
            thread = threading.Thread(target=self._renew, daemon=True)
            thread.start()
        while not self._is_over.is_set():
            self.counts.alive_at = time.monotonic()
            if self._leads():
                self._lead()
            self._is_over.wait(0.2)
        if thread and self._lease:
            thread.join(LEASE_S)
            self._lease.release()
        if self._crash:
            raise self._crash

    def _lead(self) -> None:
        self._log.event("lead", dry_run=str(self._settings.is_dry_run).lower())
        self.counts.is_leader = not self._settings.is_dry_run
        tools = Tools(self._api, self._writer, lambda: self._leads() and not self._is_over.is_set(), self._log, self.counts)
        try:
            Term(self._settings, tools).run()
        finally:
            self.counts.is_leader = False
        self._log.event("lead-ended")

    def _writer(self, api: Api) -> Writer:
        return Dry(self._settings.prefix) if self._settings.is_dry_run else Live(api, self._leads)

    def _leads(self) -> bool:
        return self._lease is None or self._lease.is_held

    def _renew(self) -> None:
        """In a thread. What is a bug ends the controller."""
        try:
            self._keep_lease()
        except Exception as error:
            self._crash = error
            self._is_over.set()

    def _keep_lease(self) -> None:
        assert self._lease is not None
        while not self._is_over.is_set():
            began = time.monotonic()
            is_held = self._lease.renew()
            problem = f"the lease is not renewed: {self._lease.problem}" if self._lease.problem else ""
            if self.counts.problem("lease", problem):
                self._log.problem(problem)
            self._is_over.wait(max(0.0, began + RENEW_S - time.monotonic()) if is_held else _TRY_S)


class Page:
    """HTTP pages: /livez, /readyz and /metrics."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self.encoded = Encoded()

    def answer(self, path: str, query: str, authorization: str) -> Answer:
        """To GET."""
        pages: dict[str, Callable[[], Answer]] = {"/livez": self._livez, "/readyz": self._readyz, "/metrics": self._metrics}
        if path not in pages:
            return Answer(HTTPStatus.NOT_FOUND, f"found no such page, wanted one of {', '.join(pages)}\n")
        return pages[path]()

    def _livez(self) -> Answer:
        silent_s = time.monotonic() - self._counts.alive_at
        if silent_s > _LIVES_S:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"the main loop has not run for {silent_s:.0f} s\n")
        return Answer(HTTPStatus.OK, "ok\n")

    def _readyz(self) -> Answer:
        """Also of a controller that waits for the lease."""
        problems = [text for text in self._counts.problems.values() if text]
        return Answer(HTTPStatus.OK, "".join(f"{text}\n" for text in problems) or "ok\n")

    def _metrics(self) -> Answer:
        return Answer(HTTPStatus.OK, self._counts.metrics(), METRICS)
