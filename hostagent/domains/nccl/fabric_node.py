"""The host as a node of `domains.nccl`, from facts: for checks, and for the part of a report that other hosts read.

A node of a report (`hostagent.domains.nccl.node.parse_node`) and this one have one fabric class; a test holds that over all recorded hosts.
"""

from collections.abc import Mapping
from typing import NamedTuple

from hostagent.core.frozen import frozen
from hostagent.core.join import Join, cached
from hostagent.core.tables.pci import is_for_jobs
from hostagent.core.unread import NOT_APPLICABLE, Unread, need, then
from hostagent.domains.nccl import node as of_nccl
from hostagent.domains.nccl.agreement import rails
from hostagent.domains.network.devices import Devices, Roles, devices_by_netdev, roles_by_port, shown_netdevs, sorted_ports
from hostagent.domains.network.gids import chosen
from hostagent.domains.network.gpudirect import gdr, unasked
from hostagent.domains.network.mtu import active_mtu
from hostagent.facts import gpu as gpus_of_host
from hostagent.facts import nccl as nccl_of_host
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.network import Netdev, Network, Priorities
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Rdma, RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.profiles.profile import Profile


class Wanted(NamedTuple):
    """The facts that a node is made of. `hcas` is the profile's ``rdma.hcas``."""

    devices: Devices
    topology: "Topology | Unread"
    platform: "Platform | Unread"
    network: "Network | Unread"
    kernel: "Kernel | Unread"
    driver: "Driver | Unread"
    rdma: "Rdma | Unread"
    hcas: str
    nccl: "nccl_of_host.Nccl | Unread" = Unread("not-recorded", "the fabric class is made without it")


@frozen
class FabricNode(Join):
    """The host as a node, and why parts of it were not read."""

    ports: tuple[RdmaPort, ...] | Unread
    nics: tuple[Nic, ...] | Unread
    gpus: tuple[gpus_of_host.Gpu, ...] | Unread
    topology: Topology | Unread
    platform: Platform | Unread
    network: Network | Unread
    kernel: Kernel | Unread
    driver: Driver | Unread
    rdma: Rdma | Unread
    profile: Profile

    @cached
    def node(self) -> of_nccl.Node:
        devices, hcas = Devices(self.ports, self.nics, self.gpus), self.profile.rdma.hcas
        return node(Wanted(devices, self.topology, self.platform, self.network, self.kernel, self.driver, self.rdma, hcas))

    @property
    def unasked_priorities(self) -> Unread | None:
        """Raises ``UnreadError``."""
        return unasked_priorities(self.node, self.network)

    @property
    def unasked_gdr(self) -> Unread | None:
        return unasked(self.kernel, self.driver, self.rdma)


def node(wanted: Wanted) -> of_nccl.Node:
    """The node without findings, time and origin."""
    known = wanted.network if isinstance(wanted.network, Unread) else wanted.network.netdevs
    ports, gpus = wanted.devices.ports, wanted.devices.gpus
    devices = then(ports, devices_by_netdev)
    by_port = roles_by_port(wanted.devices, wanted.topology, wanted.platform, wanted.hcas)
    shown = then(known, lambda listed: shown_netdevs(listed, wanted.platform))
    ways = gdr(wanted.kernel, wanted.driver, wanted.rdma)
    facts = of_nccl.Facts(
        fabric=of_nccl.Fabric(
            nics=then(shown, lambda listed: tuple(_interface(one, devices) for one in listed)),
            rdma=then(ports, lambda listed: tuple(_port(one, by_port, wanted.network) for one in sorted_ports(listed))),
            gdr=of_nccl.Gdr(ways.peermem, ways.dmabuf),
        ),
        nccl=then(wanted.nccl, _nccl),
        gpus=then(gpus, lambda listed: tuple(_gpu(one) for one in listed if is_for_jobs(one.bound_to, vga=one.vga, excluded=one.excluded))),
        driver=then(wanted.driver, lambda found: of_nccl.Driver(found.loaded_version)),
        platform=then(wanted.platform, lambda found: of_nccl.Platform(found.name, found.contained)),
    )
    return of_nccl.Node(0.0, "", False, False, of_nccl.Host("", ""), (), facts)


def unasked_priorities(host: of_nccl.Node, network: "Network | Unread") -> "Unread | None":
    """Why a card below a rail could not be asked for its priorities; None where all of them answered, also that they do not know.

    Raises ``UnreadError`` where it is not known which cards these are.
    """
    listed = need(need(network).netdevs)
    for port in rails(host):
        name = need(port.netdev)
        for one in listed if name else ():
            if one.name != name and (isinstance(one.master, Unread) or one.master != name):
                continue
            gap = one.priorities if isinstance(one.priorities, Unread) else one.priorities.asked
            if isinstance(gap, Unread) and gap.why not in NOT_APPLICABLE:
                return gap
    return None


def _interface(one: Netdev, devices: "Mapping[str, tuple[str, ...]] | Unread") -> of_nccl.Interface:
    addresses = then(one.addresses, lambda listed: tuple(f"{each.value}/{each.prefix}" for each in listed))
    rdma = then(devices, lambda known: known.get(one.name, ()))
    priorities = then(one.priorities, _priorities)
    return of_nccl.Interface(one.name, one.kind, one.state, one.mtu, one.master, one.parent, addresses, rdma, priorities)


def _priorities(priorities: Priorities) -> of_nccl.Priorities:
    return of_nccl.Priorities(priorities.lossless, priorities.trust, priorities.dscp, priorities.firmware_dcbx)


def _port(port: RdmaPort, by_port: "Roles | Unread", network: "Network | Unread") -> of_nccl.Port:
    gid = chosen(port)
    return of_nccl.Port(
        pci=port.pci,
        netdev=port.netdev,
        link_layer=port.link_layer,
        state=port.state,
        rate_gbps=port.rate_gbps,
        role=then(by_port, lambda known: known[port.name]),
        active_mtu=active_mtu(port, network).value,
        gid=then(gid, lambda found: of_nccl.Gid(found.index, found.value, found.type)),
        driver=port.driver,
        firmware=port.firmware,
        device=port.device,
        number=port.number,
    )


def _gpu(one: gpus_of_host.Gpu) -> of_nccl.Gpu:
    mig = then(one.mig, lambda found: of_nccl.Mig(found.current))
    return of_nccl.Gpu(one.name, one.numa_node, one.compute_capability, one.memory_bytes, mig)


def _nccl(found: nccl_of_host.Nccl) -> of_nccl.Nccl:
    libraries = then(found.libraries, lambda listed: tuple(of_nccl.Library(one.path, one.version) for one in listed))
    plugins = then(found.plugins, lambda listed: tuple(of_nccl.Plugin(one.path, then(one.kinds, ",".join), one.missing) for one in listed))
    return of_nccl.Nccl(libraries, plugins, then(found.settings, lambda listed: tuple(map(_setting, listed))))


def _setting(one: nccl_of_host.NcclSetting) -> of_nccl.Setting:
    return of_nccl.Setting(one.name, one.kept, one.wins, one.origin)
