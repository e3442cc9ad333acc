"""Resolves names in a shape that depend on the node: all GPUs, its one NIC resource."""

# gpus=N is nvidia.com/gpu, else the one GPU resource that is registered; 0 is all. nics=N is the one registered resource with a
# network card's name (rdma/, openshift.io/, mellanox.com/, EFA, or rdma, hca, sriov, mlnx, roce, infiniband, nic in it): none is
# not admitted, several are unread.

from collections.abc import Mapping

from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.kubelet.placement.node import GPU_RESOURCE, Node, is_gpu_resource
from hostagent.domains.kubelet.placement.pods import Container, Pod
from hostagent.domains.kubelet.placement.shapes import GPUS, NICS

#: Domains of network card resources, and name parts that mark a network card in other domains.
_NIC_DOMAINS = ("rdma/", "mellanox.com/", "openshift.io/", "vpc.amazonaws.com/efa", "networking.gke.io", "amazonaws.com/efa")
_NIC_WORDS = ("rdma", "hca", "sriov", "mlnx", "mlx", "roce", "infiniband", "_vf", "nic")


class UnplacedError(Exception):
    """No plug-in offers the resource here: the scheduler never sends the pod to this node."""


def is_nic_resource(name: str) -> bool:
    """Whether a registered resource is a network card, by its name.

    >>> is_nic_resource("rdma/hca_shared"), is_nic_resource("nvidia.com/sriov_ib_0"), is_nic_resource("nvidia.com/gpu")
    (True, True, False)
    """
    return not is_gpu_resource(name) and (
        name.startswith(_NIC_DOMAINS) or any(word in name.rpartition("/")[2].lower() for word in _NIC_WORDS)
    )


def resolved(node: Node, pod: Pod) -> Pod:
    """The pod with full resource names. Raises `UnplacedError` and ``UnreadError``."""
    containers = tuple(_container(node, one) for one in pod.containers)
    names = {name for one in containers for name, size in one.limits.items() if size and "/" in name}
    registered = {device.resource for device in need(node.devices)}
    missing = sorted(names - registered)
    if missing:
        raise UnplacedError(f"no device plug-in has registered {missing[0]} here: the scheduler sends no such pod to this node")
    return pod._replace(containers=containers)


def _container(node: Node, one: Container) -> Container:
    if not any(name in (GPUS, NICS) for name in (*one.requests, *one.limits)):
        return one
    return one._replace(requests=_filled(node, one.requests), limits=_filled(node, one.limits))


def _filled(node: Node, wanted: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, size in wanted.items():
        if name == GPUS:
            resource, count = _gpus(node, size)
            found[resource] = count
        elif name == NICS:
            if size:
                found[_nic(node)] = size
        else:
            found[name] = size
    return found


def _gpus(node: Node, size: int) -> tuple[str, int]:
    names = sorted({device.resource for device in need(node.devices) if is_gpu_resource(device.resource)})
    if not names:
        raise UnplacedError("no GPU is registered here, and none on PCI could be")
    resource = GPU_RESOURCE if GPU_RESOURCE in names else names[0]
    if resource != GPU_RESOURCE and len(names) > 1:
        raise UnreadError(Unread("error", f"several GPU resources are registered ({', '.join(names[:4])}): give one by its full name"))
    return resource, size or sum(1 for device in need(node.devices) if device.resource == resource)


def _nic(node: Node) -> str:
    names = sorted({device.resource for device in need(node.devices) if is_nic_resource(device.resource)})
    if not names:
        raise UnplacedError("no device plug-in has registered a NIC resource here")
    if len(names) > 1:
        raise UnreadError(Unread("error", f"several NIC resources are registered ({', '.join(names[:4])}): give one by its full name"))
    return names[0]
