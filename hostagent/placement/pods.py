"""Pods as the kubelet's admission sees them."""

from collections.abc import Mapping
from typing import Literal, NamedTuple


class Container(NamedTuple):
    """Quantities by resource name: cpu in millicores, memory and hugepages-* in bytes, devices counted."""

    name: str
    kind: Literal["app", "init", "sidecar"]
    requests: Mapping[str, int]
    limits: Mapping[str, int]


class Pod(NamedTuple):
    """`label` is what was asked for: the text of --pod, or FILE and the object's name."""

    label: str
    containers: tuple[Container, ...]  # init containers and sidecars in their order, then the others
    requests: Mapping[str, int] = {}  # of the pod as a whole (spec.resources), as of a container
    limits: Mapping[str, int] = {}
