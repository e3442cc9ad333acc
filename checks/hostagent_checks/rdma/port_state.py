"""A port that jobs use is not up: its GPU reaches other nodes by another card, or not at all, and many jobs end when they start.

NCCL leaves out a port that is not active. Ranks then see different numbers of cards, or take one that is far from their GPU.
Polling is a port that sees no other side: the cable, its transceiver, or the switch's port. Disabled is one that somebody turned
off. What a subnet manager has not made active is told by a check of its own. Ports that jobs do not use, and second ports
without a cable, are not judged.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, shell
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.rdma_devices import UP
from hostagent.facts.network import Network
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort

from ._rails import each, is_shared, lines, need_no, ports_of, whoever_owns

_LINK_UP = "LinkUp"
_TURNED_OFF = ("Disabled", "Sleep")
_IFF_UP = 0x1
_CABLE = (
    Step("drain_and_inspect", "Look at the cable, the transceiver and the switch's port of this port."),
    Step("replace", "Have the cable or the transceiver replaced.", if_back=True),
)
_SWITCH = (
    Step("contact_owner", "Ask who runs the network: no rail of this host is up."),
    Step("configure", "Look whether the host's network configuration brings the interfaces up."),
)


@check(
    title="The RDMA ports that jobs use are up",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma", "link", "no-path"),
    because=("rdma.virtual_function", "rdma.subnet_manager", "rdma.present"),
    headline="{device} is not up",
    remedy=_CABLE,
    references=("Linux kernel, Documentation/ABI/stable/sysfs-class-infiniband", "ibstat(8)"),
    confirm=("grep . /sys/class/infiniband/*/ports/*/state /sys/class/infiniband/*/ports/*/phys_state",),
)
def port_state(rails: Rails, platform: Platform | Unread, network: Network | Unread) -> Findings:
    ours = ports_of(rails)
    states, gaps = each(ours, lambda port: (need(port.state), need(port.physical_state)))
    wrong = {name: f"{state}, {physical}" for name, (state, physical) in states.items() if state not in UP or physical != _LINK_UP}
    if is_shared(wrong, ours):
        text = f"none of the {len(ours)} rails is up"
        remedy = whoever_owns(_SWITCH, platform)
        headline = f"None of the {len(ours)} RDMA ports that jobs use is up"
        yield fail(text, code="all-down", found="0", wanted=len(ours), evidence=lines(wrong), headline=headline, remedy=remedy)
    else:
        for port in (one for one in ours if one.name in wrong):
            found = wrong[port.name]
            yield fail(
                f"the port is {found}",
                code=_code(found),
                found=found,
                wanted="ACTIVE, LinkUp",
                about=port.name,
                remedy=_steps(port, network, platform),
            )
    need_no(gaps, states)


def _code(found: str) -> str:
    state, _, physical = found.partition(", ")
    return "disabled" if physical in _TURNED_OFF else "not-active" if physical == _LINK_UP and state != "DOWN" else "down"


def _steps(port: RdmaPort, network: Network | Unread, platform: Platform | Unread) -> tuple[Step, ...]:
    """An interface that nobody has brought up has no link."""
    name = "" if isinstance(port.netdev, Unread) else port.netdev
    netdev = network if isinstance(network, Unread) else network.netdev(name)
    if not isinstance(netdev, Unread) and not isinstance(netdev.flags, Unread) and not netdev.flags & _IFF_UP:
        up = Step(
            "configure", f"Bring {name} up, and see to it that the network configuration does so.", shell("ip link set dev {} up", name)
        )
        return (up,)
    return whoever_owns(_CABLE, platform)
