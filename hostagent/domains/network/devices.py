"""Ports and interfaces of the host as a report lists them, and the role of each port."""

from collections.abc import Mapping
from typing import NamedTuple

from hostagent.core.unread import Unread
from hostagent.domains.network.roles import Role, natural, roles
from hostagent.domains.topology.distance import Distances, classes
from hostagent.facts.gpu import Gpu
from hostagent.facts.network import Netdev
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology

#: Their other ends are in containers, which come and go. In a container it is the way out.
_LEFT_OUT, _WAY_OUT = frozenset({"loopback", "veth"}), "veth"

Roles = Mapping[str, "Role | Unread"]


class Devices(NamedTuple):
    """RDMA ports, NICs and GPUs of the host."""

    ports: "tuple[RdmaPort, ...] | Unread"
    nics: "tuple[Nic, ...] | Unread"
    gpus: "tuple[Gpu, ...] | Unread"


def sorted_ports(ports: tuple[RdmaPort, ...]) -> tuple[RdmaPort, ...]:
    """Ports by name, with numbers in it compared as numbers."""
    return tuple(sorted(ports, key=lambda port: natural(port.name)))


def roles_by_port(devices: Devices, topology: "Topology | Unread", platform: "Platform | Unread", hcas: str) -> "Roles | Unread":
    """The role of each port by its name; unread where one of the three lists is."""
    ports, nics, gpus = devices
    if isinstance(ports, Unread) or isinstance(nics, Unread) or isinstance(gpus, Unread):
        return next(part for part in devices if isinstance(part, Unread))
    if not ports:
        return {}
    distances: Distances = classes(topology, gpus, nics, platform)
    return roles(ports, nics, distances, hcas)


def shown_netdevs(netdevs: tuple[Netdev, ...], platform: "Platform | Unread") -> tuple[Netdev, ...]:
    """The interfaces that a report lists: a Kubernetes node has hundreds of others."""
    is_inside = not isinstance(platform, Unread) and platform.contained is True
    left_out = _LEFT_OUT - {_WAY_OUT} if is_inside else _LEFT_OUT
    return tuple(one for one in netdevs if isinstance(one.kind, Unread) or one.kind not in left_out)


def devices_by_netdev(ports: tuple[RdmaPort, ...]) -> dict[str, tuple[str, ...]]:
    """The RDMA devices of each interface that has some."""
    found: dict[str, tuple[str, ...]] = {}
    for port in ports:
        if isinstance(port.netdev, str):
            found[port.netdev] = (*found.get(port.netdev, ()), port.device)
    return found
