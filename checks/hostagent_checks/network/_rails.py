"""The RoCE ports that carry jobs, with their interfaces."""

from typing import NamedTuple

from hostagent.check import need, skip
from hostagent.derived.rails import Wanted, of_host
from hostagent.facts.gpu import Gpu
from hostagent.facts.network import Netdev, Network
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.facts.unread import NOT_APPLICABLE, Unread, UnreadError
from hostagent.knowledge.rdma import EFA, ETHERNET
from hostagent.profile import Profile


class Rail(NamedTuple):
    """A port, and the interface whose addresses it uses."""

    port: RdmaPort
    netdev: Netdev

    @property
    def name(self) -> str:
        return self.port.name


class Rails(NamedTuple):
    """Those whose interface is known; and what was unread on the way, so that one port hides nothing of the others."""

    known: tuple[Rail, ...]
    gaps: tuple[Unread, ...]

    def end(self, *others: Unread) -> None:
        """What could not be read leaves the check unknown; what does not apply to any rail skips it."""
        every = (*self.gaps, *others)
        for gap in every:
            if gap.why not in NOT_APPLICABLE:
                need(gap)
        if not self.known:
            need(every[0]) if every else skip("no interface of a RoCE port is in this network namespace")


def roce_ports(
    ports: tuple[RdmaPort, ...],
    nics: tuple[Nic, ...],
    gpus: tuple[Gpu, ...],
    topology: Topology | Unread,
    platform: Platform | Unread,
    profile: Profile,
) -> tuple[RdmaPort, ...]:
    """In the order of their names. InfiniBand has no MTU of an interface, and EFA neither PFC nor GIDs."""
    if profile.rdma.required == "no":
        skip("the profile says that jobs need no RDMA")
    found = of_host(Wanted(ports, nics, gpus, topology, platform, profile.rdma.hcas))
    rails = tuple(port for port in found if need(port.link_layer) == ETHERNET and need(port.driver) != EFA)
    return rails or skip("no RoCE port carries traffic of jobs")


def with_netdevs(ports: tuple[RdmaPort, ...], network: Network) -> Rails:
    known: list[Rail] = []
    gaps: list[Unread] = []
    for port in ports:
        try:
            if name := need(port.netdev):  # else it is in another network namespace
                known.append(Rail(port, need(network.netdev(name))))
        except UnreadError as error:
            gaps.append(error.unread)
    return Rails(tuple(known), tuple(gaps))
