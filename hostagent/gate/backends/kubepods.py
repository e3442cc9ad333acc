"""Use of a node by pods: GPUs, and one place of a pod each, as the scheduler counts.

Source: ``PodRequests`` of k8s.io/component-helpers/resource, the scheduler's plug-in ``NodeResourcesFit``. What a pod asks for as a whole
is CPU, memory and huge pages alone: it never names a GPU.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from hostagent.domains.kubelet.placement.pods import Container, Pod, total
from hostagent.domains.kubelet.placement.quantity import whole
from hostagent.kube.parts import part, rows, text

GPU = "nvidia.com/gpu"
#: More than a node has: of a quantity that cannot be read.
_ALL = 1 << 32
#: The API server's name for pods that run on a node, or will.
_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
BOUND = f"spec.nodeName!=,{_UNFINISHED}"


def fields_of(node: str) -> str:
    """The field selector of a node's unfinished pods."""
    return f"spec.nodeName={node},{_UNFINISHED}"


class PodUse(NamedTuple):
    """Use by the unfinished pods of a node."""

    gpus: int
    pods: int


class PodSums:
    """Sums by node, of pods that come in pages; of the pods nothing else is kept."""

    def __init__(self) -> None:
        self._gpus, self._pods = defaultdict[str, int](int), defaultdict[str, int](int)

    def add(self, pods: Iterable[Mapping[str, Any]]) -> None:
        for one in pods:
            node, phase = text(part(one, "spec"), "nodeName"), text(part(one, "status"), "phase")
            if node and phase not in ("Succeeded", "Failed"):
                self._pods[node] += 1
                if gpus := gpus_of(one):
                    self._gpus[node] += gpus

    def of(self, node: str) -> PodUse:
        return PodUse(self._gpus.get(node, 0), self._pods.get(node, 0))


def gpus_of(pod: Mapping[str, Any]) -> int:
    """GPUs that the pod holds from start to end: init containers run one after the other, sidecars with all that follow."""
    spec = part(pod, "spec")
    containers = (*_containers(spec, "initContainers"), *_containers(spec, "containers"))
    overhead = _amount(part(spec, "overhead"))
    if not overhead and not any(one.requests for one in containers):
        return 0
    return total(Pod("", containers, overhead={GPU: overhead})).get(GPU, 0)


def _containers(spec: Mapping[str, Any], key: str) -> Iterator[Container]:
    for one in rows(spec, key):
        kind: Literal["app", "init", "sidecar"] = "app"
        if key == "initContainers":
            kind = "sidecar" if one.get("restartPolicy") == "Always" else "init"
        resources = part(one, "resources")
        # The API server fills in a request by the limit.
        requests, limits = part(resources, "requests"), part(resources, "limits")
        count = _amount(requests if GPU in requests else limits)
        yield Container("", kind, {GPU: count} if count else {}, {})


def _amount(quantities: Mapping[str, Any]) -> int:
    found = number(quantities.get(GPU, 0))
    return _ALL if found is None else found


def number(quantity: Any) -> "int | None":
    """Whole pieces, rounded up as the scheduler does; None for what is no quantity.

    >>> number("8"), number("8k"), number("8x"), number(None)
    (8, 8000, None, None)
    """
    try:
        return whole(quantity)
    except ValueError:
        return None
