"""The bonds that RoCE rails are on."""

from typing import NamedTuple

from hostagent.check import need, skip
from hostagent.derived.stack import stack
from hostagent.facts.gpu import Gpu
from hostagent.facts.network import Netdev, Network
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.facts.unread import Unread, UnreadError
from hostagent.profile import Profile

from ._rails import Rails, roce_ports, with_netdevs


class Bonds(NamedTuple):
    """By name of the bond: the bond, and a rail on it."""

    found: dict[str, tuple[Netdev, str]]
    rails: Rails
    gaps: tuple[Unread, ...]

    def end(self) -> None:
        self.rails.end(*self.gaps)
        if not self.found:
            skip("no rail is on a bond")


def bonds_of_rails(
    ports: tuple[RdmaPort, ...],
    nics: tuple[Nic, ...],
    gpus: tuple[Gpu, ...],
    topology: Topology | Unread,
    platform: Platform | Unread,
    network: Network,
    profile: Profile,
) -> Bonds:
    rails = with_netdevs(roce_ports(ports, nics, gpus, topology, platform, profile), network)
    found: dict[str, tuple[Netdev, str]] = {}
    gaps: list[Unread] = []
    for rail in rails.known:
        try:
            every = stack(network, rail.netdev)
            found |= {one.name: (one, rail.name) for one in every if need(one.kind) == "bond" and one.name not in found}
        except UnreadError as error:
            gaps.append(error.unread)
    return Bonds(found, rails, tuple(gaps))
