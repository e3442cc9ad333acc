"""What the teller serves: whether the daemon lives, what it says, and how it goes.

Each connection has a thread, one request, and little time; of many the oldest is closed. Nobody who asks slowly keeps another waiting.
"""

import contextlib
import hmac
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from hostagent.daemon.board import Board
from hostagent.daemon.metrics import metrics
from hostagent.daemon.processes import used
from hostagent.daemon.settings import Settings
from hostagent.kube.config import obeyed
from hostagent.report.nodewords import compact
from hostagent.smallfile import read_small, reason, refuse_others

#: Connections at once, seconds that one may take, and seconds that one byte may take; seconds between two looks at who takes too long.
_MOST, _LONGEST_S, _BYTE_S, _LOOK_S = 64, 15.0, 5.0, 5.0
_TOKEN_BYTES = 4096
#: Seconds beyond a pass' own deadline after which a loop that is not heard does not live, and beyond the time in which a pass has to be
#: judged: that nothing is known is published before the daemon is started again.
_SLACK_S = 30.0
_TEXT, _JSON, _METRICS = "text/plain; charset=utf-8", "application/json", "text/plain; version=0.0.4; charset=utf-8"


class Answer(NamedTuple):
    """One answer, whole."""

    status: HTTPStatus
    text: str
    kind: str = _TEXT


class Page:
    """Answers by path, out of what the board has. `tells_kubernetes`: whether a write is expected."""

    def __init__(self, settings: Settings, board: Board, *, tells_kubernetes: bool, is_loopback: bool) -> None:
        self._settings, self._board = settings, board
        self._tells_kubernetes, self._is_loopback = tells_kubernetes, is_loopback

    def answer(self, path: str, query: str, authorization: str) -> Answer:
        """To GET. `authorization`: the header, "" for none."""
        pages: dict[str, Callable[[], Answer]] = {
            "/livez": self._livez,
            "/readyz": lambda: self._readyz(is_verbose="verbose" in parse_qs(query, keep_blank_values=True)),
            "/metrics": lambda: Answer(HTTPStatus.OK, metrics(self._board.look()[0], self._board.deliveries(), used()), _METRICS),
            "/v1/report": lambda: self._guarded(authorization, lambda: self._document("report")),
            "/v1/summary": lambda: self._summary(authorization),
        }
        if path not in pages:
            return Answer(HTTPStatus.NOT_FOUND, f"found no such page, wanted one of {', '.join(pages)}\n")
        return pages[path]()

    def _livez(self) -> Answer:
        seen, now, settings = self._board.look(), time.monotonic(), self._settings
        if now - seen.alive_by > settings.evidence.deadline_s + _SLACK_S:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"the loop was last heard {now - seen.alive_by:.0f} s ago\n")
        if seen.judged_by and not seen.waiting and now - seen.judged_by > settings.stale_after_s + _SLACK_S:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"the last pass was judged {now - seen.judged_by:.0f} s ago\n")
        return Answer(HTTPStatus.OK, "ok\n")

    def _readyz(self, *, is_verbose: bool) -> Answer:
        rows = list(self._readiness())
        is_ready = all(is_good for _, is_good, _ in rows)
        told = "".join(f"[{'+' if is_good else '-'}]{name} {why or 'ok'}\n" for name, is_good, why in rows)
        status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
        if is_ready and not is_verbose:
            return Answer(status, "ok\n")
        return Answer(status, f"{told}{'ok' if is_ready else 'not ready'}\n")

    def _readiness(self) -> Any:
        said, judged_by, _, waiting = self._board.look()
        settings = self._settings
        has_pass, age_s = bool(said and said.has_pass), time.monotonic() - judged_by
        is_fresh = has_pass and age_s <= settings.stale_after_s
        yield "turn", not waiting, waiting
        yield "pass", is_fresh, "" if is_fresh else f"the last pass ended {age_s:.0f} s ago" if has_pass else "no pass has ended yet"
        if said and said.profile_problem:
            yield "profile", True, said.profile_problem
        if self._tells_kubernetes:
            one = self._board.deliveries().get("kubernetes")
            silent_s = time.monotonic() - one.succeeded_by if one and one.succeeded_at else 0.0
            is_written = bool(one and one.succeeded_at) and silent_s <= 3 * settings.heartbeat_s
            late = "" if is_written else f"the last write was {silent_s:.0f} s ago" if silent_s else "nothing was written yet"
            why = (one.problem if one else "") or late
            yield "kubernetes", not why, why

    def _summary(self, authorization: str) -> Answer:
        if self._is_loopback:
            return self._document("summary")
        return self._guarded(authorization, lambda: self._document("summary"))

    def _document(self, name: str) -> Answer:
        said = self._board.look()[0]
        if said is None or not said.summary:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "no pass has ended yet\n")
        text = said.report if name == "report" else compact(said.summary) + "\n"
        return Answer(HTTPStatus.OK, text, _JSON)

    def token(self) -> tuple[bytes, str]:
        """What whoever asks for a guarded page has to name, as its file has it now, and why that cannot be used, "" where it can."""
        try:
            token = read_small(self._settings.auth_token_file, _TOKEN_BYTES, obeyed()).strip()
        except OSError as error:
            return b"", f"the file of --auth-token-file cannot be used: {reason(error)}"
        return token, "" if token else "the file of --auth-token-file is empty"

    def _guarded(self, authorization: str, document: Callable[[], Answer]) -> Answer:
        if not self._settings.auth_token_file:
            return Answer(HTTPStatus.FORBIDDEN, "found no --auth-token-file, wanted one: the report quotes logs\n")
        token, problem = self.token()
        if problem:
            return Answer(HTTPStatus.FORBIDDEN, f"{problem}\n")
        given = authorization.encode("utf-8", "replace")
        if not hmac.compare_digest(given, b"Bearer " + token):
            return Answer(HTTPStatus.UNAUTHORIZED, "found no such token, wanted 'Authorization: Bearer TOKEN'\n")
        return document()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, line: socket.socket, page: Page, tls: "Callable[[], ssl.SSLContext | None]") -> None:
        super().__init__(line.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.page = line, page
        self._tls = tls
        self._open: dict[socket.socket, float] = {}
        self._guard = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            oldest = min(self._open, key=self._open.__getitem__) if len(self._open) >= _MOST else None
            self._open[request] = time.monotonic()
        if oldest is not None:
            self.shutdown_request(oldest)
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Now and then: whoever takes too long is left."""
        late = time.monotonic() - _LONGEST_S
        with self._guard:
            slow = [one for one, began in self._open.items() if began < late]
        for one in slow:
            self.shutdown_request(one)

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(_BYTE_S)
        context = self._tls()
        line = context.wrap_socket(request, server_side=True) if context else request
        _Handler(line, client_address, self)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.pop(request, None)
        with contextlib.suppress(OSError):
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asks badly, or goes away, is no concern of ours."""


class _Handler(BaseHTTPRequestHandler):
    server_version, sys_version = "hostagent", ""
    server: _Server

    def do_GET(self) -> None:
        self._reply(with_body=True)

    def do_HEAD(self) -> None:
        self._reply(with_body=False)

    def _reply(self, *, with_body: bool) -> None:
        parts = urlsplit(self.path)
        answer = self.server.page.answer(parts.path, parts.query, self.headers.get("Authorization", ""))
        data = answer.text.encode("utf-8", "backslashreplace")
        self.send_response(answer.status)
        headers = {
            "Content-Type": answer.kind,
            "Content-Length": str(len(data)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        if answer.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(data)

    def send_error(self, code: int, message: "str | None" = None, explain: "str | None" = None) -> None:
        """A method that is none of ours is 405."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        data = f"{status.phrase}\n".encode()
        self.send_response(status)
        for name, value in (("Content-Type", _TEXT), ("Content-Length", str(len(data))), ("Connection", "close")):
            self.send_header(name, value)
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: a scrape is no event."""


def listen(line: socket.socket, page: Page, certificates: "Certificates | None") -> None:
    """Serve on `line` from now on, in threads of their own; HTTPS where there are certificates."""
    server = _Server(line, page, certificates.context if certificates else lambda: None)
    threading.Thread(target=lambda: server.serve_forever(poll_interval=_LOOK_S), daemon=True).start()


class Certificates:
    """The certificate and its key, as they are now: read again when one of them changes."""

    def __init__(self, cert: str, key: str) -> None:
        """Raises ``OSError`` where they cannot be used, or where somebody else may write them."""
        self._paths = (cert, key)
        self._guard = threading.Lock()
        self._marks: Any = None
        self._context = self._loaded()

    def context(self) -> ssl.SSLContext:
        """Where half of the pair is new, or one is away for a moment, the last that could be used."""
        with self._guard:
            with contextlib.suppress(OSError):
                if self._marks != self._seen():
                    self._context = self._loaded()
            return self._context

    def _seen(self) -> Any:
        return [(found.st_ino, found.st_mtime_ns, found.st_size) for found in map(os.stat, self._paths)]

    def _loaded(self) -> ssl.SSLContext:
        marks = self._seen()
        for path in self._paths:
            refuse_others(path, obeyed())
        fresh = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        fresh.minimum_version = ssl.TLSVersion.TLSv1_2
        fresh.load_cert_chain(*self._paths, password=b"")  # nobody is asked for one
        self._marks = marks
        return fresh
