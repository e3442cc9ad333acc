"""Which interface the ranks of a job should meet over, and how NCCL_SOCKET_IFNAME names it on all nodes: or node by node."""

import ipaddress
from collections.abc import Mapping, Sequence
from os.path import commonprefix

from hostagent.facts.frozen import frozen
from hostagent.facts.unread import Unread, UnreadError, need
from hostagent.knowledge.ncclchanges import CUT, Version
from hostagent.knowledge.nccllogs import VIRTUAL_INTERFACES
from hostagent.nccl.agreement import Refusal, fabric, names, rails
from hostagent.nccl.interfaces import Address, bootstrap
from hostagent.nccl.node import Interface, Node, shown

NAME = "NCCL_SOCKET_IFNAME"
#: Kinds of interface that reach other hosts; a bridge may be one of containers alone.
_KINDS = ("physical", "vf", "bond", "vlan", "macvlan", "ipvlan")
#: What NCCL takes last, or what other interfaces of a host are called that no report lists.
_OTHERS = ("lo", *VIRTUAL_INTERFACES)
#: A value of one character counts as none.
_SHORTEST = 2


@frozen
class Named:
    """The value for all nodes, or by node; or why there is none."""

    common: str
    by_node: Mapping[str, str]
    why: str
    refusal: Refusal | None = None


@frozen
class Candidate:
    """An interface that may be the one."""

    name: str
    has_ipv4: bool
    carries: int  # 0 no RDMA, 1 another device than a rail, 2 a rail
    networks: frozenset[str]


def choose(nodes: Sequence[Node]) -> Named:
    """The interface of the nodes' bootstrap: one that carries no RDMA before others, one of a common network before others, then in the
    kernel's order. Nobody asked the network: that all nodes reach each other there is not proved here.
    """
    found: dict[str, tuple[Candidate, ...]] = {}
    for node in nodes:
        try:
            found[node.name] = _candidates(node)
        except UnreadError as error:
            return _refused("unread", f"interfaces: not known of {node.name} ({shown(error.unread.detail) or error.unread.why})", node.name)
        if not found[node.name]:
            text = f"interfaces: {node.name} has none that is up, has an address and reaches other hosts"
            return _refused("no_interface", text, node.name)
    family = all(any(one.has_ipv4 for one in listed) for listed in found.values())
    usable = {name: tuple(one for one in listed if one.has_ipv4 == family) for name, listed in found.items()}
    if lacking := [name for name, listed in usable.items() if not listed]:
        return _refused("family", f"interfaces: {names(lacking)} and the others have no family of addresses in common", *lacking)
    common = frozenset[str].intersection(*(frozenset[str]().union(*(one.networks for one in listed)) for listed in usable.values()))
    shared = _of_one_name(usable, common)
    if shared:
        return Named(f"={shared}", {}, f"the interface {shown(shared)} is up and has an address on every node")
    chosen = {name: min(listed, key=lambda one: _rank(one, common)).name for name, listed in usable.items()}
    return _named_apart(nodes, chosen)


def _named_apart(nodes: Sequence[Node], chosen: Mapping[str, str]) -> Named:
    prefix = commonprefix(sorted(set(chosen.values())))
    if len(prefix) >= _SHORTEST and _is_plain(prefix) and all(_takes_one(node, prefix, chosen[node.name]) for node in nodes):
        return Named(prefix, {}, f"names of interfaces differ by node; this prefix takes one of each: {_told(chosen)}")
    return Named(
        "", {name: f"={one}" for name, one in chosen.items()}, "names of interfaces differ by node, and no prefix takes one of each"
    )


def agrees(node: Node, settings: Mapping[str, str], version: Version, wanted: str) -> bool:
    """Whether NCCL takes this interface with these settings, of those that the report lists."""
    return bootstrap(_addresses(node), settings, version).interface == wanted


def taken(node: Node, value: str, version: Version) -> str:
    """The interface that NCCL takes with this value."""
    return bootstrap(_addresses(node), {NAME: value}, version).interface


def _candidates(node: Node) -> tuple[Candidate, ...]:
    """Raises ``UnreadError`` for an interface that is up and may be one."""
    known = need(fabric(node).nics)
    rail_devices = {port.device for port in rails(node)}
    found: list[Candidate] = []
    for one in known:
        if not _may_be(one):
            continue
        networks = [ipaddress.ip_interface(text) for text in _listed(one)]
        global_ones = [each for each in networks if not each.ip.is_link_local]
        if not global_ones or not _is_plain(one.name):
            continue
        rdma = need(one.rdma)
        carries = 2 if rail_devices.intersection(rdma) else 1 if rdma else 0
        has_ipv4 = any(each.version == 4 for each in global_ones)
        found.append(Candidate(one.name, has_ipv4, carries, frozenset(str(each.network) for each in global_ones)))
    return tuple(found)


def _may_be(one: Interface) -> bool:
    """Up and of a kind that reaches others; not what a CNI or a virtual machine's bridge made."""
    if isinstance(one.kind, Unread) or isinstance(one.state, Unread) or isinstance(one.master, Unread):
        return False
    return one.kind in _KINDS and one.state == "up" and not one.master and not one.name.startswith(_OTHERS)


def _listed(one: Interface) -> list[str]:
    """Those that are addresses: a report may say anything. One whose addresses were not read is none that could be chosen."""
    if isinstance(one.addresses, Unread):
        return []
    found: list[str] = []
    for text in one.addresses:
        try:
            ipaddress.ip_interface(text)
        except ValueError:
            continue
        found.append(text)
    return found


def _is_plain(name: str) -> bool:
    """Whether a list of NCCL can name it: no mark of the list is in it."""
    return bool(name) and name.isprintable() and not set(name) & set("^=,: ") and len(name) < CUT // 16


def _rank(one: Candidate, common: frozenset[str]) -> tuple[int, bool]:
    return one.carries, not one.networks & common


def _of_one_name(usable: Mapping[str, Sequence[Candidate]], common: frozenset[str]) -> str:
    """The best name that every node has, of no worse a kind than the best of each; "" where there is none."""
    by_node = [{one.name: one for one in listed} for listed in usable.values()]
    shared = [name for name in by_node[0] if all(name in each for each in by_node)]
    best = [min(one.carries for one in each.values()) for each in by_node]
    fit = [name for name in shared if all(each[name].carries <= most for each, most in zip(by_node, best, strict=True))]
    return min(fit, key=lambda name: max(_rank(each[name], common) for each in by_node), default="")


def _takes_one(node: Node, prefix: str, wanted: str) -> bool:
    """Whether the prefix takes this interface alone, of all that the node has or may have."""
    if any(other.startswith(prefix) or prefix.startswith(other) for other in _OTHERS):
        return False
    listed = fabric(node).nics
    every = [] if isinstance(listed, Unread) else [one.name for one in listed if one.name.startswith(prefix)]
    return every == [wanted]


def _addresses(node: Node) -> tuple[Address, ...]:
    listed = need(fabric(node).nics)
    return tuple(
        Address(one.name, index, str(each.ip), each.network.prefixlen, running=not isinstance(one.state, Unread) and one.state == "up")
        for index, one in enumerate(listed, 2)
        for each in map(ipaddress.ip_interface, _listed(one))
    )


def _told(chosen: Mapping[str, str]) -> str:
    return names([f"{shown(one)} of {name}" for name, one in chosen.items()])


def _refused(code: str, message: str, *nodes: str) -> Named:
    return Named("", {}, "", Refusal(code, message, nodes))
