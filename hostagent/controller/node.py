"""Parses a node: the metadata that the controller caches, and the whole that it reads before a write."""

from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple

from hostagent.kube.parts import part, rows, texts

NOT_READY = "readiness.k8s.io/hostagent-not-ready"
MULTI_NODE = "readiness.k8s.io/hostagent-multi-node-not-ready"
#: The taints of hostagent, in the order in which they are set. Each has the effect NoSchedule.
KEYS = (NOT_READY, MULTI_NODE)
EFFECT = "NoSchedule"
#: Annotations, without prefix: of the agent, and of the controller.
SUMMARY, HEARTBEAT = "summary", "heartbeat"
CLOSED, TAINTED, WHY = "closed", "tainted", "why"
ANNOTATIONS = (SUMMARY, HEARTBEAT, CLOSED, TAINTED, WHY)
SILENT = "silent"
#: The reason of conditions of a silent agent.
AGENT_SILENT = "AgentSilent"
#: Characters of an annotation that are looked at: each of ours is shorter.
LONGEST = 256
#: Labels, without prefix, by the key of their taint.
LABELS = {NOT_READY: "ready", MULTI_NODE: "multi-node-ready"}
Readiness = Literal["true", "false", "unknown"]


class Node(NamedTuple):
    """The metadata of one node. ``heartbeat`` is compared with an earlier one only: no clock is. ``tainted``: keys that the controller has
    set, by its own mark. ``is_marked``: the controller has closed the node for silence. ``labels``: those that rules select by.
    """

    name: str
    uid: str
    resource_version: str
    ready: Readiness
    multi_node: Readiness
    has_verdict: bool
    heartbeat: str
    is_marked: bool
    tainted: tuple[str, ...]
    labels: Mapping[str, str]

    @property
    def is_closed(self) -> bool:
        """For silence: the agent's next verdict ends it."""
        return self.is_marked and self.ready == "unknown"

    def readiness(self, key: str) -> Readiness:
        """By the label that belongs to the taint `key`."""
        return self.ready if key == NOT_READY else self.multi_node


class Whole(NamedTuple):
    """A node with its spec and status. ``conditions``: ours, by their type without prefix. ``why``: the controller's annotation."""

    node: Node
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, Any], ...]
    conditions: Mapping[str, Mapping[str, Any]]
    why: str
    is_cordoned: bool = False

    def has(self, key: str) -> bool:
        """Whether it has the taint `key` with NoSchedule, set by any client."""
        return any(is_taint(one, key) for one in self.taints)

    def other_effects(self, key: str) -> tuple[str, ...]:
        """Of taints of the same key that are not the controller's."""
        return tuple(str(one.get("effect")) for one in self.taints if one.get("key") == key and not is_taint(one, key))

    @property
    def is_overwritten(self) -> bool:
        """Whether it is marked as silent, and its agent has written its conditions since."""
        return self.node.is_marked and bool(self.conditions) and all(one.get("reason") != AGENT_SILENT for one in self.conditions.values())

    def is_first_pass(self, key: str) -> bool:
        """Whether the agent has just begun, and has not judged the node yet."""
        condition = self.conditions.get("Ready" if key == NOT_READY else "MultiNodeReady", {})
        return condition.get("status") == "Unknown" and condition.get("reason") == "FirstPass"


def parse_node(item: Mapping[str, Any], prefix: str, keys: Collection[str]) -> "Node | None":
    """Of a Node or a PartialObjectMetadata; None for what is neither. `keys`: labels that rules select by."""
    metadata = part(item, "metadata")
    labels, annotations = texts(metadata, "labels"), texts(metadata, "annotations")
    name, uid = metadata.get("name"), metadata.get("uid")
    if not isinstance(name, str) or not isinstance(uid, str):
        return None
    marks = annotations.get(f"{prefix}/{TAINTED}", "")[:LONGEST].split(",")
    return Node(
        name=name,
        uid=uid,
        resource_version=str(metadata.get("resourceVersion") or ""),
        ready=_readiness(labels.get(f"{prefix}/{LABELS[NOT_READY]}")),
        multi_node=_readiness(labels.get(f"{prefix}/{LABELS[MULTI_NODE]}")),
        has_verdict=f"{prefix}/{SUMMARY}" in annotations,
        heartbeat=annotations.get(f"{prefix}/{HEARTBEAT}", "")[:LONGEST],
        is_marked=annotations.get(f"{prefix}/{CLOSED}") == SILENT,
        tainted=tuple(key for key in KEYS if key in marks),
        labels={key: labels[key] for key in keys if key in labels},
    )


def parse_whole(item: Mapping[str, Any], prefix: str, keys: Collection[str]) -> "Whole | None":
    """As `parse_node`."""
    node = parse_node(item, prefix, keys)
    if node is None:
        return None
    metadata, begins = part(item, "metadata"), f"{prefix}/"
    listed = rows(part(item, "status"), "conditions")
    ours = {str(one["type"])[len(begins) :]: one for one in listed if str(one.get("type")).startswith(begins)}
    why = texts(metadata, "annotations").get(f"{prefix}/{WHY}", "")
    spec = part(item, "spec")
    return Whole(node, texts(metadata, "labels"), tuple(rows(spec, "taints")), ours, why, spec.get("unschedulable") is True)


def _readiness(label: "str | None") -> Readiness:
    return "true" if label == "true" else "false" if label == "false" else "unknown"


def is_taint(taint: Mapping[str, Any], key: str) -> bool:
    """Whether it is `key` with NoSchedule. Another effect under the same key is another taint."""
    return taint.get("key") == key and taint.get("effect") == EFFECT
