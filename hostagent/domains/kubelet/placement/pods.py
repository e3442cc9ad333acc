"""Pods as the kubelet's admission sees them."""

from collections.abc import Mapping
from typing import Literal, NamedTuple


class Container(NamedTuple):
    """Quantities by resource name: cpu in millicores, memory and hugepages-* in bytes, devices counted."""

    name: str
    kind: Literal["app", "init", "sidecar"]
    requests: Mapping[str, int]
    limits: Mapping[str, int]
    has_fractions: bool = False  # memory or huge pages are asked for in fractions of a byte: memory: 100m


class Pod(NamedTuple):
    """`label` is what was asked for: the text of --pod, or FILE and the object's name."""

    label: str
    containers: tuple[Container, ...]  # init containers and sidecars in their order, then the others
    requests: Mapping[str, int] = {}  # of the pod as a whole (spec.resources), as of a container
    limits: Mapping[str, int] = {}
    has_group: bool = False  # spec.resources is there, and be it empty: then it alone makes the QoS class
    overhead: Mapping[str, int] = {}  # of its runtime class
    claims: tuple[str, ...] = ()  # resource claims, by name: devices that no device plug-in gives

    @property
    def in_order(self) -> tuple[Container, ...]:
        """As admission walks over them: init containers and sidecars, then the others."""
        return tuple(sorted(self.containers, key=lambda one: one.kind == "app"))

    @property
    def has_own_resources(self) -> bool:
        """Whether spec.resources names something that a pod as a whole can have."""
        return any(name in _OF_A_POD or name.startswith("hugepages-") for name in (*self.requests, *self.limits))


_OF_A_POD = ("cpu", "memory")


def total(pod: Pod, *, limits: bool = False) -> dict[str, int]:
    """The total as the kubelet counts it: app containers and sidecars, or the largest init container with the sidecars before it."""
    together: dict[str, int] = {}
    before: dict[str, int] = {}
    largest: dict[str, int] = {}
    for one in pod.in_order:
        wanted = one.limits if limits else one.requests
        if one.kind != "init":
            _add(together, wanted)
        if one.kind == "sidecar":
            _add(before, wanted)
        if one.kind != "app":
            now = dict(before)
            if one.kind == "init":
                _add(now, wanted)
            for name, size in now.items():
                largest[name] = max(largest.get(name, 0), size)
    for name, size in largest.items():
        together[name] = max(together.get(name, 0), size)
    if pod.has_own_resources:
        own = pod.limits if limits else pod.requests
        together |= {name: size for name, size in own.items() if name in _OF_A_POD or name.startswith("hugepages-")}
    if not limits:
        _add(together, pod.overhead)
    return together


def _add(to: dict[str, int], more: Mapping[str, int]) -> None:
    for name, size in more.items():
        to[name] = to.get(name, 0) + size


def is_guaranteed(pod: Pod) -> bool:
    """The QoS class Guaranteed: CPU and memory limits everywhere, and requests equal to them."""
    groups = [(pod.requests, pod.limits)] if pod.has_group else [(one.requests, one.limits) for one in pod.containers]
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    for wanted, most in groups:
        _add(requests, {name: size for name, size in wanted.items() if name in _OF_A_POD and size > 0})
        _add(limits, {name: size for name, size in most.items() if name in _OF_A_POD and size > 0})
        if not all(most.get(name, 0) > 0 for name in _OF_A_POD):
            return False
    return bool(groups) and requests == limits
