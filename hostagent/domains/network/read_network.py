"""The host's network namespace: interfaces, addresses, sysctls, listeners."""

from collections.abc import Callable
from typing import Any

from hostagent.core.answers import unexpected
from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import Unread, UnreadError, need, then
from hostagent.domains.network.answers import parse_ranges, value_in
from hostagent.domains.network.read_netdevs import read_netdevs
from hostagent.facts.network import Listener, Network
from hostagent.host.source import Source


def read_network(source: Source, known: Callable[[type], Any]) -> Network:
    return Network(
        netdevs=read_netdevs(source, known),
        port_range=_port_range(source),
        reserved_ports=_reserved_ports(source),
        listeners=_listeners(source),
    )


@stops_at_unread
def _port_range(source: Source) -> tuple[int, int]:
    text = need(value_in(source.network("settings"), "network settings", "port_range")).replace(" ", "-")
    ranges = need(parse_ranges(text, "ip_local_port_range"))
    if len(ranges) != 1:
        raise UnreadError(Unread("error", f"ip_local_port_range: found {text[:40]!r}"))
    return ranges[0]


def _reserved_ports(source: Source) -> "tuple[tuple[int, int], ...] | Unread":
    text = value_in(source.network("settings"), "network settings", "reserved_ports")
    return then(text, lambda found: parse_ranges(found, "ip_local_reserved_ports"))


def _listeners(source: Source) -> "tuple[Listener, ...] | Unread":
    answer = source.network("listeners")
    if isinstance(answer, Unread):
        return answer
    if isinstance(answer, list):
        rows = [tuple(row) for row in answer if isinstance(row, list) and [type(word) for word in row] == [int, str]]
        if len(rows) == len(answer):
            return tuple(Listener(*row) for row in rows)
    return unexpected("network", "listeners", answer)
