"""Reads and changes objects of a cluster: GET, LIST in pages, WATCH with bookmarks, PATCH, POST and PUT.

Source: Kubernetes, "Kubernetes API Concepts".
"""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from hostagent.core.errors import HostagentError
from hostagent.core.secret.in_use import InUse
from hostagent.kube.config import Access
from hostagent.kube.parts import part, text
from hostagent.kube.transport import JSON, TIMEOUT_S, Answer, Request, Stream, Transport, UnreachedError

#: ``metadata``: the object without spec and status (PartialObjectMetadata).
Form = Literal["whole", "metadata"]
Patch = Literal["merge", "strategic"]
_KINDS = {"merge": "application/merge-patch+json", "strategic": "application/strategic-merge-patch+json"}
_GROUP = "g=meta.k8s.io;v=v1"
_MIB = 1024 * 1024
#: Bytes of one page of a list.
_MAX_PAGE = 64 * _MIB
#: HTTP codes that do not prove that the cluster works: the server is overloaded, or behind it something is away.
_NO_PROOF = (429,)
_EVENTS = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
GONE, CONFLICT, NOT_FOUND, INVALID = 410, 409, 404, 422


class ApiError(HostagentError):
    """The server refused. ``code``: HTTP's, 0 where no answer came, 200 or 201 where the answer is unreadable; ``fields``: that the
    Status names, such as metadata.uid; ``is_not_found``: by the API server itself, not by a proxy before it; ``retry_after_s``: what
    the server asks to wait.
    """

    def __init__(self, message: str, code: int = 0, status: "Mapping[str, Any] | None" = None, retry_after_s: float = 0.0) -> None:
        super().__init__(message, "")
        self.code, self.retry_after_s = code, retry_after_s
        self.is_not_found = code == NOT_FOUND and text(status or {}, "reason") == "NotFound"
        causes = part(status or {}, "details").get("causes")
        self.fields = tuple(text(one, "field") for one in causes if isinstance(one, dict)) if isinstance(causes, list) else ()


class Page(NamedTuple):
    """One page of a list. ``following``: what asks for the next one, "" for the last."""

    items: list[dict[str, Any]]
    resource_version: str
    following: str = ""


class Listing(NamedTuple):
    """What is listed: label selector, field selector, and how many objects a page has."""

    path: str
    limit: int
    selector: str = ""
    fields: str = ""
    form: Form = "whole"


_T = TypeVar("_T")


def of_pages(read: "Callable[[str], Page]", take: "Callable[[Page], _T]") -> Iterator[_T]:
    """What `take` makes of each page of a list, which is gone before the next one is read; `read`: as `Page.following` asks."""
    following = ""
    while True:
        page = read(following)
        taken, following = take(page), page.following
        del page
        yield taken
        if not following:
            return


class Event(NamedTuple):
    """``type``: ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: dict[str, Any]


class Api:
    """Requests of one thread. Every method raises `ApiError`."""

    def __init__(
        self,
        access: Callable[[], Access],
        agent: str,
        secrets: "InUse | None" = None,
        *,
        on_answer: "Callable[[], None] | None" = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """`access` and `secrets` as of `Transport`; `agent`: the User-Agent and the manager of our fields. `on_answer` is called after each
        answer and each event of a watch, except server errors, 429 and what is no object of Kubernetes.
        """
        self._transport = Transport(access, agent, secrets, keeps=True, timeout_s=timeout_s)
        self._manager = {"fieldManager": agent.partition("/")[0]}
        self._on_answer = on_answer or (lambda: None)
        #: The server's clock at its last answer, in seconds since 1970; None where the answer had no time.
        self.answered_at: float | None = None

    def another(self) -> "Api":
        """For another thread, with a connection of its own: a program that has given a credential is not run again."""
        found = copy.copy(self)
        found._transport = self._transport.another()  # noqa: SLF001  # of its own class
        return found

    def close(self) -> None:
        """Close the open connection."""
        self._transport.close()

    def get(self, path: str, *, form: Form = "whole") -> dict[str, Any]:
        """One object."""
        return self._object(Request("GET", path, accept=_accept(form, "")))

    def pages(self, path: str, *, limit: int, selector: str = "", form: Form = "whole") -> Iterator[Page]:
        """A list as of one moment, `limit` objects a page. A list that takes longer than the server remembers (5 minutes) ends with 410."""
        listing = Listing(path, limit, selector, form=form)
        return of_pages(lambda following: self.page(listing, following), lambda page: page)

    def page(self, listing: Listing, following: str = "") -> Page:
        """One page of a list, as of the moment of its first page; `following`: of the page before."""
        path, limit, selector, fields, form = listing
        query = {"limit": str(limit), "labelSelector": selector, "fieldSelector": fields, "continue": following}
        found = self._object(Request("GET", _with(path, query), accept=_accept(form, "List"), most_bytes=_MAX_PAGE))
        metadata, items = part(found, "metadata"), found.get("items", "")
        items = [] if items is None else items  # null: no object of that selector, in the form metadata
        version = text(metadata, "resourceVersion")
        if not version or not _is_list(items) or not text(found, "kind").endswith("List"):
            raise ApiError("the answer of the API server is no list", 200)
        return Page(items, version, text(metadata, "continue"))

    def count(self, path: str) -> int:
        """How many objects there are: a Table of one row says how many follow."""
        query = {"limit": "1", "includeObject": "None"}
        found = self._object(Request("GET", _with(path, query), accept=f"{JSON};as=Table;{_GROUP},{JSON}", most_bytes=_MAX_PAGE))
        listed, rest = found.get("rows"), part(found, "metadata").get("remainingItemCount", 0)
        listed = [] if listed is None else listed
        if not isinstance(listed, list) or type(rest) is not int or text(found, "kind") != "Table":
            raise ApiError("the answer of the API server is no table", 200)
        return len(listed) + rest

    def watch(self, path: str, resource_version: str, *, selector: str = "", form: Form = "whole", timeout_s: int = 300) -> "Watch":
        """Changes since `resource_version`, with bookmarks. The server ends it after `timeout_s`."""
        query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": resource_version, "timeoutSeconds": str(timeout_s)}
        request = Request("GET", _with(path, {**query, "labelSelector": selector}), accept=_accept(form, ""))
        try:
            stream = self._transport.stream(request, Watch.SILENT_S)
        except UnreachedError as error:
            raise ApiError(error.message) from None
        if isinstance(stream, Answer):
            self._accepted(stream)
            raise ApiError("the answer of the API server is no watch", stream.code)
        self._on_answer()
        return Watch(stream, self._on_answer, self._error)

    def patch(self, path: str, body: Mapping[str, Any], kind: Patch, *, may_send: "Callable[[], bool] | None" = None) -> dict[str, Any]:
        """With ``metadata.uid`` and ``metadata.resourceVersion`` in `body` a newer object gives 409, a new one of its name 422 of
        metadata.uid. `may_send`: as of `Request`.
        """
        data, accept = json.dumps(body).encode(), _accept("metadata", "")
        return self._object(Request("PATCH", _with(path, self._manager), data, _KINDS[kind], accept, may_send=may_send))

    def create(self, path: str, body: Mapping[str, Any], *, may_send: "Callable[[], bool] | None" = None) -> dict[str, Any]:
        """A new object; one of its name is 409. `may_send`: as of `Request`."""
        return self._object(Request("POST", _with(path, self._manager), json.dumps(body).encode(), may_send=may_send))

    def replace(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The whole object, as of the resourceVersion in `body`; of a newer one 409."""
        return self._object(Request("PUT", _with(path, self._manager), json.dumps(body).encode()))

    def _object(self, request: Request) -> dict[str, Any]:
        try:
            answer = self._transport.send(request)
        except UnreachedError as error:
            raise ApiError(error.message) from None
        self.answered_at = answer.date
        found = self._accepted(answer)
        if found is None:
            raise ApiError("the answer of the API server is no object of Kubernetes", answer.code)
        return found

    def _accepted(self, answer: Answer) -> "dict[str, Any] | None":
        found = _document(answer.data)
        if (
            found is not None
            and answer.code < 500
            and answer.code not in _NO_PROOF
            and (answer.code < 300 or found.get("kind") == "Status")
        ):
            self._on_answer()
        if answer.code not in (200, 201):
            raise self._error(answer.code, found, answer.retry_after_s)
        return found

    def _error(self, code: int, status: "dict[str, Any] | None", retry_after_s: float = 0.0) -> ApiError:
        message = self._transport.shown(text(status or {}, "message"))
        return ApiError(f"the API server answers {code}: {message}".rstrip(": "), code, status, retry_after_s)


class Watch:
    """Events of one WATCH. Ended by the server, by `close`, or by an `ApiError`: 410 where the server has forgotten its resourceVersion."""

    #: Seconds in which the server sends an event or a bookmark (one a minute).
    SILENT_S = 90.0

    def __init__(self, stream: Stream, on_answer: Callable[[], None], error: Callable[[int, "dict[str, Any] | None"], ApiError]) -> None:
        self._stream, self._on_answer, self._error = stream, on_answer, error

    def __iter__(self) -> Iterator[Event]:
        try:
            for line in self._stream:
                found = _document(line) or {}
                kind, item = text(found, "type"), found.get("object")
                if not isinstance(item, dict) or kind not in _EVENTS:
                    raise ApiError("an event of the API server is none of Kubernetes", 200)
                if kind == "ERROR":
                    raise self._error(_code(item.get("code")), item)
                self._on_answer()
                yield Event(kind, item)
        except UnreachedError as error:
            raise ApiError(error.message) from None
        finally:
            self.close()

    def close(self) -> None:
        """From any thread."""
        self._stream.close()


def _is_list(items: Any) -> bool:
    return isinstance(items, list) and all(isinstance(one, dict) for one in items)


def _code(value: Any) -> int:
    return value if isinstance(value, int) and 400 <= value < 600 else 500


def _accept(form: Form, suffix: str) -> str:
    return JSON if form == "whole" else f"{JSON};as=PartialObjectMetadata{suffix};{_GROUP},{JSON}"


def _with(path: str, query: Mapping[str, str]) -> str:
    given = {name: value for name, value in query.items() if value}
    text = urlencode(given, quote_via=quote, errors="replace")
    return f"{path}?{text}" if given else path


def _document(data: bytes) -> "dict[str, Any] | None":
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
