"""Two kinds of request: a strategic-merge patch of the status of one node, and a new Event. Nothing is read but their answers."""

import json
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import quote

from hostagent.errors import HostagentError
from hostagent.kube.config import Access, Exec, Identity, identity
from hostagent.kube.connection import Line, adapter
from hostagent.kube.requesting import imported
from hostagent.kube.sink import Reply
from hostagent.secret.address import proxy_address
from hostagent.secret.inuse import InUse
from hostagent.smallfile import reason
from hostagent.visible import visible

#: Seconds that one request may take in all; of which one address has so many to take the connection: the next one may answer.
TIMEOUT_S = 10.0
_CONNECT_S = 4.0
#: Seconds that a request has to notice that its connection was ended.
_END_S = 1.0
_ACCEPT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_PATCH, _JSON = "application/strategic-merge-patch+json", "application/json"
_MAX_BYTES = 4 * 1024 * 1024
_SHOWN = 200


class _Request(NamedTuple):
    method: str
    path: str
    kind: str
    data: bytes


class PatchClient:
    """By `requests`, which is imported with the first request."""

    def __init__(self, access: Callable[[], Access], agent: str, secrets: "InUse | None" = None) -> None:
        """`access` is read for each request, because what is in it rotates; it raises ``HostagentError``. `agent`: who we say we are, in
        the header and as the manager of our fields. `secrets` is told each secret that is used; no problem of a reply holds one.
        """
        self._access, self._agent, self._secrets = access, agent, secrets or InUse()
        self._given: tuple[Exec, Identity] | None = None  # by a program, which is not asked for each request
        self._stuck: threading.Thread | None = None

    def patch_node_status(self, name: str, body: dict[str, Any]) -> Reply:
        """Never raises, and is back soon after `TIMEOUT_S`: the connection to a server that sends a byte now and then is ended. What hangs
        before there is one (a name server, a program of the kubeconfig) is left, one at a time.
        """
        path = f"/api/v1/nodes/{quote(name, safe='')}/status"
        return self._timed(_Request("PATCH", path, _PATCH, json.dumps(body).encode()))

    def create_event(self, body: dict[str, Any]) -> Reply:
        """A core/v1 Event in the namespace that it names; one that is there by that name already is well, too. Otherwise as the patch."""
        path = f"/api/v1/namespaces/{body['metadata']['namespace']}/events"
        return self._timed(_Request("POST", path, _JSON, json.dumps(body).encode()))

    def _timed(self, request: _Request) -> Reply:
        began = time.monotonic()
        reply = self._in_time(request)
        return reply._replace(took_s=time.monotonic() - began, problem=self._secrets.without(reply.problem))

    def _in_time(self, request: _Request) -> Reply:
        if self._stuck and self._stuck.is_alive():
            return Reply("", {}, "the API server is still looked for")
        answers: list[Reply] = []
        line = Line(TIMEOUT_S)
        call: Callable[[], None] = lambda: answers.append(self._answered(request, line))  # noqa: E731
        self._stuck = threading.Thread(target=call, daemon=True)
        self._stuck.start()
        self._stuck.join(TIMEOUT_S)
        if answers:
            return answers[0]
        line.end()
        self._stuck.join(_END_S)
        return Reply("", {}, f"the API server did not answer in {TIMEOUT_S:g} s")

    def _answered(self, request: _Request, line: Line) -> Reply:
        try:
            access = self._access()
            return self._requested(request, access, self._identity(access), line)
        except HostagentError as error:
            return Reply("", {}, error.message)
        except Exception as error:  # whatever a library raises, no transition is lost
            inner = _innermost(error)
            why = reason(inner) if isinstance(inner, OSError) else f"{type(inner).__name__}: {inner}"
            return Reply("", {}, f"the API server was not reached: {self._shown(why)}")
        finally:
            line.forget()

    def _identity(self, access: Access) -> Identity:
        if access.program is None:
            return identity(access)
        if self._given is None or self._given[0] != access.program or time.time() > self._given[1].expires_at - TIMEOUT_S:
            self._given = access.program, identity(access)
        return self._given[1]

    def _requested(self, request: _Request, access: Access, who: Identity, line: Line) -> Reply:
        requests = imported()
        self._secrets.add(who.token)
        headers = {"Accept": _ACCEPT, "Content-Type": request.kind, "User-Agent": self._agent}
        if who.token:
            headers["Authorization"] = f"Bearer {who.token}"
        url = f"{access.server}{request.path}?fieldManager={quote(self._agent.partition('/')[0])}"
        ends = time.monotonic() + TIMEOUT_S
        with requests.Session() as session:
            session.trust_env = False  # no netrc: a header of its own would take the place of ours
            if proxy := access.proxy or _environment_proxy(url):
                self._secrets.add_address(proxy)
                session.proxies["https"] = proxy
            session.mount("https://", adapter(access, who, line))
            times = (min(_CONNECT_S, TIMEOUT_S), TIMEOUT_S)
            given = {"data": request.data, "headers": headers, "timeout": times, "stream": True, "allow_redirects": False}
            with session.request(request.method, url, **given) as answer:
                text = bytearray()
                for piece in answer.iter_content(65536):
                    text += piece
                    if len(text) > _MAX_BYTES or time.monotonic() > ends:
                        return Reply("", {}, "the answer of the API server is too long or too slow")
                if answer.status_code == requests.codes.unauthorized:
                    self._given = None  # the program is asked again
                if request.method == "POST" and answer.status_code == requests.codes.conflict:
                    return Reply("", {})  # an Event by this name is there: the answer to an earlier try was lost
                return _reply(answer.status_code, answer.headers.get("Retry-After", ""), bytes(text), self._shown)

    def _shown(self, text: str) -> str:
        """Of others: without secrets, which are found before it is cut."""
        return visible(self._secrets.without(text)[:_SHOWN])


def _environment_proxy(url: str) -> str:
    """The one that the environment has for it, "" for none. Raises ``HostagentError``."""
    utils = imported().utils
    found = utils.select_proxy(url, utils.get_environ_proxies(url)) or ""
    try:
        return proxy_address(found if "://" in found else f"http://{found}", socks=True) if found else ""
    except ValueError as error:
        raise HostagentError(f"the proxy of the environment (HTTPS_PROXY or ALL_PROXY) cannot be used: {error}", "") from None


def _innermost(error: BaseException) -> BaseException:
    """What began it: each library packs the errors of the one below."""
    inner = [getattr(error, "reason", None), error.__cause__, *error.args]
    found = next((one for one in inner if isinstance(one, BaseException)), None)
    return _innermost(found) if found else error


def _reply(code: int, retry_after: str, data: bytes, shown: Callable[[str], str]) -> Reply:
    try:
        document = json.loads(data)
        metadata = document.get("metadata") or {}
        if code in (200, 201):
            labels = {str(key): str(value) for key, value in (metadata.get("labels") or {}).items()}
            return Reply(str(metadata["uid"]), labels)
        message = str(document.get("message") or "")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        message = "its answer is no object of Kubernetes"
    problem = f"the API server answers {code}: {shown(message)}".rstrip(": ")
    return Reply("", {}, problem, _seconds(retry_after), is_absent=code == 404, is_refused=code in (400, 413, 422))


def _seconds(text: str) -> float:
    """Of the header: a number of seconds, or a date. 0 for anything else; an hour at most.

    >>> _seconds("7"), _seconds(""), _seconds("soon"), _seconds("1e9")
    (7.0, 0.0, 0.0, 0.0)
    """
    if text.isascii() and text.isdigit() and len(text) < 10:
        return min(float(text), 3600.0)
    try:
        return min(max(0.0, parsedate_to_datetime(text).timestamp() - time.time()), 3600.0)
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
