"""The RoCE ports that carry jobs, with their interfaces."""

from typing import NamedTuple

from hostagent.check import NOT_APPLICABLE, Join, Unread, UnreadError, cached, frozen, need, skip
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.rdma_devices import EFA, ETHERNET
from hostagent.facts.network import Netdev, Network
from hostagent.facts.rdma import RdmaPort


class Rail(NamedTuple):
    """A port, and the interface whose addresses it uses."""

    port: RdmaPort
    netdev: Netdev

    @property
    def name(self) -> str:
        return self.port.name


@frozen
class RoceRails(Join):
    """Those whose interface is known; and what was unread on the way, so that one port hides nothing of the others."""

    network: Network
    rails: Rails

    @property
    def known(self) -> tuple[Rail, ...]:
        return self._netdevs[0]

    @property
    def gaps(self) -> tuple[Unread, ...]:
        return self._netdevs[1]

    @cached
    def _netdevs(self) -> tuple[tuple[Rail, ...], tuple[Unread, ...]]:
        known: list[Rail] = []
        gaps: list[Unread] = []
        for port in roce_ports(self.rails):
            try:
                if name := need(port.netdev):  # else it is in another network namespace
                    known.append(Rail(port, need(self.network.netdev(name))))
            except UnreadError as error:
                gaps.append(error.unread)
        return tuple(known), tuple(gaps)

    def end(self, *others: Unread) -> None:
        """What could not be read leaves the check unknown; what does not apply to any rail skips it."""
        every = (*self.gaps, *others)
        for gap in every:
            if gap.why not in NOT_APPLICABLE:
                need(gap)
        if not self.known:
            need(every[0]) if every else skip("no interface of a RoCE port is in this network namespace")


def roce_ports(rails: Rails) -> tuple[RdmaPort, ...]:
    """In the order of their names. InfiniBand has no MTU of an interface, and EFA neither PFC nor GIDs."""
    if rails.are_unused:
        skip("the profile says that jobs need no RDMA")
    found = tuple(port for port in rails.ports if need(port.link_layer) == ETHERNET and need(port.driver) != EFA)
    return found or skip("no RoCE port carries traffic of jobs")
