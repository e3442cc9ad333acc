"""Interfaces of the host's network namespace, from what the network lane says of each."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast, get_args

from hostagent.collect.network.addresses import Addresses, read_addresses
from hostagent.collect.network.priorities import read_priorities
from hostagent.collect.network.words import names_of, number_of, parse_count, value_in
from hostagent.collect.values import stops_at_unread
from hostagent.facts.network import Netdev, NetdevKind, Priorities
from hostagent.facts.topology import Nic
from hostagent.facts.unread import Unread, UnreadError, need, then
from hostagent.knowledge.rdma import VIRTUAL_FUNCTIONS
from hostagent.source import Source

_KINDS = frozenset(get_args(NetdevKind))
_NONE = "/"  # as `hostagent.source.lanes.netdevs` writes no name
_WORDS = 8
_SOFTWARE = Unread("not-supported", "an interface made of software has no speed, and no priorities of a card")
_NO_RDMA = Unread("not-supported", "priorities of an interface without an RDMA device are not looked at")
_VIRTUAL = Unread("not-supported", "the priorities of a virtual function are its card's")
_UNASKED = Unread("not-supported", "sysctls of this interface are not looked at")
_CHILDREN = ("vlan", "macvlan", "ipvlan", "ipoib")
_MASTERS = ("bond", "bridge")


@stops_at_unread
def read_netdevs(source: Source, known: Callable[[type], Any]) -> tuple[Netdev, ...]:
    listed = need(names_of(source.network("devices"), "devices"))
    nics: tuple[Nic, ...] | Unread = known(Nic)
    addresses = read_addresses(source, known)
    told = source.network("kinds")
    kinds = told if isinstance(told, dict) else {}
    rows = _rows(source)
    made = [_short(rows[name], kinds, addresses) if name in rows else _full(source, name, nics, kinds, addresses) for name in listed]
    found = [one for one in made if not _is_gone(one)]
    indexed = {one.index: one.name for one in found if not isinstance(one.index, Unread)}
    return tuple(sorted((_related(one, found, indexed, nics) for one in found), key=_place))


def _is_gone(one: Netdev) -> bool:
    """Taken out since it was listed."""
    return isinstance(one.index, Unread) and one.index.why == "absent"


def _place(one: Netdev) -> "tuple[int, str]":
    return 0 if isinstance(one.index, Unread) else one.index, one.name


def _rows(source: Source) -> "Mapping[str, tuple[str, ...]]":
    rows = [tuple(text.split(" ")) for text in need(names_of(source.network("others"), "others"))]
    if any(len(row) != _WORDS for row in rows):
        raise UnreadError(Unread("error", "network others: found a row of another length", "network others"))
    return {row[0]: row for row in rows}


def _kind(name: str, word: "str | Unread", kinds: "Mapping[str, Any]") -> "NetdevKind | Unread":
    """The kernel's word, where it differs from what sysfs shows."""
    found = kinds.get(name, word)
    if isinstance(found, Unread):
        return found
    return cast("NetdevKind", found) if isinstance(found, str) and found in _KINDS else "other"


def _short(row: "tuple[str, ...]", kinds: "Mapping[str, Any]", addresses: Addresses) -> Netdev:
    """An interface of software. The index of the one below it stands in `parent` until `_related` knows its name."""
    name, index, kind, link, mtu, state, flags, master = row
    return Netdev(
        name=name,
        index=parse_count(index, f"{name}: index"),
        kind=_kind(name, kind, kinds),
        pci="",
        mtu=parse_count(mtu, f"{name}: mtu"),
        state=state,
        flags=parse_count(flags, f"{name}: flags"),
        speed_mbps=_SOFTWARE,
        master="" if master == _NONE else master,
        parent=link,
        ports=(),
        bond_mode="",
        hash_policy="",
        addresses=addresses.of(name),
        arp_ignore=_UNASKED,
        arp_announce=_UNASKED,
        arp_filter=_UNASKED,
        rp_filter=_UNASKED,
        priorities=_SOFTWARE,
    )


def _full(source: Source, name: str, nics: "tuple[Nic, ...] | Unread", kinds: "Mapping[str, Any]", addresses: Addresses) -> Netdev:
    answer, question = source.network("device", name), f"network device {name}"
    every = source.network("settings")
    shared = every.get("all") if isinstance(every, dict) else every
    own = answer.get("sysctls") if isinstance(answer, dict) else answer
    bonding = answer.get("bonding") if isinstance(answer, dict) else answer
    is_no_bond = isinstance(bonding, str) and not bonding
    pci = value_in(answer, question, "pci")
    seen = _kind(name, value_in(answer, question, "kind"), kinds)
    kind = _virtual(seen, pci, nics)
    return Netdev(
        name=name,
        index=number_of(answer, question, "ifindex"),
        kind=kind,
        pci=pci,
        mtu=number_of(answer, question, "mtu"),
        state=value_in(answer, question, "operstate"),
        flags=number_of(answer, question, "flags"),
        speed_mbps=_speed(source.network("speed", name), name),
        master=value_in(answer, question, "master"),
        parent=_parent(answer, question, seen),
        ports=(),
        bond_mode="" if is_no_bond else value_in(bonding, question, "mode"),
        hash_policy="" if is_no_bond else value_in(bonding, question, "xmit_hash_policy"),
        addresses=addresses.of(name),
        arp_ignore=_higher(shared, own, "arp_ignore", question),
        arp_announce=_higher(shared, own, "arp_announce", question),
        arp_filter=_higher(shared, own, "arp_filter", question),
        rp_filter=_higher(shared, own, "rp_filter", question),
        priorities=_priorities(source, name, kind, pci, nics),
    )


def _speed(answer: Any, name: str) -> "int | Unread":
    """A card that does not know says -1."""
    if isinstance(answer, Unread):
        return answer
    number = parse_count(answer, f"{name}: speed") if isinstance(answer, str) else Unread("error", f"network speed {name}: no word")
    return Unread("not-supported", f"{name}: the speed is not known") if not isinstance(number, Unread) and number < 0 else number


def _higher(shared: Any, own: Any, key: str, question: str) -> "int | Unread":
    """The kernel takes the higher of both (Linux kernel, networking/ip-sysctl)."""
    every = number_of(shared, "network settings", key)
    return then(every, lambda low: then(number_of(own, question, key), lambda high: max(low, high)))


def _parent(answer: Any, question: str, kind: "NetdevKind | Unread") -> "str | Unread":
    if isinstance(kind, Unread):
        return kind
    lower = answer.get("lower") if isinstance(answer, dict) else None
    if kind == "ipoib" or not isinstance(lower, list):
        return value_in(answer, question, "parent")
    return lower[0] if kind in _CHILDREN and len(lower) == 1 and isinstance(lower[0], str) else ""


def _virtual(kind: "NetdevKind | Unread", pci: "str | Unread", nics: "tuple[Nic, ...] | Unread") -> "NetdevKind | Unread":
    if isinstance(kind, Unread) or kind != "physical" or isinstance(pci, Unread) or isinstance(nics, Unread):
        return kind
    nic = next((one for one in nics if one.pci == pci), None)
    if nic is None:
        return "physical"
    vendor, ids = VIRTUAL_FUNCTIONS
    if not isinstance(nic.device_id, Unread) and nic.device_id in ids and isinstance(nic.vendor_id, str) and nic.vendor_id == vendor:
        return "vf"
    return then(nic.virtual_of, lambda physical: "vf" if physical else "physical")


def _priorities(
    source: Source, name: str, kind: "NetdevKind | Unread", pci: "str | Unread", nics: "tuple[Nic, ...] | Unread"
) -> "Priorities | Unread":
    if not isinstance(kind, Unread) and kind == "vf":
        return _VIRTUAL
    return read_priorities(source, name, _driver(pci, nics)) if _has_rdma(pci, nics) else _NO_RDMA


def _has_rdma(pci: "str | Unread", nics: "tuple[Nic, ...] | Unread") -> bool:
    """The card, by any of its functions: of two ports in a bond one has the RDMA device of both.

    Where that is not known its priorities are asked for: what says so is then what is unread.
    """
    if isinstance(pci, Unread) or isinstance(nics, Unread):
        return not isinstance(pci, str) or bool(pci)
    card = [one.rdma for one in nics if pci and one.pci.rpartition(".")[0] == pci.rpartition(".")[0]]
    return any(isinstance(rdma, Unread) or bool(rdma) for rdma in card)


def _driver(pci: "str | Unread", nics: "tuple[Nic, ...] | Unread") -> "str | Unread":
    if isinstance(pci, Unread) or isinstance(nics, Unread):
        return pci if isinstance(pci, Unread) else cast("Unread", nics)
    return next((one.bound_to for one in nics if one.pci == pci), "")


def _related(one: Netdev, found: "list[Netdev]", indexed: "Mapping[int, str]", nics: "tuple[Nic, ...] | Unread") -> Netdev:
    """With the names of its parent and its ports."""
    if one.kind == "vf":
        return replace(one, parent=_physical(one, found, nics))
    if isinstance(one.kind, Unread) or one.kind not in (*_MASTERS, *_CHILDREN, "physical"):
        return replace(one, parent="")
    if one.kind in _MASTERS:
        return replace(one, parent="", ports=tuple(_ports(one.name, found)))
    return one


def _ports(name: str, found: "list[Netdev]") -> Iterator[str]:
    return (other.name for other in sorted(found, key=_place) if isinstance(other.master, str) and other.master == name)


def _physical(one: Netdev, found: "list[Netdev]", nics: "tuple[Nic, ...] | Unread") -> "str | Unread":
    """The interface of a virtual function's physical one; "" in a machine or a namespace that has it not. Representors come later."""
    if isinstance(nics, Unread):
        return nics
    of = next((nic.virtual_of for nic in nics if nic.pci == one.pci), "")
    return then(of, lambda physical: next((other.name for other in sorted(found, key=_place) if _is_of(other, physical)), ""))


def _is_of(other: Netdev, pci: str) -> bool:
    return bool(pci) and isinstance(other.pci, str) and other.pci == pci
