"""Builds the strategic-merge patch of a node's status: conditions of others, which the patch does not name, stay.

Source: Kubernetes, "Update API Objects in Place Using kubectl patch"; conditions are merged by their type.
"""

import time
from typing import Any
from urllib.parse import quote

from hostagent.core.hashes import short_digest
from hostagent.engine.report.node_status import Condition, NodeWords, Transition

#: Where Events about nodes live: the API server takes no other namespace for them.
EVENTS = "default"
NODES = "/api/v1/nodes"


def node_path(name: str) -> str:
    """Of one node, on the API server."""
    return f"{NODES}/{quote(name, safe='')}"


def body(words: NodeWords, prefix: str, judged_at: float) -> dict[str, Any]:
    """The whole patch, so that what was removed by hand comes back. `judged_at`: the last judged pass, seconds since the epoch, 0 before
    the first one: it is the heartbeat. When this is written proves nothing of the host.
    """
    conditions = [_condition(one, prefix, judged_at) for one in words.conditions]
    gone = [{"$patch": "delete", "type": f"{prefix}/{name}"} for name in words.removed]
    annotations = {**words.annotations, **({"heartbeat": stamp(judged_at)} if judged_at else {})}
    metadata: dict[str, Any] = {"annotations": _prefixed(annotations, prefix)}
    if words.labels:
        metadata["labels"] = _prefixed(words.labels, prefix)
    return {"metadata": metadata, "status": {"conditions": conditions + gone}}


def stamp(seconds: float) -> str:
    """RFC 3339, whole seconds, as the API server has times.

    >>> stamp(1764000000.9)
    '2025-11-24T16:00:00Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def event(turned: Transition, node: str, prefix: str) -> dict[str, Any]:
    """A core/v1 Event about the node, of one name however often it is sent. `kubectl describe node` finds it by the node's name in the
    place of a uid, as the kubelet's own have it.
    """
    at = stamp(turned.at)
    says = f"{prefix}/{turned.condition} is {turned.new or 'removed'}, was {turned.old or 'not set'}"
    return {
        "metadata": {"name": f"hostagent-{short_digest(node)}-{turned.number:x}-{int(turned.at):x}", "namespace": EVENTS},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node, "uid": node},
        "type": "Normal" if turned.new in ("True", "") else "Warning",
        "reason": turned.reason,
        "message": f"{says}{f': {turned.message}' if turned.message else ''}",
        "source": {"component": "hostagent", "host": node},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }


def _condition(one: Condition, prefix: str, judged_at: float) -> dict[str, str]:
    return {
        "type": f"{prefix}/{one.type}",
        "status": one.status,
        "reason": one.reason,
        "message": one.message,
        "lastHeartbeatTime": stamp(judged_at or one.changed_at),
        "lastTransitionTime": stamp(one.changed_at),
    }


def _prefixed(values: "dict[str, str | None] | Any", prefix: str) -> dict[str, str | None]:
    return {f"{prefix}/{name}": value for name, value in values.items()}
