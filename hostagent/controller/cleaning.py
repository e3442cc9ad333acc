"""Finds hostagent's labels, annotations, conditions and taints on a node, and builds the patches that remove them. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hostagent.controller.node import HEARTBEAT, KEYS, Whole, is_taint, parse_whole
from hostagent.kube.parts import part, texts


class Leftovers(NamedTuple):
    """Full names. ``taints``: keys."""

    labels: tuple[str, ...]
    annotations: tuple[str, ...]
    conditions: tuple[str, ...]
    taints: tuple[str, ...]

    def __str__(self) -> str:
        """``2 labels, 1 taint``; "nothing"."""
        parts = (f"{len(found)} {name if len(found) != 1 else name[:-1]}" for name, found in self._asdict().items() if found)
        return ", ".join(parts) or "nothing"

    def __bool__(self) -> bool:
        return any(self._asdict().values())


def leftovers(item: Mapping[str, Any], prefix: str, *, with_taints: bool) -> Leftovers:
    """Of a whole node: names that begin with exactly ``<prefix>/``."""
    begins = f"{prefix}/"
    metadata = part(item, "metadata")
    whole = parse_whole(item, prefix, ())
    taints = tuple(key for key in KEYS if whole and whole.has(key)) if with_taints else ()
    return Leftovers(
        tuple(name for name in texts(metadata, "labels") if name.startswith(begins)),
        tuple(name for name in texts(metadata, "annotations") if name.startswith(begins)),
        tuple(f"{begins}{name}" for name in (whole.conditions if whole else ())),
        taints,
    )


def heartbeat(item: Mapping[str, Any], prefix: str) -> str:
    """The agent's, "" for none."""
    return texts(part(item, "metadata"), "annotations").get(f"{prefix}/{HEARTBEAT}", "")


def status_patch(item: Mapping[str, Any], found: Leftovers) -> Mapping[str, Any]:
    """Strategic-merge patch of the status: labels, annotations and conditions."""
    gone = [{"$patch": "delete", "type": name} for name in found.conditions]
    metadata = {"labels": dict.fromkeys(found.labels), "annotations": dict.fromkeys(found.annotations)}
    return {
        "metadata": _identity(item) | {name: one for name, one in metadata.items() if one},
        "status": {"conditions": gone} if gone else {},
    }


def taints_patch(item: Mapping[str, Any], whole: Whole, found: Leftovers) -> Mapping[str, Any]:
    """Merge patch of the node: its taints but ours. `item`: its newest metadata."""
    kept = [one for one in whole.taints if not any(is_taint(one, key) for key in found.taints)]
    return {"metadata": _identity(item), "spec": {"taints": kept}}


def _identity(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"uid": item["metadata"]["uid"], "resourceVersion": item["metadata"]["resourceVersion"]}
