"""Writes the controller's decisions: PATCHes of nodes and Events; a dry run only records them."""

# A dry run lays what it would write over what it reads, so that limits count as they would.

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from hostagent.controller.node import HEARTBEAT
from hostagent.core.hashes import short_digest
from hostagent.kube.api import CONFLICT, NOT_FOUND, Api, ApiError, Patch
from hostagent.kube.nodestatus import EVENTS, node_path, stamp

_EVENTS = f"/api/v1/namespaces/{EVENTS}/events"
_COMPONENT = "hostagent-controller"
Part = Literal["node", "status"]
#: Events that are counted on when they happen again.
_REMEMBERED = 1000


class Notice(NamedTuple):
    """An Event about a node. ``key``: one Event counts all notices of one key."""

    node: str
    reason: str
    message: str
    key: str


class NotLeader(ApiError):  # noqa: N818  no error of the server
    """The lease was not renewed in time: nothing more is written."""

    def __init__(self) -> None:
        super().__init__("the lease is not held any more")


class Writer(Protocol):
    """Each method raises `ApiError`."""

    is_dry: bool

    def view(self, item: dict[str, Any]) -> dict[str, Any]:
        """A node as it is for the controller."""

    def patch(self, item: dict[str, Any], body: Mapping[str, Any], part: Part) -> dict[str, Any]:
        """Change the node; its metadata afterwards."""

    def notice(self, what: Notice, now: float) -> None:
        """Make an Event, or count one more. `now`: seconds since the epoch."""


class Live:
    """Writes. `may_write` is asked immediately before each request is sent."""

    is_dry = False

    def __init__(self, api: Api, may_write: Callable[[], bool]) -> None:
        self._api, self._may_write = api, may_write
        self._noticed: dict[str, tuple[str, int]] = {}  # by key: the name of the Event, and its count

    def view(self, item: dict[str, Any]) -> dict[str, Any]:
        """As it is."""
        return item

    def patch(self, item: dict[str, Any], body: Mapping[str, Any], part: Part) -> dict[str, Any]:
        """By uid and resourceVersion of `item`, which are in `body`."""
        path = node_path(str(item["metadata"]["name"]))
        if part == "status":
            return self._patch(f"{path}/status", body, "strategic")
        return self._patch(path, body, "merge")

    def notice(self, what: Notice, now: float) -> None:
        """A notice that is repeated counts on."""
        at = stamp(now)
        name, count = self._noticed.get(what.key, ("", 0))
        if name:
            try:
                self._patch(f"{_EVENTS}/{name}", {"count": count + 1, "lastTimestamp": at, "message": what.message}, "merge")
            except ApiError as error:
                if error.code != NOT_FOUND:  # Events are forgotten after an hour
                    raise
                name = ""
        if not name:
            name, count = f"{_COMPONENT}-{short_digest(what.key)}-{int(now * 1000):x}", 0
            try:
                with self._leading():
                    self._api.create(_EVENTS, _event(what, name, at), may_send=self._may_write)
            except ApiError as error:
                if error.code != CONFLICT:
                    raise
        self._noticed[what.key] = name, count + 1
        if len(self._noticed) > _REMEMBERED:
            del self._noticed[next(iter(self._noticed))]

    def _patch(self, path: str, body: Mapping[str, Any], kind: Patch) -> dict[str, Any]:
        with self._leading():
            return self._api.patch(path, body, kind, may_send=self._may_write)

    @contextlib.contextmanager
    def _leading(self) -> Iterator[None]:
        """Whatever fails once the lease is lost is `NotLeader`."""
        try:
            yield
        except ApiError:
            if self._may_write():
                raise
            raise NotLeader from None


class Dry:
    """Writes nothing. Its records overlay what is read, so that limits count as in a real run."""

    is_dry = True

    def __init__(self, prefix: str) -> None:
        """`prefix`: of our names."""
        self._heartbeat = f"{prefix}/{HEARTBEAT}"
        self._over: dict[str, tuple[str, dict[str, Any], str]] = {}  # by node: uid, parts of the object, heartbeat of a closing

    def view(self, item: dict[str, Any]) -> dict[str, Any]:
        """With what would have been written, until the agent writes itself."""
        metadata = item.get("metadata") or {}
        uid, parts, heartbeat = self._over.get(str(metadata.get("name")), ("", {}, ""))
        if not parts or metadata.get("uid") != uid:
            return item
        annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
        is_silent = str(annotations.get(self._heartbeat)) == heartbeat
        merged = {**metadata, "annotations": _merged(annotations, parts["annotations"])}
        merged["labels"] = {**labels, **(parts["labels"] if is_silent else {})}
        spec = {"spec": {**(item.get("spec") or {}), "taints": parts["taints"]}} if parts["taints"] is not None and "spec" in item else {}
        return {**item, "metadata": merged, **spec}

    def patch(self, item: dict[str, Any], body: Mapping[str, Any], part: Part) -> dict[str, Any]:
        """`item` as `view` gave it."""
        metadata, change = item["metadata"], body["metadata"]
        name = str(metadata["name"])
        uid, before, heartbeat = self._over.get(name, ("", {}, ""))
        before = before if uid == metadata["uid"] else {}
        parts = {
            "annotations": {**before.get("annotations", {}), **change["annotations"]},
            "labels": {**before.get("labels", {}), **change.get("labels", {})},
            "taints": (body.get("spec") or {}).get("taints", before.get("taints")),
        }
        if part == "status":
            heartbeat = str((metadata.get("annotations") or {}).get(self._heartbeat))
        self._over[name] = (str(metadata["uid"]), parts, heartbeat)
        return self.view(item)

    def notice(self, what: Notice, now: float) -> None:
        """No Event."""


def _merged(before: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**before, **change}.items() if value is not None}


def _event(what: Notice, name: str, at: str) -> dict[str, Any]:
    """`kubectl describe node` finds it by the node's name in the place of a uid, as the kubelet's own have it."""
    return {
        "metadata": {"name": name, "namespace": EVENTS},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": what.node, "uid": what.node},
        "type": "Warning",
        "reason": what.reason,
        "message": what.message,
        "source": {"component": _COMPONENT},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
