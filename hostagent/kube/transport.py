"""Sends requests to one API server. Each ends in time, and no error text has a secret."""

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeVar

from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.core.secret.address import proxy_address
from hostagent.core.secret.in_use import InUse
from hostagent.core.smallfile import reason
from hostagent.kube.config import Access, Exec, Identity, identity
from hostagent.kube.connection import Line, adapter
from hostagent.kube.requesting import imported

JSON = "application/json"
#: Seconds that one request may take in all; of which one address has so many to take the connection: the next one may answer.
TIMEOUT_S = 10.0
_CONNECT_S = 4.0
#: Seconds that a request has to notice that its connection was ended.
_END_S = 1.0
_PIECE, _MAX_LINE = 65536, 8 * 1024 * 1024
_SHOWN = 200


class Request(NamedTuple):
    """``path`` with its query; ``kind``: media type of ``data``; ``most_bytes``: of the answer. ``may_send`` is asked immediately before
    it is sent: a process may have been stopped since it was made.
    """

    method: str
    path: str
    data: "bytes | None" = None
    kind: str = JSON
    accept: str = JSON
    most_bytes: int = 4 * 1024 * 1024
    may_send: "Callable[[], bool] | None" = None


class Answer(NamedTuple):
    """``retry_after_s``: what the server asks to wait, 0 for nothing. ``date``: of the server's clock, seconds since 1970."""

    code: int
    data: bytes
    retry_after_s: float
    date: "float | None" = None


class UnreachedError(HostagentError):
    """No answer came: there was no connection, no time, or no identity to show."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "")


class _Session(NamedTuple):
    """A session that serves several requests, as long as it would be made the same again."""

    access: Access
    certificate: str
    session: Any
    line: "_Line"


class _Line(Line):
    """Has the newest connection alone: the library replaces one that the server has closed."""

    @property
    def is_over(self) -> bool:
        return self._is_over

    def opened(self, line: socket.socket) -> None:
        self.forget()
        super().opened(line)


class _Worker:
    """A thread that makes one call after the other: a new thread for each request would cost a third of it."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._is_late = False
        threading.Thread(target=self._run, daemon=True).start()

    def begin(self, call: Callable[[], Any]) -> bool:
        """False while an earlier call has not ended."""
        if self._is_late and not self.outcome(0):
            return False
        self._calls.put(call)
        return True

    def outcome(self, within_s: float) -> "list[Any]":
        """What the call returned; nothing where it did not end in time."""
        try:
            found = [self._outcomes.get(timeout=within_s)] if within_s else [self._outcomes.get_nowait()]
        except queue.Empty:
            found = []
        self._is_late = not found
        return found

    def end(self) -> None:
        """When its call has ended."""
        self._calls.put(None)

    def _run(self) -> None:
        while call := self._calls.get():
            self._outcomes.put(call())


_Found = TypeVar("_Found")


class Transport:
    """Requests of one thread, one at a time."""

    def __init__(
        self, access: Callable[[], Access], agent: str, secrets: "InUse | None" = None, *, keeps: bool = False, timeout_s: float = TIMEOUT_S
    ) -> None:
        """`access` is read for each request, because what is in it rotates; it raises ``HostagentError``. `agent`: the User-Agent.
        `secrets` records each secret that is used. `keeps`: the connection stays open for the next request.
        """
        self._access, self._agent, self._secrets, self._keeps = access, agent, secrets or InUse(), keeps
        self._timeout_s = timeout_s
        self._credential: tuple[Exec, Identity] | None = None  # of a program, which is not run for each request
        self._worker: _Worker | None = None
        self._kept: _Session | None = None

    def another(self) -> "Transport":
        """For another thread: a program that has given a credential is not run again."""
        found = Transport(self._access, self._agent, self._secrets, keeps=self._keeps, timeout_s=self._timeout_s)
        found._credential = self._credential
        return found

    def send(self, request: Request) -> Answer:
        """Returns soon after the timeout: the connection to a server that sends a byte now and then is closed. What hangs before there is
        one (a name server, a program of the kubeconfig) is left behind, one at a time. Raises ``UnreachedError``.

        A request that a kept connection lost is sent once more: where the server had got the first one, a create or a change of a given
        resourceVersion is answered with 409.
        """
        line = self._kept.line if self._kept and not self._kept.line.is_over else _Line(self._timeout_s)
        return self._in_time(lambda: self._sent(request, line), line)

    def stream(self, request: Request, silent_s: float) -> "Stream | Answer":
        """An answer that goes on, over a connection of its own; one that is not 200 comes whole. Begins in time, as `send` ends.
        `silent_s`: how long nothing may come then. Raises ``UnreachedError``.
        """
        line = _Line(silent_s)
        return self._in_time(lambda: self._streamed(request, line, silent_s), line)

    def close(self) -> None:
        """The connection that was kept, and the thread that used it."""
        self._forget()
        if self._worker:
            self._worker.end()
            self._worker = None

    def _forget(self) -> None:
        if self._kept:
            self._kept.session.close()
            self._kept.line.forget()
            self._kept = None

    def shown(self, text: str) -> str:
        """Foreign text for people: secrets are removed before it is cut."""
        return visible(self._secrets.without(text)[:_SHOWN])

    def _in_time(self, call: Callable[[], _Found], line: _Line) -> _Found:
        worker = self._worker = self._worker or _Worker()
        if not worker.begin(lambda: self._outcome(call)):
            raise UnreachedError("an earlier request to the API server has not ended")
        outcomes: list[_Found | UnreachedError] = worker.outcome(self._timeout_s)
        if not outcomes:
            line.end()
            worker.outcome(_END_S)
            if self._kept and self._kept.line is line:
                self._forget()
            raise UnreachedError(f"the API server did not answer in {self._timeout_s:g} s")
        if not self._keeps:
            self.close()
        if isinstance(outcomes[0], UnreachedError):
            raise outcomes[0]
        return outcomes[0]

    def _outcome(self, call: Callable[[], _Found]) -> "_Found | UnreachedError":
        try:
            return call()
        except Exception as error:  # the caller gets an error of ours for everything that a library raises
            return self._unreached(error)

    def _unreached(self, error: Exception) -> UnreachedError:
        if isinstance(error, HostagentError):
            return UnreachedError(self._secrets.without(error.message))
        return UnreachedError(self._secrets.without(f"the API server was not reached: {self.shown(_why(error))}"))

    def _sent(self, request: Request, line: _Line) -> Answer:
        before = self._kept
        try:
            return self._read(request, line)
        except imported().ConnectionError:
            if before is None or line.is_over:
                raise
        self._forget()  # the server has closed the kept connection: the same on a new one
        return self._read(request, line)

    def _read(self, request: Request, line: _Line) -> Answer:
        ends = time.monotonic() + self._timeout_s
        session, answer = self._requested(request, line, self._timeout_s, keeps=self._keeps)
        try:
            with answer:
                return _whole(answer, request.most_bytes, ends)
        finally:
            if self._kept is None or self._kept.session is not session:
                session.close()
                line.forget()

    def _streamed(self, request: Request, line: _Line, silent_s: float) -> "Stream | Answer":
        ends = time.monotonic() + self._timeout_s
        session, answer = self._requested(request, line, silent_s, keeps=False)
        stream = Stream(session, answer, line, self._unreached)
        if answer.status_code == imported().codes.ok:
            return stream
        try:
            return _whole(answer, request.most_bytes, ends)
        finally:
            stream.close()

    def _requested(self, request: Request, line: _Line, silent_s: float, *, keeps: bool) -> tuple[Any, Any]:
        """The session and the answer, of which the head has come. `silent_s`: how long nothing may come."""
        access = self._access()
        who = self._identity(access)
        self._secrets.add(who.token)
        headers = {"Accept": request.accept, "Content-Type": request.kind, "User-Agent": self._agent}
        if who.token:
            headers["Authorization"] = f"Bearer {who.token}"
        url = f"{access.server}{request.path}"
        kept = self._kept_session(access, who, line) if keeps else None
        session = kept or self._new_session(access, who, line, url)
        line.may_send = request.may_send
        given = {"headers": headers, "timeout": (min(_CONNECT_S, self._timeout_s), silent_s), "stream": True, "allow_redirects": False}
        try:
            answer = session.request(request.method, url, data=request.data, **given)
            _refuse_late(line)
        except Exception:
            if session is not kept:
                session.close()
                line.forget()
            raise
        if keeps:
            self._kept = _Session(access, who.cert_pem, session, line)
        if answer.status_code == imported().codes.unauthorized:
            self._credential = None  # the program is run again
        return session, answer

    def _kept_session(self, access: Access, who: Identity, line: _Line) -> Any:
        """None where there is none, or where it would not be made the same again."""
        if self._kept and (self._kept.line, self._kept.access, self._kept.certificate) == (line, access, who.cert_pem):
            return self._kept.session
        self._forget()
        return None

    def _new_session(self, access: Access, who: Identity, line: Line, url: str) -> Any:
        session = imported().Session()
        session.trust_env = False  # no netrc: a header of its own would replace ours
        if proxy := access.proxy or _environment_proxy(url):
            self._secrets.add_address(proxy)
            session.proxies["https"] = proxy
        session.mount("https://", adapter(access, who, line))
        return session

    def _identity(self, access: Access) -> Identity:
        if access.program is None:
            return identity(access)
        if self._credential is None or self._credential[0] != access.program or time.time() > self._credential[1].expires_at - TIMEOUT_S:
            self._credential = access.program, identity(access)
        return self._credential[1]


class Stream:
    """The lines of an answer, as they come."""

    def __init__(self, session: Any, answer: Any, line: Line, unreached: Callable[[Exception], UnreachedError]) -> None:
        self._session, self._answer, self._line, self._unreached = session, answer, line, unreached
        self._reading = threading.RLock()
        self._is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        """Until the server ends it, or `close`. Raises ``UnreachedError``."""
        rest = b""
        pieces = self._answer.iter_content(_PIECE)
        try:
            while piece := self._piece(pieces):
                *lines, rest = (rest + piece).split(b"\n")
                yield from filter(None, lines)
                if len(rest) > _MAX_LINE:  # an object has 1.5 MiB at most (etcd)
                    raise UnreachedError("an event of the API server is too long")
        finally:
            self.close()

    def _piece(self, pieces: Iterator[bytes]) -> bytes:
        try:
            with self._reading:
                return next(pieces, b"")
        except Exception as error:
            if self._is_closed:
                return b""
            raise self._unreached(error) from None

    def close(self) -> None:
        """Also from another thread: the iterator ends. Its descriptors are closed when nothing reads from them any more."""
        self._is_closed = True
        self._line.end()
        with self._reading, contextlib.suppress(Exception):
            self._answer.close()
            self._session.close()
        self._line.forget()


def _whole(answer: Any, most_bytes: int, ends: float) -> Answer:
    text = bytearray()
    for piece in answer.iter_content(_PIECE):
        text += piece
        if len(text) > most_bytes or time.monotonic() > ends:
            raise UnreachedError("the answer of the API server is too long or too slow")
    headers = answer.headers
    return Answer(answer.status_code, bytes(text), retry_after(headers.get("Retry-After", "")), http_date(headers.get("Date", "")))


def _refuse_late(line: _Line) -> None:
    if line.is_over:
        raise UnreachedError("the API server answered too late")


def _environment_proxy(url: str) -> str:
    """The proxy that the environment names for it, "" for none. Raises ``HostagentError``."""
    utils = imported().utils
    found = utils.select_proxy(url, utils.get_environ_proxies(url)) or ""
    try:
        return proxy_address(found if "://" in found else f"http://{found}", socks=True) if found else ""
    except ValueError as error:
        raise HostagentError(f"the proxy of the environment (HTTPS_PROXY or ALL_PROXY) cannot be used: {error}", "") from None


def _why(error: BaseException) -> str:
    inner = _innermost(error)
    return reason(inner) if isinstance(inner, OSError) else f"{type(inner).__name__}: {inner}"


def _innermost(error: BaseException) -> BaseException:
    """The first error: each library packs the errors of the one below."""
    inner = [getattr(error, "reason", None), error.__cause__, *error.args]
    found = next((one for one in inner if isinstance(one, BaseException)), None)
    return _innermost(found) if found else error


def retry_after(text: str) -> float:
    """Seconds of the header, which has a number of seconds or a date. 0 for anything else; an hour at most.

    >>> retry_after("7"), retry_after(""), retry_after("soon"), retry_after("1e9")
    (7.0, 0.0, 0.0, 0.0)
    """
    if text.isascii() and text.isdigit() and len(text) < 10:
        return min(float(text), 3600.0)
    date = http_date(text)
    return 0.0 if date is None else min(max(0.0, date - time.time()), 3600.0)


def http_date(text: str) -> "float | None":
    """Of a date of HTTP, in seconds since 1970; None for anything else.

    >>> http_date("Mon, 24 Nov 2025 16:00:00 GMT"), http_date("soon")
    (1764000000.0, None)
    """
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
