"""Addresses by interface. Below another root the kernel's tables can be ambiguous: GIDs decide for interfaces with an RDMA device."""

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from hostagent.core.answers import unexpected
from hostagent.core.unread import Unread
from hostagent.facts.network import Address
from hostagent.facts.rdma import RdmaPort
from hostagent.host.source import Source


class _Row(NamedTuple):
    names: tuple[str, ...]  # of the interfaces that it can be of; none where the tables name none
    address: Address


class Addresses:
    """Addresses by interface; those of an ambiguous interface are unread, of that one only."""

    def __init__(self, rows: "tuple[_Row, ...] | Unread", ports: "tuple[RdmaPort, ...]") -> None:
        self._gap = rows if isinstance(rows, Unread) else None
        self._mapped = dict(_mapped(ports))
        self._own: dict[str, list[Address]] = {}
        self._shared: dict[str, list[Address]] = {}
        self._unassigned: list[Address] = []
        for row in () if isinstance(rows, Unread) else rows:
            for name in row.names:
                (self._own if len(row.names) == 1 else self._shared).setdefault(name, []).append(row.address)
            if not row.names:
                self._unassigned.append(row.address)
        decided = frozenset[str]().union(*self._mapped.values())
        self._open = next((one for one in self._unassigned if one.value not in decided), None)
        self._shared_open = {name: next((one for one in some if one.value not in decided), None) for name, some in self._shared.items()}

    def of(self, name: str) -> "tuple[Address, ...] | Unread":
        """In order. An address outside every interface's network may be of any interface without one: a /32, or while the link is down."""
        if self._gap is not None:
            return self._gap
        own = tuple(self._own.get(name, ()))
        if name in self._mapped:
            return (*(one for one in (*self._unassigned, *self._shared.get(name, ())) if one.value in self._mapped[name]), *own)
        ambiguous = self._shared_open.get(name)
        if ambiguous is None and name != "lo" and not any("." in one.value for one in own):
            ambiguous = self._open
        if ambiguous is not None:
            return Unread("error", f"the kernel's tables do not say whether {ambiguous.value} is an address of {name}", "network addresses")
        return own


def read_addresses(source: Source, known: Callable[[type], Any]) -> Addresses:
    answer = source.network("addresses")
    if isinstance(answer, Unread):
        return Addresses(answer, ())
    try:
        rows = tuple(_row(str(names).split(), str(value), int(prefix)) for names, value, prefix in answer)
    except (OverflowError, TypeError, ValueError):
        return Addresses(unexpected("network", "addresses", answer), ())
    ports = known(RdmaPort) if any(len(row.names) != 1 for row in rows) else ()
    return Addresses(rows, ports if isinstance(ports, tuple) else ())


def _row(names: list[str], value: str, prefix: int) -> _Row:
    """A name with a colon is an address label, not an interface."""
    label = next((name for name in names if ":" in name), "")
    return _Row(tuple(name.partition(":")[0] for name in names), Address(str(ipaddress.ip_address(value)), prefix, label))


def _mapped(ports: "Iterable[RdmaPort]") -> "Iterator[tuple[str, frozenset[str]]]":
    """Each interface that a GID table names, and all its IPv4 addresses."""
    found: dict[str, set[str]] = {}
    for port in ports:
        for gid in () if isinstance(port.gids, Unread) else port.gids:
            if isinstance(gid.netdev, str) and gid.netdev:
                found.setdefault(gid.netdev, set()).add(parse_mapped(gid.value))
    return ((name, frozenset(values)) for name, values in found.items())


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
