"""The numbers of a node that do not depend on a pod."""

from typing import Any

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.placement.node import Node, is_gpu_resource
from hostagent.facts.kubelet import Device


def capacity(node: Node) -> dict[str, Any]:
    """The most GPUs of one NUMA node and of one pod under restricted, and the resources of each node. Unread where devices are."""
    if isinstance(node.devices, Unread):
        unknown = node.devices
        numbers = dict.fromkeys(
            ("max_gpus_single_numa_total", "max_gpus_single_numa_free", "max_gpus_restricted_free", "gpus_per_numa"), unknown
        )
        return {**numbers, **_others(node)}
    gpus = _gpus(node.devices)
    total = {one.id: sum(1 for number, _ in gpus if number == one.id) for one in node.numa}
    free = {one.id: sum(1 for number, is_free in gpus if number == one.id and is_free) for one in node.numa}
    return {
        "max_gpus_single_numa_total": max(total.values(), default=0),
        "max_gpus_single_numa_free": max(free.values(), default=0),
        "max_gpus_restricted_free": _restricted(total, free),
        "gpus_per_numa": total,
        **_others(node),
    }


def _others(node: Node) -> dict[str, dict[int, int]]:
    return {
        "cpus_per_numa": {one.id: len(one.cpus) for one in node.numa},
        "nics_per_numa": {one.id: sum(1 for _, number in node.nics if number == one.id) for one in node.numa},
    }


def _gpus(devices: tuple[Device, ...]) -> list[tuple[int, bool]]:
    """The lowest NUMA node of each GPU, -1 for none, and whether it is free."""
    found = []
    for device in devices:
        if is_gpu_resource(device.resource):
            nodes = () if isinstance(device.nodes, Unread) else device.nodes
            found.append((min(nodes, default=-1), device.healthy is not False and device.allocated is not True))
    return found


def _restricted(total: dict[int, int], free: dict[int, int]) -> int:
    """The most GPUs that some set of nodes still holds that is as small as their number needs on an empty host."""
    best = 0
    every = sorted(total.values(), reverse=True)
    left = sorted(free.values(), reverse=True)
    for size in range(1, len(every) + 1):
        most = sum(left[:size])
        if most > sum(every[: size - 1]):  # so many do not fit fewer nodes
            best = max(best, most)
    return best
