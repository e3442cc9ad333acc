"""The traffic class (NCCL_IB_TC) that puts a job's RoCE packets into the lossless priority, by the cards' settings.

The upper six bits of a traffic class are the DSCP, the lower two the marks of ECN, which are the card's. A card without a table of its own
takes the upper three bits of the DSCP for the priority; with one, what is not in it has priority 0.
"""

# Several DSCPs lead to one priority in a card's own table: 26 is taken where it does, as NVIDIA's guides and switches have it.
# 106 is a common value of NCCL_IB_TC; its last two bits 3 would say "congestion experienced".

from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.domains.nccl.node import Node, Port, Priorities, shown
from hostagent.domains.network.tables.rdma_devices import ETHERNET
from hostagent.facts.cpulist import format_cpulist

#: The DSCP that NVIDIA's guides for RoCE use; of several with the lossless priority it is taken, because switches use it, too.
_USUAL = 26
#: What a port trusts that looks at the DSCP of packets.
_DSCP = "dscp"
_ABSENT = Unread("absent", "its interface is not among those of the report")


def priorities(node: Node, port: Port) -> "str | Unread":
    """How the cards below a port treat a job's packets, as text: ``lossless 3, trust dscp, DSCP 24-31``, with the DSCPs that lead to the
    lossless priority. Unread where a card does not report it, and for other ports than RoCE.
    """
    if not isinstance(port.link_layer, Unread) and port.link_layer != ETHERNET:
        return Unread("not-supported", "it is no RoCE port")
    cards = _cards(node, port)
    if isinstance(cards, Unread):
        return cards
    words: set[str] = set()
    for one in cards:
        for value in (one,) if isinstance(one, Unread) else (one.lossless, one.trust, one.dscp):
            if isinstance(value, Unread) and value.why not in NOT_APPLICABLE:
                return value
        words.add("none" if isinstance(one, Unread) else _words(one))
    return " and ".join(sorted(words))


def traffic_class(node: Node, port: Port) -> "int | Unread":
    """The one that leads to the lossless priority of the cards below this port; 0 where no priority is lossless. Unread where the cards
    do not say, or disagree.
    """
    cards = _cards(node, port)
    if isinstance(cards, Unread):
        return cards
    found: set[int] = set()
    for one in cards:
        if isinstance(one, Unread):
            return one
        value = _of_card(one)
        if isinstance(value, Unread):
            return value
        found.add(value)
    return found.pop() if len(found) == 1 else Unread("error", "the cards below it differ")


def _cards(node: Node, port: Port) -> "tuple[Priorities | Unread, ...] | Unread":
    """The priorities of the port's interface, or of the ports of its bond."""
    if isinstance(node.facts.fabric, Unread):
        return node.facts.fabric
    nics = node.facts.fabric.nics
    if isinstance(nics, Unread) or isinstance(port.netdev, Unread):
        return nics if isinstance(nics, Unread) else port.netdev if isinstance(port.netdev, Unread) else _ABSENT
    ports = [nic for nic in nics if not isinstance(nic.master, Unread) and nic.master == port.netdev and port.netdev]
    cards = tuple(nic.priorities for nic in ports or [nic for nic in nics if nic.name == port.netdev])
    return cards or _ABSENT


def _words(one: Priorities) -> str:
    """Only what a job can notice: what the port trusts counts with a lossless priority, and its table with trust in DSCP."""
    if isinstance(one.lossless, Unread) or not one.lossless:
        return "lossless none"
    trust = "none" if isinstance(one.trust, Unread) else shown(one.trust)
    words = f"lossless {format_cpulist(set(one.lossless))}, trust {trust}"
    if trust != _DSCP or isinstance(one.dscp, Unread):
        return words
    return f"{words}, DSCP {format_cpulist(_leading(one.dscp, one.lossless)) or 'none'}"


def _leading(table: "tuple[tuple[int, int], ...]", priorities: tuple[int, ...]) -> set[int]:
    """The DSCPs that lead to one of these priorities."""
    known = dict(table)
    return {dscp for dscp in range(64) if (known.get(dscp, 0) if known else dscp >> 3) in priorities}


def _of_card(one: Priorities) -> "int | Unread":
    for value in (one.firmware_dcbx, one.lossless, one.trust, one.dscp):
        if isinstance(value, Unread):
            return value
    if need(one.firmware_dcbx):
        return Unread("error", "the card's firmware settles its priorities with the switch (DCBX)")
    lossless = need(one.lossless)
    if not lossless:
        return 0
    if len(lossless) > 1 or need(one.trust) != _DSCP:
        return Unread("error", "several priorities are lossless" if len(lossless) > 1 else "the card does not look at the DSCP of packets")
    table = dict(need(one.dscp))
    leading = sorted(_leading(need(one.dscp), lossless))
    named = [dscp for dscp in leading if dscp in table] or leading
    if not named:
        return Unread("error", "no DSCP leads to the lossless priority")
    return (_USUAL if _USUAL in named else named[0]) << 2
