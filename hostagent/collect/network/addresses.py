"""Whose address is which. Below another root the kernel's tables leave it open for interfaces in one network: their GIDs tell."""

import ipaddress
from collections.abc import Callable, Iterator
from typing import Any

from hostagent.facts.network import Address
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.unread import Unread
from hostagent.source import Source
from hostagent.source.answers import unexpected


class Addresses:
    """By interface. What is open for an interface is unread for it, and for no other."""

    def __init__(self, rows: "dict[str, list[Address]] | Unread", unplaced: "dict[str, str]") -> None:
        self._rows = rows
        self._unplaced = unplaced  # interface: an address that may be its own

    def of(self, name: str) -> "tuple[Address, ...] | Unread":
        if isinstance(self._rows, Unread):
            return self._rows
        if name in self._unplaced:
            return Unread(
                "error", f"the kernel's tables do not say whether {self._unplaced[name]} is an address of {name}", "network addresses"
            )
        return tuple(self._rows.get(name, ()))


def read_addresses(source: Source, known: Callable[[type], Any]) -> Addresses:
    answer = source.network("addresses")
    if isinstance(answer, Unread):
        return Addresses(answer, {})
    try:
        rows = [(str(names).split(), str(value), int(prefix)) for names, value, prefix in answer]
        found = [(names, Address(str(ipaddress.ip_address(value)), prefix)) for names, value, prefix in rows]
    except (TypeError, ValueError):
        return Addresses(unexpected("network", "addresses", answer), {})
    ports = known(RdmaPort) if any(len(names) > 1 for names, _ in found) else ()
    owners = dict(_owners(ports)) if isinstance(ports, tuple) else {}
    by_name: dict[str, list[Address]] = {}
    unplaced: dict[str, str] = {}
    for names, address in found:
        owner = names[0] if len(names) == 1 else owners.get(address.value, "")
        if owner:
            by_name.setdefault(owner, []).append(address)
        else:
            unplaced |= {name: address.value for name in names if name not in owners.values()}
    return Addresses(by_name, unplaced)


def _owners(ports: "tuple[RdmaPort, ...]") -> "Iterator[tuple[str, str]]":
    """Address and interface of each GID that is mapped from an IPv4 one."""
    for port in ports:
        for gid in () if isinstance(port.gids, Unread) else port.gids:
            mapped = parse_mapped(gid.value)
            if mapped and isinstance(gid.netdev, str) and gid.netdev:
                yield mapped, gid.netdev


def parse_mapped(gid: str) -> str:
    """The IPv4 address that a GID is made of, "" for another one.

    >>> parse_mapped("0000:0000:0000:0000:0000:ffff:0a00:0101"), parse_mapped("fe80:0000:0000:0000:9a03:9bff:feaa:bb00")
    ('10.0.1.1', '')
    """
    try:
        mapped = ipaddress.IPv6Address(gid).ipv4_mapped
    except ValueError:
        return ""
    return str(mapped) if mapped else ""
