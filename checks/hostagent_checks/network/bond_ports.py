"""A port of a bond that a rail is on is down, or the bond has a single port.

RoCE over such a bond works on, with the rate of the ports that are left: one that is down halves it, and jobs wait for the slowest rail.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.network.stack import below
from hostagent.facts.network import Netdev, Network

from ._bonds import bonds_of_rails
from ._rails import RoceRails

_FEWEST = 2


@check(
    title="All ports of the bonds that rails are on are up",
    severity="warning",
    scope="fabric",
    since="0.1",
    because=("rdma.port_state",),
    headline="A bond below {device} has {found} of {wanted} ports up",
    remedy=(
        Step("replace", "Look at the cable and the switch's port of the port that is down."),
        Step("configure", "See that the switch has both ports in one group (LACP).", if_back=True),
    ),
    references=("Linux kernel, Documentation/networking/bonding",),
    confirm=("grep -E 'Slave Interface|MII Status' /proc/net/bonding/*",),
)
def bond_ports(roce: RoceRails, network: Network) -> Findings:
    bonds = bonds_of_rails(roce)
    for name, (bond, rail) in bonds.found.items():
        members = _ports_of(network, bond)
        up = [one.name for one in members if need(one.state) == "up"]
        wanted = max(len(members), _FEWEST)
        if len(up) < wanted:
            lines = tuple(f"{one.name}: {need(one.state)}" for one in members)
            text = f"{name} has {len(up)} of {wanted} ports up"
            yield fail(text, code="down" if len(up) < len(members) else "single", found=len(up), wanted=wanted, evidence=lines, about=rail)
    bonds.end()


def _ports_of(network: Network, bond: Netdev) -> tuple[Netdev, ...]:
    """Raises ``UnreadError``."""
    names = need(bond.ports)
    return tuple(one for one in below(network, bond) if one.name in names)
