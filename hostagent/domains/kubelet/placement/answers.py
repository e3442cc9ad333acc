"""Results of the model."""

from typing import NamedTuple

from hostagent.core.unread import Unread


class Fix(NamedTuple):
    """The fewest changes by which a rejected pod is admitted, proved by the model."""

    configuration: tuple[tuple[str, object], ...]  # KubeletConfiguration's fields and their new values, as plain JSON
    pod: tuple[tuple[str, int], ...]  # of the shape's container: cpu in millicores


class Placed(NamedTuple):
    """One pod's answer; the keys of `placeable[]`."""

    shape: str
    policy: str | Unread
    scope: str | Unread
    admitted: bool | Unread
    aligned: bool | Unread  # every resource comes from one smallest set of nodes, by guarantee
    numa_nodes: tuple[int, ...] | Unread  # () where it is not admitted, or no node was chosen
    reason: str  # the kubelet's word (TopologyAffinityError …), KubeletNotStarting, KubeletPanic, or ""
    message: str
    fix: Fix | None
