"""What the publisher serves: whether the daemon lives, what it says, and how it goes.

Each connection has one request, and little time; of many the oldest is closed. One thread serves them all and waits for none of them:
nobody who asks slowly keeps another waiting, and however many ask, there is one thread, few descriptors, and half of a processor at most.
"""

import contextlib
import hmac
import io
import os
import resource
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qs, urlsplit

from hostagent.daemon.board import Board
from hostagent.daemon.metrics import metrics
from hostagent.daemon.processes import used
from hostagent.daemon.settings import Settings
from hostagent.kube.config import obeyed
from hostagent.report.nodewords import compact
from hostagent.secret.inuse import token_in
from hostagent.smallfile import read_small, reason, refuse_others

#: Connections at once; seconds that one may take, and in which nothing may come or be taken; bytes that it may send.
_MOST, _LONGEST_S, _SILENT_S, _MOST_BYTES = 64, 15.0, 5.0, 16 * 1024
#: Seconds that each has before it makes room for others: no more than 64 that stay are taken in so long. Seconds between two looks at who
#: is late. How many that are over at once are taken in a row.
_LEAST_S, _LOOK_S, _AT_ONCE = 0.032, 1.0, 16
_TOKEN_BYTES = 4096
#: Seconds for which the file of the token is waited for.
_READ_S = 1.0
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
        self._reads: threading.Thread | None = None

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
            return token_in(read_small(self._settings.auth_token_file, _TOKEN_BYTES, obeyed())).encode(), ""
        except OSError as error:
            return b"", f"the file of --auth-token-file cannot be used: {reason(error)}"
        except ValueError as error:
            return b"", f"the file of --auth-token-file cannot be used: {error}"

    def _token_in_time(self) -> tuple[bytes, str]:
        """As `token`, by a thread, one at a time: of a disk that hangs, whoever asks for other pages hears nothing."""
        found: list[tuple[bytes, str]] = []
        if not (self._reads and self._reads.is_alive()):
            self._reads = threading.Thread(target=lambda: found.append(self.token()), daemon=True)
            self._reads.start()
            self._reads.join(_READ_S)
        return found[0] if found else (b"", "the file of --auth-token-file is still being read")

    def _guarded(self, authorization: str, document: Callable[[], Answer]) -> Answer:
        if not self._settings.auth_token_file:
            return Answer(HTTPStatus.FORBIDDEN, "found no --auth-token-file, wanted one: the report quotes logs\n")
        token, problem = self._token_in_time()
        if problem:
            return Answer(HTTPStatus.FORBIDDEN, f"{problem}\n")
        given = authorization.encode("utf-8", "replace")
        if not hmac.compare_digest(given, b"Bearer " + token):
            return Answer(HTTPStatus.UNAUTHORIZED, "found no such token, wanted 'Authorization: Bearer TOKEN'\n")
        return document()


class _Connection:
    """One request and its answer. Nothing here waits, except for the processor, and of that it takes little: what is read is short."""

    def __init__(self, line: socket.socket, tls: "ssl.SSLContext | None", page: Page, now: float) -> None:
        """`line`: connected. `now`: monotonic seconds."""
        line.setblocking(False)
        self.line, self._page = line, page
        self._ends, self._heard_by = now + _LONGEST_S, now
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = tls.wrap_bio(self._incoming, self._outgoing, server_side=True) if tls else None
        self._has_handshake, self._is_over = False, False
        self._left = _MOST_BYTES
        self._asked, self._rest = bytearray(), memoryview(b"")  # what was read of the request; what is still to be sent

    def is_late(self, now: float) -> bool:
        """Whether its time is over, or nothing came and nothing was taken for too long."""
        return now > min(self._ends, self._heard_by + _SILENT_S)

    def go_on(self, now: float) -> int:
        """As far as it goes now. What it then waits for, as epoll calls it; 0 at its end."""
        try:
            while True:
                while self._rest:
                    self._rest = self._rest[self.line.send(self._rest) :]
                    self._heard_by = now
                if self._is_over or not (piece := self.line.recv(_MOST_BYTES)):
                    return 0
                self._heard_by = now
                self._left -= len(piece)
                if self._left < 0:
                    return 0
                self._hear(piece)
        except BlockingIOError:
            return select.EPOLLOUT if self._rest else select.EPOLLIN
        except Exception:  # whoever asks badly, or goes away, is no concern of ours
            return 0

    def _hear(self, piece: bytes) -> None:
        """What came, and what is to be sent then."""
        answer = b""
        try:
            self._asked += self._deciphered(piece)
            if b"\n\r\n" in self._asked or b"\n\n" in self._asked:
                answer, self._is_over = _Handler(bytes(self._asked), self._page).answer(), True
                if self._tls:
                    self._tls.write(answer)
        except ssl.SSLError:  # why is told who asks, in the words of TLS
            self._is_over = True
        self._rest = memoryview(self._outgoing.read() if self._tls else answer)

    def _deciphered(self, piece: bytes) -> bytes:
        """Raises ``SSLError``."""
        if self._tls is None:
            return piece
        self._incoming.write(piece)
        found = b""
        with contextlib.suppress(ssl.SSLWantReadError):
            if not self._has_handshake:
                self._tls.do_handshake()
                self._has_handshake = True
            while piece := self._tls.read(_MOST_BYTES):
                found += piece
        return found


class _Server:
    """All connections, in one thread: one that is over is closed there and then, so that no more are open than are counted."""

    def __init__(self, line: socket.socket, page: Page, tls: "Callable[[], ssl.SSLContext | None]") -> None:
        self._line, self._page, self._tls = line, page, tls
        self._most = _slots(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self._open: dict[int, _Connection] = {}  # by descriptor, the oldest first
        self._poll = select.epoll()
        line.setblocking(False)
        self._poll.register(line, select.EPOLLIN)

    def forever(self) -> None:
        """It takes half of one processor at most, and no more connections in a second than leave each the least time that it has."""
        while True:
            ready = self._poll.poll(_LOOK_S)
            began_s = time.thread_time()
            with contextlib.suppress(Exception):  # no descriptor for another connection, or no memory: a later turn may have them
                self._turn([number for number, _ in ready], time.monotonic())
            time.sleep(max(time.thread_time() - began_s, _LEAST_S / self._most))

    def _turn(self, ready: list[int], now: float) -> None:
        """Close who is late, go on with those that are `ready`, and take one more that stays. Raises ``OSError``."""
        for number in [number for number, one in self._open.items() if one.is_late(now)]:
            self._close(number)
        for number in ready:
            if number in self._open:
                self._go_on(number, now)
        if self._line.fileno() in ready:
            any(self._accept(now) for _ in range(_AT_ONCE))  # up to the first that stays

    def _accept(self, now: float) -> bool:
        """Whether it is not over at once; then, where there are too many, the oldest makes room. Raises ``OSError``."""
        line = self._line.accept()[0]
        one = _Connection(line, self._tls(), self._page, now)
        if not (wanted := one.go_on(now)):
            line.close()
            return False
        if len(self._open) >= self._most:
            self._close(next(iter(self._open)))
        self._open[line.fileno()] = one
        self._poll.register(line, wanted)
        return True

    def _go_on(self, number: int, now: float) -> None:
        if wanted := self._open[number].go_on(now):
            self._poll.modify(number, wanted)
        else:
            self._close(number)

    def _close(self, number: int) -> None:
        self._open.pop(number).line.close()  # nothing else holds its descriptor: it is polled no more


def _slots(descriptors: int) -> int:
    """Connections at once where a process may have so many descriptors, -1 for any number: most are left to who writes to Kubernetes.

    >>> _slots(1024), _slots(64), _slots(3), _slots(-1)
    (64, 16, 1, 64)
    """
    return _MOST if descriptors < 0 else max(1, min(_MOST, descriptors // 4))


class _Handler(BaseHTTPRequestHandler):
    server_version, sys_version = "hostagent", ""

    def __init__(self, asked: bytes, page: Page) -> None:
        self._asked, self._page = asked, page
        super().__init__(None, None, None)  # type: ignore[arg-type]

    def setup(self) -> None:
        """A request that is there, and an answer that is sent by others."""
        self.rfile, self.wfile = io.BytesIO(self._asked), io.BytesIO()

    def finish(self) -> None:
        """The answer stays."""

    def answer(self) -> bytes:
        return cast("io.BytesIO", self.wfile).getvalue()

    def do_GET(self) -> None:
        self._reply(with_body=True)

    def do_HEAD(self) -> None:
        self._reply(with_body=False)

    def _reply(self, *, with_body: bool) -> None:
        parts = urlsplit(self.path)
        answer = self._page.answer(parts.path, parts.query, self.headers.get("Authorization", ""))
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
    """Serve on `line` from now on, in a thread; HTTPS where there are certificates."""
    server = _Server(line, page, certificates.context if certificates else lambda: None)
    threading.Thread(target=server.forever, daemon=True).start()


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
