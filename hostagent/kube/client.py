"""The daemon's two kinds of write: a strategic-merge patch of the status of one node, and a new Event. Only their answers are read."""

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from hostagent.core.secret.in_use import InUse
from hostagent.kube.config import Access
from hostagent.kube.nodestatus import node_path
from hostagent.kube.sink import Reply
from hostagent.kube.transport import JSON, TIMEOUT_S, Answer, Request, Transport, UnreachedError

_ACCEPT = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"
_PATCH = "application/strategic-merge-patch+json"


class PatchClient:
    """Each request has a connection of its own: they are minutes apart."""

    def __init__(self, access: Callable[[], Access], agent: str, secrets: "InUse | None" = None, *, timeout_s: float = TIMEOUT_S) -> None:
        """As `Transport`. `agent` is also the manager of our fields."""
        self._transport = Transport(access, agent, secrets, timeout_s=timeout_s)
        self._query = f"?fieldManager={quote(agent.partition('/')[0])}"

    def patch_node_status(self, name: str, body: dict[str, Any]) -> Reply:
        """Never raises, and returns in time."""
        return self._sent("PATCH", f"{node_path(name)}/status", _PATCH, body)

    def create_event(self, body: dict[str, Any]) -> Reply:
        """A core/v1 Event in the namespace that it names; success also where one of that name exists. Otherwise as the patch."""
        return self._sent("POST", f"/api/v1/namespaces/{body['metadata']['namespace']}/events", JSON, body)

    def _sent(self, method: str, path: str, kind: str, body: dict[str, Any]) -> Reply:
        began = time.monotonic()
        try:
            answer = self._transport.send(Request(method, path + self._query, json.dumps(body).encode(), kind, _ACCEPT))
        except UnreachedError as error:
            return Reply("", {}, error.message, took_s=time.monotonic() - began)
        reply = Reply("", {}) if method == "POST" and answer.code == 409 else self._reply(answer)
        return reply._replace(took_s=time.monotonic() - began)

    def _reply(self, answer: Answer) -> Reply:
        try:
            document = json.loads(answer.data)
            metadata = document.get("metadata") or {}
            if answer.code in (200, 201):
                labels = {str(key): str(value) for key, value in (metadata.get("labels") or {}).items()}
                return Reply(str(metadata["uid"]), labels)
            message = str(document.get("message") or "")
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            message = "its answer is no object of Kubernetes"
        problem = f"the API server answers {answer.code}: {self._transport.shown(message)}".rstrip(": ")
        refused = answer.code in (400, 413, 422)
        return Reply("", {}, problem, answer.retry_after_s, is_absent=answer.code == 404, is_refused=refused)
