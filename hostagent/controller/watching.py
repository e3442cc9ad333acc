"""Threads that list and watch metadata of the selected nodes, and rules of node-readiness-controller, into one queue."""

# A full read is as of its first page: a node that is gone since, or an older version, whatever its uid, does not count. Only a
# list after 410, or after watches that were refused, may bring older versions: a restored etcd has them. Label selectors have no
# "or": two that do not overlap make one.

import contextlib
import queue
import random
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from hostagent.controller.contact import Contact
from hostagent.controller.node import ANNOTATIONS, LONGEST
from hostagent.controller.rules import NONE, PATH, Rules, parse_rules
from hostagent.kube.api import GONE, NOT_FOUND, Api, ApiError, Watch
from hostagent.kube.nodestatus import NODES
from hostagent.kube.parts import texts

_PAGE = 500
_KEPT = ("name", "uid", "resourceVersion", "labels")
#: Seconds between two lists of the rules, and before a list or watch that failed is tried again; at most before a list that the server
#: has forgotten the beginning of.
_RULES_S, _AGAIN_S, _JITTER_S = 30.0, 1.0, 3.0
#: Seconds that a server may ask to wait; between two answers, so that contact is known; watches that fail before nodes are listed again.
_LONGEST_S, _PROBE_S, _REFUSED = 60.0, 5.0, 3


class ListMark(NamedTuple):
    """A list of nodes begins or ends: a node of this selector that was not in it is gone. ``is_lost``: changes before it are unknown;
    ``is_restart``: its versions may be older than those before, as of a server that was restored.
    """

    selector: str
    is_over: bool
    is_lost: bool = False
    is_restart: bool = False


class NodeChange(NamedTuple):
    """Metadata of one node."""

    selector: str
    item: dict[str, Any]
    is_gone: bool


class NewRules(NamedTuple):
    """The rules; None: they cannot be read, for `problem`."""

    rules: Rules | None
    problem: str


Message = ListMark | NodeChange | NewRules | Exception


class Watcher(threading.Thread):
    """One list and its watch, again and again until `end`."""

    def __init__(self, api: Api, messages: "queue.Queue[Message]") -> None:
        super().__init__(daemon=True)
        self._api, self._messages, self._is_over = api, messages, threading.Event()
        self._watch: Watch | None = None

    def end(self) -> None:
        """From another thread: it ends soon."""
        self._is_over.set()
        if self._watch:
            self._watch.close()

    def run(self) -> None:
        """A bug ends the controller, by the queue: without this thread it would act on stale data."""
        try:
            while not self._is_over.is_set():
                try:
                    self._once()
                except ApiError as error:
                    self._failed(error)
                self._is_over.wait(_AGAIN_S)
            self._api.close()
        except Exception as error:
            self._put(error)

    def _put(self, message: Message) -> None:
        """Wait while the queue is full."""
        while not self._is_over.is_set():
            with contextlib.suppress(queue.Full):
                self._messages.put(message, timeout=_AGAIN_S)
                return

    def _once(self) -> None:
        raise NotImplementedError

    def _failed(self, error: ApiError) -> None:
        raise NotImplementedError

    def _events(self, path: str, version: str, selector: str, timeout_s: int) -> Any:
        """Raises `ApiError`."""
        self._watch = self._api.watch(path, version, selector=selector, form="metadata" if path == NODES else "whole", timeout_s=timeout_s)
        if self._is_over.is_set():
            self._watch.close()
        return self._watch


class NodeWatcher(Watcher):
    """The nodes of one label selector."""

    def __init__(self, api: Api, messages: "queue.Queue[Message]", selector: str, report: Callable[[str], None]) -> None:
        """`report` takes each problem, and "" when it is over."""
        super().__init__(api, messages)
        self._selector, self._report, self._version, self._is_lost, self._failures = selector, report, "", False, 0
        self._is_behind, self._has_failed = threading.Event(), False

    def _once(self) -> None:
        if self._is_behind.is_set() or not self._version:
            self._is_behind.clear()
            self._version = self._put_all()
            if self._is_behind.is_set():  # meanwhile
                return
        for event in self._events(NODES, self._version, self._selector, random.randrange(240, 360)):  # noqa: S311  not all at once
            if self._is_over.is_set():
                return
            self._recovered()
            metadata = event.object.get("metadata")
            if isinstance(metadata, dict):
                self._version = str(metadata.get("resourceVersion") or self._version)
            if event.type != "BOOKMARK":
                self._put(NodeChange(self._selector, _slim(event.object), event.type == "DELETED"))

    def _recovered(self) -> None:
        if self._has_failed:
            self._has_failed, self._failures = False, 0
            self._report("")

    def relist(self) -> None:
        """From another thread: the watch is behind, and the list is read anew."""
        self._is_behind.set()
        if self._watch:
            self._watch.close()

    def _put_all(self) -> str:
        """The version that a watch begins at."""
        is_restart = self._is_lost or self._failures >= _REFUSED
        self._put(ListMark(self._selector, is_over=False, is_lost=self._is_lost, is_restart=is_restart))
        version = ""
        for page in self._api.pages(NODES, limit=_PAGE, selector=self._selector, form="metadata"):
            version = page.resource_version
            for item in page.items:
                self._put(NodeChange(self._selector, _slim(item), is_gone=False))
        self._put(ListMark(self._selector, is_over=True))
        self._is_lost = False
        return version

    def _failed(self, error: ApiError) -> None:
        """A watch that is refused again and again is replaced by lists: what they bring is old, and better than nothing. A server that is
        not reached comes back, and then each second counts.
        """
        if error.code == GONE:
            self._version, self._is_lost = "", True
            self._is_over.wait(random.uniform(0, _JITTER_S))  # noqa: S311  spread over all that watch
            return
        self._report(f"nodes are not watched: {error.message}")
        self._has_failed = True
        self._failures += error.code > 0  # that were answered
        if not error.code:
            return
        if self._failures % _REFUSED == 0:
            self._version = ""
        longest_s = _RULES_S if error.code < 500 else _PROBE_S
        self._is_over.wait(max(min(error.retry_after_s, _LONGEST_S), min(2.0 ** min(self._failures // _REFUSED, 9) - 1.0, longest_s)))


class RuleWatcher(Watcher):
    """All rules: listed every half a minute, and watched in between."""

    def _once(self) -> None:
        items: dict[str, dict[str, Any]] = {}
        version = ""
        ends = time.monotonic() + _RULES_S
        for page in self._api.pages(PATH, limit=_PAGE):
            version = page.resource_version
            items |= {_name(item): item for item in page.items}
        self._report(items)
        with contextlib.suppress(ApiError):  # the list reports that rules cannot be read
            for event in self._events(PATH, version, "", int(_RULES_S)):
                if self._is_over.is_set():
                    return
                if event.type in ("ADDED", "MODIFIED"):
                    items[_name(event.object)] = event.object
                elif event.type == "DELETED":
                    items.pop(_name(event.object), None)
                if event.type != "BOOKMARK":
                    self._report(items)
                if time.monotonic() > ends:
                    return

    def _report(self, items: dict[str, dict[str, Any]]) -> None:
        try:
            self._put(NewRules(parse_rules(items.values()), ""))
        except ValueError as error:
            self._put(NewRules(None, str(error)))

    def _failed(self, error: ApiError) -> None:
        is_unknown_kind = error.code == NOT_FOUND
        self._put(
            NewRules(NONE, "") if is_unknown_kind else NewRules(None, f"rules of node-readiness-controller cannot be read: {error.message}")
        )
        self._is_over.wait(_RULES_S if is_unknown_kind else max(_AGAIN_S, min(error.retry_after_s, _LONGEST_S)))


class Prober(Watcher):
    """Where nothing else is answered for some seconds it asks for anything: that it is answered shows that a heartbeat would be heard. A
    thread of its own, because a write may hang.
    """

    def __init__(self, api: Api, messages: "queue.Queue[Message]", contact: Contact) -> None:
        super().__init__(api, messages)
        self._contact = contact

    def _once(self) -> None:
        if self._contact.quiet_s() >= _PROBE_S:
            next(iter(self._api.pages(NODES, limit=1, form="metadata")), None)

    def _failed(self, error: ApiError) -> None:
        self._is_over.wait(min(error.retry_after_s, _LONGEST_S))


def _slim(item: dict[str, Any]) -> dict[str, Any]:
    """Keeps what the controller uses: others' annotations may be long, and so may values of ours."""
    metadata = item.get("metadata")
    if not isinstance(metadata, dict):
        return {"metadata": {}}
    annotations = {name: text[:LONGEST] for name, text in texts(metadata, "annotations").items() if name.rpartition("/")[2] in ANNOTATIONS}
    return {"metadata": {**{name: metadata.get(name) for name in _KEPT}, "annotations": annotations}}


def _name(item: dict[str, Any]) -> str:
    metadata = item.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""
