"""NCCL's choice on this host with the settings that a job finds: interface, network, HCAs, GPUDirect RDMA.

The interface is judged by the real library (tests/real/test_libnccl.py). Network, HCAs and GPUDirect follow NVIDIA/nccl, src/transport
and src/graph, and are tested by cases alone: no library chooses an HCA where there is none.
"""

from collections.abc import Mapping

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread, need
from hostagent.domains.nccl import interfaces
from hostagent.domains.nccl.hca_list import parse_hcas
from hostagent.domains.nccl.tables.changes import HCAS_BY_PCI, Version, max_hcas, parse_nccl_version
from hostagent.domains.network.roles import natural
from hostagent.domains.network.tables.rdma_devices import ETHERNET, INFINIBAND
from hostagent.facts.nccl import Nccl
from hostagent.facts.network import Netdev, Network
from hostagent.facts.rdma import RdmaPort

_UP = 0x1
#: With these the kernel calls an interface that is up RUNNING (netdevice(7); Linux kernel, netif_oper_up).
_RUNNING = frozenset({"up", "unknown"})
_ACTIVE = "ACTIVE"
#: One of each family, for documentation (RFC 5737, RFC 3849).
_ANY = ("192.0.2.1", "2001:db8::1")


def version(nccl: Nccl) -> "Version | Unread | None":
    """The version of the library that a job finds first; None where the host has none (the job brings its own)."""
    if isinstance(nccl.libraries, Unread):
        return nccl.libraries
    if not nccl.libraries:
        return None
    first = nccl.libraries[0]
    if isinstance(first.version, Unread):
        return first.version
    found = parse_nccl_version(first.version)
    return Unread("error", f"{first.path}: {first.version} is no version") if found is None else found


def winning(nccl: Nccl) -> Mapping[str, str]:
    """The settings in effect by name, without unknown names. Raises ``UnreadError``."""
    return {one.name: one.value for one in need(nccl.settings) if one.wins and one.is_known}


def addresses(network: Network) -> tuple[interfaces.Address, ...]:
    """The addresses of the host as the model of the interface takes them. Raises ``UnreadError``."""
    return tuple(each for one in need(network.netdevs) for each in _addresses(one))


def _addresses(one: Netdev) -> tuple[interfaces.Address, ...]:
    index, running = need(one.index), _is_running(one)
    return tuple(interfaces.Address(each.label or one.name, index, each.value, each.prefix, running) for each in need(one.addresses))


def bootstraps(network: Network, settings: Mapping[str, str], version: Version) -> tuple[interfaces.Choice, ...]:
    """The bootstrap's choice; all possible ones where an address may be of several interfaces: from a pod with a network of its own the
    host's tables leave that open. Raises ``UnreadError``.
    """
    netdevs = need(network.netdevs)
    unread = [one for one in netdevs if isinstance(one.addresses, Unread)]
    if unread and (len(unread) == len(netdevs) or "NCCL_COMM_ID" in settings):
        need(unread[0].addresses)
    known = [each for one in netdevs if not isinstance(one.addresses, Unread) for each in _addresses(one)]
    may_be = [interfaces.Address(one.name, need(one.index), value, 32, _is_running(one)) for one in unread for value in _ANY]
    if "NCCL_COMM_ID" in settings:
        return (interfaces.bootstrap(known, settings, version),)
    return interfaces.bootstraps(known, may_be, settings, version)


def _is_running(one: Netdev) -> bool:
    """RUNNING is no flag that sysfs shows: it follows from the state."""
    return bool(need(one.flags) & _UP) and need(one.state) in _RUNNING


def hcas(ports: tuple[RdmaPort, ...], value: str, version: Version, *, by_pci: bool = True) -> tuple[RdmaPort, ...]:
    """The ports that NCCL opens, of those that are active, with NCCL_IB_HCA's value ("" unset), in its order. Raises ``UnreadError``.

    Of InfiniBand and Ethernet: EFA's have neither. From 2.29.7 on they are in the order of their PCI addresses, unless
    NCCL_IB_DEVICE_PCI_ORDER is 0 (not `by_pci`). Before, and for the most that NCCL opens, in that of libibverbs, approximated by names:
    it lists devices as the kernel registered them.
    """
    wanted = parse_hcas(value, version)
    taken = (port for port in sorted(ports, key=lambda one: natural(one.name)) if wanted.takes(port.device, port.number))
    opened = [port for port in taken if need(port.state) == _ACTIVE and need(port.link_layer) in (INFINIBAND, ETHERNET)]
    most = opened[: max_hcas(version)]
    if version >= HCAS_BY_PCI and by_pci:
        most.sort(key=lambda one: (not need(one.pci), one.pci))  # what is no PCI function comes last
    return tuple(most)


@frozen
class NcclChoice:
    """NCCL's choice for a job of several nodes."""

    network: str | Unread  # IB, Socket, or a plug-in's name; "" where NCCL would stop with an error
    interface: str | Unread  # of the bootstrap and of sockets; "" where it finds none
    hcas: tuple[str, ...] | Unread  # mlx5_0:1; () where the network is no RDMA
    gdr: str | Unread  # yes, no, mixed; "" where the network is no RDMA
    why: str  # one sentence: what decides the network
