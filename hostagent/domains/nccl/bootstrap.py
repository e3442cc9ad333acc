"""The interface for the bootstrap of a job, and the NCCL_SOCKET_IFNAME that selects it, for all nodes or by node."""

# One name on all hosts is `=name`; else a prefix of two characters or more that takes exactly one listed interface of each host
# and none that no report lists (lo, veth, cali, docker); else each host's own. Order: without an RDMA device, then those before
# rails, then a network that all hosts share, then the kernel's order. Whether hosts reach each other there is not tested.

import contextlib
import ipaddress
from collections.abc import Mapping, Sequence

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.nccl.agreement import Refusal, fabric, names, rails
from hostagent.domains.nccl.interfaces import Address, bootstrap
from hostagent.domains.nccl.node import Interface, Node, shown
from hostagent.domains.nccl.tables.changes import CUT, Version
from hostagent.domains.nccl.tables.logs import VIRTUAL_INTERFACES

NAME = "NCCL_SOCKET_IFNAME"
#: Kinds of interface that reach other hosts; a bridge may be one of containers alone.
_KINDS = ("physical", "vf", "bond", "vlan", "macvlan", "ipvlan")
_IN_CONTAINER = "veth"
#: Interfaces that NCCL takes last, and names of interfaces that no report lists.
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
    """A candidate interface."""

    name: str
    has_ipv4: bool
    carries: int  # 0 no RDMA, 1 another device than a rail, 2 a rail
    networks: frozenset[str]


def choose(nodes: Sequence[Node]) -> Named:
    """The interface of the nodes' bootstrap: one that carries no RDMA before others, one of a common network before others, then in the
    kernel's order. Reachability between the nodes is not tested.
    """
    found: dict[str, tuple[Candidate, ...]] = {}
    for node in nodes:
        try:
            found[node.name] = candidates(node)
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
        where = " on every node" if len(nodes) > 1 else ""
        return Named(f"={shared}", {}, f"the interface {shown(shared)} is up and has an address{where}")
    chosen = {name: min(listed, key=lambda one: _rank(one, common)).name for name, listed in usable.items()}
    return _named_apart(nodes, chosen)


def _named_apart(nodes: Sequence[Node], chosen: Mapping[str, str]) -> Named:
    prefix = _beginning(tuple(chosen.values()))
    if len(prefix) >= _SHORTEST and _is_plain(prefix) and all(_takes_one(node, prefix, chosen[node.name]) for node in nodes):
        return Named(prefix, {}, f"names of interfaces differ by node; this prefix takes one of each: {_by_node_text(chosen)}")
    why = "names of interfaces differ by node, and no prefix takes one of each"
    return Named("", {name: f"={one}" for name, one in chosen.items()}, why)


def _beginning(names: Sequence[str]) -> str:
    """Their common prefix.

    >>> _beginning(("ens1f0", "ens3")), _beginning(("eth0", "ib0"))
    ('ens', '')
    """
    shortest = min(names, key=len)
    return next((shortest[:end] for end in range(len(shortest), 0, -1) if all(name.startswith(shortest[:end]) for name in names)), "")


def taken(node: Node, settings: Mapping[str, str], version: Version) -> str:
    """The interface that NCCL takes with these settings, of those that the report lists."""
    return bootstrap(_addresses(node), settings, version).interface


def candidates(node: Node) -> tuple[Candidate, ...]:
    """The interfaces of a node that its ranks may meet over.

    Raises ``UnreadError`` where there is none, and one that was not read may be it.
    """
    known = need(fabric(node).nics)
    rail_devices = {port.device for port in rails(node)}
    found: list[Candidate] = []
    gaps: list[Unread] = []
    kinds = (*_KINDS, _IN_CONTAINER) if _is_contained(node) else _KINDS
    for one in known:
        is_one = _may_be(one, kinds)
        if isinstance(is_one, Unread):
            gaps.append(is_one)
            continue
        if not is_one:
            continue
        if isinstance(one.addresses, Unread):
            gaps.append(one.addresses)
        global_ones = [each for each in _valid_addresses(one) if not each.ip.is_link_local]
        if global_ones and _is_plain(one.name):
            rdma = _devices(known, one)
            carries = 2 if rail_devices.intersection(rdma) else 1 if rdma else 0
            has_ipv4 = any(each.version == 4 for each in global_ones)
            found.append(Candidate(one.name, has_ipv4, carries, frozenset(str(each.network) for each in global_ones)))
    if gaps and not found:
        need(gaps[0])
    return tuple(found)


def _devices(known: Sequence[Interface], one: Interface) -> frozenset[str]:
    """The RDMA devices of this interface, or of one below it. Raises ``UnreadError``."""
    below = next((other for other in known if not isinstance(one.parent, Unread) and other.name == one.parent), None)
    return frozenset(need(one.rdma)) | (frozenset(need(below.rdma)) if below else frozenset())


def _is_contained(node: Node) -> bool:
    platform = node.facts.platform
    return not isinstance(platform, Unread) and platform.contained is True


def _may_be(one: Interface, kinds: tuple[str, ...]) -> "bool | Unread":
    """Up and of a kind that reaches others; not what a CNI or a virtual machine's bridge made."""
    values = (one.kind, one.state, one.master)
    known = tuple(None if isinstance(value, Unread) else value for value in values)
    if one.name.startswith(_OTHERS) or known[0] not in (None, *kinds) or known[1] not in (None, "up") or known[2]:
        return False
    return next((value for value in values if isinstance(value, Unread)), True)


def _valid_addresses(one: Interface) -> "list[ipaddress.IPv4Interface | ipaddress.IPv6Interface]":
    """The valid addresses, because reports are untrusted; an interface with unread addresses cannot be chosen."""
    found: list[ipaddress.IPv4Interface | ipaddress.IPv6Interface] = []
    for text in () if isinstance(one.addresses, Unread) else one.addresses:
        with contextlib.suppress(ValueError):
            found.append(ipaddress.ip_interface(text))
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
        Address(one.name, index, str(each.ip), each.network.prefixlen, _is_running(one))
        for index, one in enumerate(listed, 2)
        for each in _valid_addresses(one)
    )


def _is_running(one: Interface) -> bool:
    return not isinstance(one.state, Unread) and one.state in ("up", "unknown")


def _by_node_text(chosen: Mapping[str, str]) -> str:
    return names([f"{shown(one)} of {name}" for name, one in chosen.items()])


def _refused(code: str, message: str, *nodes: str) -> Named:
    return Named("", {}, "", Refusal(code, message, nodes))
