"""RDMA ports by sysfs and libibverbs, as the RDMA worker read them (Linux kernel, ABI/stable/sysfs-class-infiniband; ibv_query_port(3))."""

# A device without an answer is still a port (`NAME:1`), without any value. The interface of a port is that of the first slot of
# its GID table (a bond where it is part of one), else that of its function with its dev_port. traffic_class 0: the driver has the
# file and no value was set. Values are parsed without patterns: compiling them took longer than all ports together.

from collections.abc import Callable
from typing import Any, TypeVar

from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.domains.network.read_rdma_answers import (
    Words,
    parse_count,
    parse_guid,
    parse_labelled,
    parse_local_id,
    parse_rate,
    parse_traffic_class,
)
from hostagent.facts.rdma import Gid, Pkey, RdmaPort
from hostagent.host.source import Source

T = TypeVar("T")

#: For a file that the driver does not have.
_NO_DEFAULT = Unread("not-supported", "the driver has no default traffic class")
_NO_POLICY = Unread("absent", "the physical function does not say which policy its virtual functions have")
_GID_LENGTH = 39
#: By the number that ibv_query_port gives, bytes are 128 << number.
_MTUS = range(1, 6)


@stops_at_unread
def read_ports(source: Source, known: Callable[[type], Any]) -> tuple[RdmaPort, ...]:
    """The ports by device, then number. Management functions of NVLink 5 switches have none."""
    return tuple(port for name in names(source) for port in _of_device(source, name))


def names(source: Source) -> tuple[str, ...]:
    """None where the kernel has no RDMA at all. Raises ``UnreadError``."""
    answer = source.rdma("devices")
    found = [] if isinstance(answer, Unread) and answer.why == "absent" else need(answer)
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        return need(Unread("error", "rdma devices: wanted a list of names", "rdma devices"))
    return tuple(found)


@stops_at_unread
def managers(source: Source) -> tuple[str, ...]:
    """Devices that are management functions of NVLink 5 switches, which PCI does not show."""
    return tuple(name for name in names(source) if _is_manager(Words(source, "device", name)))


def _is_manager(words: Words) -> bool:
    """Raises ``UnreadError``."""
    found = need(words.raw("manages_nvlink"))
    return found if isinstance(found, bool) else need(words.wrong("manages_nvlink: wanted true or false"))


def _of_device(source: Source, name: str) -> tuple[RdmaPort, ...]:
    """A device without an answer still has a port, with every value unread."""
    words = Words(source, "device", name)
    listed = words.raw("ports")
    if not isinstance(listed, list | Unread):
        listed = words.wrong("ports: wanted a list of numbers")
    if isinstance(listed, Unread):
        return (_port(source, name, words, 1),) if words.gap is not None or listed.why not in NOT_APPLICABLE else ()
    numbers = [int(one) for one in listed if isinstance(one, str) and one.isdecimal() and one.isascii() and len(one) < 4]
    return tuple(_port(source, name, words, number) for number in numbers)


def _port(source: Source, name: str, device: Words, number: int) -> RdmaPort:
    words = Words(source, "port", name, str(number)) if device.gap is None else device
    gids, verbs = words.rows("gids", _gid), Words(source, "verbs", name, str(number))
    return RdmaPort(
        name=f"{name}:{number}",
        device=name,
        number=number,
        **_of_function(device, number),
        link_layer=words.word("link_layer"),
        state=words.parsed("state", parse_labelled),
        physical_state=words.parsed("phys_state", parse_labelled),
        rate_gbps=words.parsed("rate", parse_rate),
        rate_words=words.word("rate"),
        lid=words.parsed("lid", parse_local_id),
        sm_lid=words.parsed("sm_lid", parse_local_id),
        pkeys=words.rows("pkeys", _pkey),
        gids=gids,
        netdev=_netdev(gids, device, number),
        active_mtu=_bytes(verbs, "active_mtu"),
        max_mtu=_bytes(verbs, "max_mtu"),
        traffic_class=_without(words.parsed("traffic_class", parse_traffic_class), _NO_DEFAULT),
        link_downed=words.parsed("link_downed", parse_count),
    )


def _of_function(device: Words, number: int) -> "dict[str, Any]":
    """Values that all ports of a device share, and the settings of its physical function for one of them."""
    return {
        "pci": device.word("pci"),
        "virtual_of": device.word("virtual_of"),
        "driver": device.word("driver"),
        "node_type": device.parsed("node_type", parse_labelled),
        "firmware": _without(device.word("fw_ver"), ""),
        "board_id": _without(device.word("board_id"), ""),
        "node_guid": device.parsed("node_guid", parse_guid),
        "node": device.word("node"),
        "link_policy": _policy(device, number),
    }


def _without(found: "T | Unread", otherwise: "T | Unread") -> "T | Unread":
    """Attributes that not every driver has."""
    return otherwise if isinstance(found, Unread) and found.why == "absent" else found


def _policy(device: Words, number: int) -> "str | Unread":
    of = device.word("virtual_of")
    if isinstance(of, Unread) or not of:
        return of
    return _without(device.inner("link_policy", str(number)), _NO_POLICY)


def _bytes(words: Words, field: str) -> "int | Unread":
    found = words.raw(field)
    if isinstance(found, Unread):
        return found
    if type(found) is not int or found not in _MTUS:
        return words.wrong(f"{field}: found {str(found)[:20]!r}, wanted 1 to {_MTUS[-1]}")
    return 128 << found


def _gid(index: Any, value: Any, kind: Any, netdev: Any) -> Gid:
    if type(index) is not int or not isinstance(kind, str | Unread) or not isinstance(netdev, str | Unread):
        raise TypeError(index)
    if not isinstance(value, str) or len(value) != _GID_LENGTH:
        raise ValueError(value)
    return Gid(index, value, kind, _without(netdev, ""))


def _pkey(index: Any, value: Any) -> Pkey:
    if type(index) is not int or not isinstance(value, str | Unread):
        raise TypeError(index)
    return Pkey(index, parse_local_id(need(value)))


def _netdev(gids: "tuple[Gid, ...] | Unread", device: Words, number: int) -> "str | Unread":
    """The interface of the first slot of the GID table, which is a bond where the port is part of one; else that of the function."""
    if isinstance(gids, Unread) and gids.why not in NOT_APPLICABLE:
        return gids
    for gid in sorted(() if isinstance(gids, Unread) else gids, key=lambda one: one.index):
        if isinstance(gid.netdev, Unread) or gid.netdev:
            return gid.netdev
    rows = device.rows("netdevs", lambda name, port: (str(need(name)), port if type(port) is int else -1))
    if isinstance(rows, Unread):
        return "" if rows.why in NOT_APPLICABLE else rows
    own = sorted(name for name, port in rows if port == number - 1) or [name for name, _ in rows if len(rows) == 1]
    return own[0] if own else ""
