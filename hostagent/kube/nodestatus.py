"""What is said of a node, as one strategic-merge patch of its status: conditions of others, which the patch does not name, stay.

Source: Kubernetes, "Update API Objects in Place Using kubectl patch"; conditions are merged by their type.
"""

import time
from typing import Any

from hostagent.report.nodewords import Condition, NodeWords


def body(words: NodeWords, prefix: str, now: float, *, labels: bool = True) -> dict[str, Any]:
    """Everything, so that what somebody removed by hand comes back. `now`: seconds since the epoch; `labels`: whether these, too."""
    conditions = [_condition(one, prefix, now) for one in words.conditions]
    gone = [{"$patch": "delete", "type": f"{prefix}/{name}"} for name in words.removed]
    said = {**words.annotations, "heartbeat": stamp(now)}
    metadata: dict[str, Any] = {"annotations": _prefixed(said, prefix)}
    if labels and words.labels:
        metadata["labels"] = _prefixed(words.labels, prefix)
    return {"metadata": metadata, "status": {"conditions": conditions + gone}}


def stamp(seconds: float) -> str:
    """RFC 3339, whole seconds, as the API server has times.

    >>> stamp(1764000000.9)
    '2025-11-24T16:00:00Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _condition(one: Condition, prefix: str, now: float) -> dict[str, str]:
    return {
        "type": f"{prefix}/{one.type}",
        "status": one.status,
        "reason": one.reason,
        "message": one.message,
        "lastHeartbeatTime": stamp(now),
        "lastTransitionTime": stamp(one.changed_at),
    }


def _prefixed(values: "dict[str, str | None] | Any", prefix: str) -> dict[str, str | None]:
    return {f"{prefix}/{name}": value for name, value in values.items()}
