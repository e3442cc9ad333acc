"""Interfaces below one another: a VLAN on a bond of two ports, a virtual function and its physical one."""

from hostagent.core.unread import need
from hostagent.facts.network import Address, Netdev, Network, Priorities

#: More are not a stack but a cycle in a bad recording.
_DEEPEST = 8


def below(network: Network, netdev: Netdev) -> tuple[Netdev, ...]:
    """The interfaces that carry the packets of this one, the nearest first, without itself. Raises ``UnreadError``."""
    found: list[Netdev] = []
    level = [netdev]
    for _ in range(_DEEPEST):
        level = [lower for one in level for lower in _next(network, one) if lower.name not in {known.name for known in (netdev, *found)}]
        found += level
    return tuple(found)


def _next(network: Network, netdev: Netdev) -> tuple[Netdev, ...]:
    names = (need(netdev.parent), *need(netdev.ports))
    return tuple(need(network.netdev(name)) for name in names if name)


def cards(network: Network, netdev: Netdev) -> tuple[Netdev, ...]:
    """The hardware interfaces of the stack. Raises ``UnreadError``."""
    every = (netdev, *below(network, netdev))
    return tuple(one for one in every if need(one.pci) and need(one.kind) != "vf") or tuple(one for one in every if need(one.pci))


def stack(network: Network, netdev: Netdev) -> tuple[Netdev, ...]:
    """`netdev`, what it is a port of, and all below. Raises ``UnreadError``."""
    master = need(netdev.master)
    top = (need(network.netdev(master)),) if master else ()
    return tuple({one.name: one for one in (*top, netdev, *below(network, netdev))}.values())


def cut(network: Network, netdev: Netdev) -> "tuple[Netdev, Netdev] | None":
    """The first pair of interfaces in the stack where the lower one has the smaller MTU, or None. Raises ``UnreadError``.

    The other ports of a bridge lead elsewhere: their MTU does not matter here.
    """
    own = (netdev, *below(network, netdev))
    for upper in stack(network, netdev):
        is_bridge_above = upper.name == need(netdev.master) and need(upper.kind) == "bridge"
        for lower in own if is_bridge_above else below(network, upper):
            if need(lower.mtu) < need(upper.mtu):
                return upper, lower
    return None


def subnet_of(address: Address) -> "tuple[int, int] | None":
    """First address and prefix of an IPv4 network, as numbers; None of one address alone, of a link-local one, and of IPv6.

    >>> subnet_of(Address("10.0.1.5", 24)), subnet_of(Address("169.254.0.7", 16)), subnet_of(Address("fe80::1", 64))
    ((167772416, 24), None, None)
    """
    parts = address.value.split(".")
    if len(parts) != 4 or not 0 < address.prefix < 32 or parts[:2] == ["169", "254"]:
        return None
    number = int.from_bytes(bytes(int(part) & 255 for part in parts), "big")
    return number >> (32 - address.prefix) << (32 - address.prefix), address.prefix


def written(subnet: tuple[int, int]) -> str:
    """
    As people write it.

    >>> written((167772416, 24))
    '10.0.1.0/24'
    """
    return f"{'.'.join(str(byte) for byte in subnet[0].to_bytes(4, 'big'))}/{subnet[1]}"


def priority_of(priorities: Priorities, traffic_class: int) -> "int | None":
    """The priority that an Ethernet card gives a traffic class, None where it ignores the DSCP. Raises ``UnreadError``.

    The upper six bits of a traffic class are the DSCP. A card without a table of its own takes the upper three of those; with one, what is
    not in it has priority 0.

    >>> bare, listed = Priorities((3,), "dscp", (), False, (), True), Priorities((3,), "dscp", ((48, 6),), False, (), True)
    >>> priority_of(bare, 106), priority_of(listed, 106)
    (3, 0)
    """
    if need(priorities.trust) != "dscp":
        return None
    dscp = traffic_class >> 2
    table = dict(need(priorities.dscp))
    return table.get(dscp, 0) if table else dscp >> 3
