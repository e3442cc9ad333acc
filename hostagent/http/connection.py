"""One connection: a request, its answer, and little time. Nothing here waits, except for the processor, and of that it takes little."""

import contextlib
import io
import select
import socket
import ssl
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, cast
from urllib.parse import urlsplit

from hostagent.http.answer import TEXT, Page

#: Seconds that it may take, and in which nothing may come or be taken; bytes of a request, and of what may come after it and is discarded.
_LONGEST_S, _SILENT_S, _MOST_BYTES, _MOST_DISCARDED = 15.0, 5.0, 16 * 1024, 16 * 1024 * 1024
#: Bytes that are enciphered at a time.
_CHUNK = 64 * 1024


class Connection:
    """`asker`: what all connections of the same asker have in common. Times are monotonic seconds."""

    def __init__(self, line: socket.socket, tls: "ssl.SSLContext | None", page: Page, now: float, asker: object = "") -> None:
        """`line`: connected."""
        line.setblocking(False)
        self.line, self.began, self.asker = line, now, asker
        self._page, self._heard_by = page, now
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = tls.wrap_bio(self._incoming, self._outgoing, server_side=True) if tls else None
        self._has_handshake, self._is_over = False, False  # over: the answer is sent, and what still comes is discarded
        self._left = _MOST_BYTES
        self._asked = bytearray()
        self._unsent, self._pieces = memoryview(b""), list[memoryview]()  # as it goes over the line, and what is still to be enciphered
        self._is_answered = False

    def is_late(self, now: float) -> bool:
        """Whether its time is over, or nothing came and nothing was taken for too long."""
        return now > min(self.began + _LONGEST_S, self._heard_by + _SILENT_S)

    def go_on(self, now: float) -> int:
        """As far as it goes now. What it then waits for, as epoll calls it; 0 at its end."""
        try:
            while True:
                while self._has_unsent():
                    self._unsent = self._unsent[self.line.send(self._unsent) :]
                    self._heard_by = now
                if self._is_answered and not self._is_over:  # closed with something unread, the answer would be lost on its way
                    self.line.shutdown(socket.SHUT_WR)
                    self._is_over, self._left = True, _MOST_DISCARDED
                if not self._receive(self.line.recv(_MOST_BYTES), now):
                    return 0
        except BlockingIOError:
            return select.EPOLLOUT if self._unsent else select.EPOLLIN
        except Exception:  # a malformed request or a broken connection ends this connection alone
            return 0

    def _has_unsent(self) -> bool:
        """Encrypt a long answer one piece at a time, so that a slow client holds no second copy of it."""
        if not self._unsent and self._pieces:
            piece = self._pieces.pop(0)
            if len(piece) > _CHUNK:
                self._pieces.insert(0, piece[_CHUNK:])
                piece = piece[:_CHUNK]
            if self._tls:
                self._tls.write(piece)
                piece = memoryview(self._outgoing.read())
            self._unsent = piece
        return bool(self._unsent)

    def _receive(self, piece: bytes, now: float) -> bool:
        """What came, and what is to be sent then. Whether the connection goes on."""
        self._left -= len(piece)
        if not piece or (self._is_over and self._left < 0):
            return False
        if self._is_over:
            return True
        self._heard_by = now
        try:
            self._asked += self._deciphered(piece)
            del self._asked[: len(self._asked) - len(self._asked.lstrip(b"\r\n"))]
            if b"\n\r\n" in self._asked or b"\n\n" in self._asked:
                self._answer(*_answered(bytes(self._asked), self._page))
            elif self._left < 0:
                self._answer(_refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE))
        except ssl.SSLError:  # TLS itself sends the peer the reason
            self._is_answered = True
        if self._tls and (words := self._outgoing.read()):
            self._unsent = memoryview(bytes(self._unsent) + words)
        return True

    def _answer(self, *pieces: bytes) -> None:
        self._pieces, self._is_answered = [memoryview(one) for one in pieces if one], True

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


def _answered(asked: bytes, page: Page) -> tuple[bytes, bytes]:
    """Head and body of the answer to a request that came whole."""
    try:
        handler = _Handler(asked, page)
    except ValueError:  # an address that is none
        return _refusal(HTTPStatus.BAD_REQUEST), b""
    return handler.head(), handler.body


def _refusal(status: HTTPStatus) -> bytes:
    text = f"{status.phrase}\n"
    head = f"HTTP/1.0 {status.value} {status.phrase}\r\nContent-Type: {TEXT}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    return f"{head}{text}".encode()


class _Handler(BaseHTTPRequestHandler):
    server_version, sys_version = "hostagent", ""

    def __init__(self, asked: bytes, page: Page) -> None:
        self._asked, self._page = asked, page
        self.body = b""
        super().__init__(None, None, None)  # type: ignore[arg-type]

    def setup(self) -> None:
        """A request that is there, and an answer that is sent by others."""
        self.rfile, self.wfile = io.BytesIO(self._asked), io.BytesIO()

    def finish(self) -> None:
        """The answer stays."""

    def head(self) -> bytes:
        """And the body of a refusal."""
        return cast("io.BytesIO", self.wfile).getvalue()

    def do_GET(self) -> None:
        self._reply(with_body=True)

    def do_HEAD(self) -> None:
        self._reply(with_body=False)

    def _reply(self, *, with_body: bool) -> None:
        parts = urlsplit(self.path)
        answer = self._page.answer(parts.path, parts.query, self.headers.get("Authorization", ""))
        data = self._page.encoded(answer)
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
            self.body = data

    def send_error(self, code: int, message: "str | None" = None, explain: "str | None" = None) -> None:
        """A method that is none of ours is 405."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        data = f"{status.phrase}\n".encode()
        self.send_response(status)
        for name, value in (("Content-Type", TEXT), ("Content-Length", str(len(data))), ("Connection", "close")):
            self.send_header(name, value)
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: a scrape is no event."""
