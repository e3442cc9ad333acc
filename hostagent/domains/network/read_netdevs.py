"""Interfaces of the host's network namespace, from the network worker's answers."""

# sysfs does not show the kinds dummy, ifb and ipvlan; RTM_GETLINK does. Only interfaces of RoCE rails are evaluated: docker0,
# Calico, Cilium and IPoIB choose their own MTU. A port of a bridge or bond may have a smaller MTU than the one above (measured:
# a bridge keeps an MTU that was set); of macvlan and VLAN the kernel refuses it.

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast, get_args

from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import Unread, UnreadError, need, then
from hostagent.domains.network.answers import names_of, number_of, parse_count, value_in
from hostagent.domains.network.read_addresses import Addresses, read_addresses
from hostagent.domains.network.read_priorities import read_priorities
from hostagent.domains.network.tables.rdma_devices import VIRTUAL_FUNCTIONS
from hostagent.facts.network import Netdev, NetdevKind, Priorities
from hostagent.facts.topology import Nic
from hostagent.host.source import Source

_KINDS = frozenset(get_args(NetdevKind))
_NONE = "/"  # as `hostagent.domains.network.read_interfaces` writes no name
_WORDS = 8
_SOFTWARE = Unread("not-supported", "an interface made of software has no speed, and no priorities of a card")
_NO_RDMA = Unread("not-supported", "priorities of an interface without an RDMA device are not looked at")
_VIRTUAL = Unread("not-supported", "the priorities of a virtual function are its card's")
_UNASKED = Unread("not-supported", "sysctls of this interface are not looked at")
_CHILDREN = ("vlan", "macvlan", "ipvlan", "ipoib")
_MASTERS = ("bond", "bridge")


class _Relations(NamedTuple):
    """In the kernel's order: names of the ports of a master, and of the first interface of a function."""

    ports: dict[str, list[str]]
    by_pci: dict[str, str]


class _Nics:
    """Network cards by PCI address, and those with an RDMA device on any function: in a bond one port has the device of both."""

    def __init__(self, nics: "tuple[Nic, ...] | Unread") -> None:
        self.gap = nics if isinstance(nics, Unread) else None
        listed = () if isinstance(nics, Unread) else nics
        self._by_address = {one.pci: one for one in reversed(listed)}
        self._with_rdma = {_slot(one.pci) for one in listed if isinstance(one.rdma, Unread) or one.rdma}

    def of(self, pci: "str | Unread") -> "Nic | Unread | None":
        if isinstance(pci, Unread) or self.gap is not None:
            return pci if isinstance(pci, Unread) else self.gap
        return self._by_address.get(pci)

    def have_rdma(self, pci: "str | Unread") -> bool:
        """True where unknown: its priorities are then queried, and are what is unread."""
        if isinstance(pci, Unread) or self.gap is not None:
            return pci != "" if isinstance(pci, str) else True
        return bool(pci) and _slot(pci) in self._with_rdma


def _slot(pci: str) -> str:
    return pci.rpartition(".")[0]


@stops_at_unread
def read_netdevs(source: Source, known: Callable[[type], Any]) -> tuple[Netdev, ...]:
    listed = need(names_of(source.network("devices"), "devices"))
    nics = _Nics(known(Nic))
    addresses = read_addresses(source, known)
    answer = source.network("kinds")
    kinds = answer if isinstance(answer, dict) else {}
    rows = _rows(source)
    netdevs = [
        _software_row(rows[name], kinds, addresses) if name in rows else _full(source, name, nics, kinds, addresses) for name in listed
    ]
    found = sorted((one for one in netdevs if not _is_gone(one)), key=_place)
    relations = _Relations({}, {})
    for one in found:
        if isinstance(one.master, str):
            relations.ports.setdefault(one.master, []).append(one.name)
        if isinstance(one.pci, str):
            relations.by_pci.setdefault(one.pci, one.name)
    return tuple(_related(one, relations, nics) for one in found)


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
    """The kind by rtnetlink, where it differs from sysfs."""
    found = kinds.get(name, word)
    if isinstance(found, Unread):
        return found
    return cast("NetdevKind", found) if isinstance(found, str) and found in _KINDS else "other"


def _software_row(row: "tuple[str, ...]", kinds: "Mapping[str, Any]", addresses: Addresses) -> Netdev:
    """A software interface. One below it is in another network namespace: its index is meaningless here."""
    name, index, kind, _, mtu, state, flags, master = row
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
        parent="",
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


def _full(source: Source, name: str, nics: _Nics, kinds: "Mapping[str, Any]", addresses: Addresses) -> Netdev:
    answer, question = source.network("device", name), f"network device {name}"
    every = source.network("settings")
    shared = every.get("all") if isinstance(every, dict) else every
    own = answer.get("sysctls") if isinstance(answer, dict) else answer
    bonding = answer.get("bonding") if isinstance(answer, dict) else answer
    is_no_bond = isinstance(bonding, str) and not bonding
    pci = value_in(answer, question, "pci")
    by_name = _kind(name, value_in(answer, question, "kind"), kinds)
    kind = _virtual(by_name, pci, nics)
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
        parent=_parent(answer, question, by_name),
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
    """Unknown is -1."""
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


def _virtual(kind: "NetdevKind | Unread", pci: "str | Unread", nics: _Nics) -> "NetdevKind | Unread":
    if isinstance(kind, Unread) or kind != "physical" or isinstance(pci, Unread) or nics.gap is not None:
        return kind
    return then(then(nics.of(pci), lambda nic: _virtual_of(nic) if nic else ""), lambda virtual: "vf" if virtual else "physical")


def _virtual_of(nic: Nic) -> "str | Unread":
    """The physical function of a virtual one, in a guest by its PCI id alone; "" for a physical one."""
    vendor, ids = VIRTUAL_FUNCTIONS
    if not isinstance(nic.device_id, Unread) and nic.device_id in ids and isinstance(nic.vendor_id, str) and nic.vendor_id == vendor:
        return "another"
    return nic.virtual_of


def _priorities(source: Source, name: str, kind: "NetdevKind | Unread", pci: "str | Unread", nics: _Nics) -> "Priorities | Unread":
    if not isinstance(kind, Unread) and kind == "vf":
        return _VIRTUAL
    return read_priorities(source, name, _driver(pci, nics)) if nics.have_rdma(pci) else _NO_RDMA


def _driver(pci: "str | Unread", nics: _Nics) -> "str | Unread":
    return then(nics.of(pci), lambda nic: nic.bound_to if nic else "")


def _related(one: Netdev, relations: _Relations, nics: _Nics) -> Netdev:
    """With the names of its parent and its ports."""
    if one.kind == "vf":
        return replace(one, parent=_physical(one, relations, nics))
    if isinstance(one.kind, Unread) or one.kind not in (*_MASTERS, *_CHILDREN, "physical"):
        return replace(one, parent="")
    if one.kind in _MASTERS:
        return replace(one, parent="", ports=tuple(relations.ports.get(one.name, ())))
    return one


def _physical(one: Netdev, relations: _Relations, nics: _Nics) -> "str | Unread":
    """The interface of a virtual function's physical one; "" in a machine or a namespace that has it not. Representors come later."""
    of = then(nics.of(one.pci), lambda nic: nic.virtual_of if nic else "")
    return then(of, lambda physical: relations.by_pci.get(physical, "") if physical else "")
