"""Addresses of interfaces: by psutil where the namespace is ours, else from what /proc/1/net below the host's root says.

/proc/1/net lists IPv6 addresses with their interfaces, but not IPv4 ones: an address belongs to the only interface with a network that
contains it. Where several interfaces are in one network the answer names all of them.
"""

# GID tables settle which of several interfaces in one network has an IPv4 address, for those with an RDMA device; for others it
# stays unread. A link that is down is in neither fib_trie nor route.

import ipaddress
import re
import socket
import struct
from collections.abc import Iterator
from typing import Any

from hostagent.core.unread import Unread
from hostagent.host.files import Files

#: Bytes of a table: the addresses and routes of a host with some thousand pods.
_MOST_BYTES = str(4 * 1024 * 1024)
_LOOPBACK = ipaddress.ip_network("127.0.0.0/8")
_UP, _GATEWAY = 0x1, 0x2
_HEXADECIMAL = re.compile("[0-9A-F]{4,8}", re.ASCII)

Row = list[Any]


def by_psutil(psutil: Any) -> "list[Row] | Unread":
    """``[name, address, prefix]`` by interface, IPv4 first, then in the kernel's order; where it has a label by that: eth0:1."""
    try:
        listed = psutil.net_if_addrs()
    except OSError as error:
        return Unread("error", f"net_if_addrs: {error.strerror}")
    found: dict[tuple[str, int, str, int], None] = {}
    for label, addresses in listed.items():
        for one in addresses:
            if one.family in (socket.AF_INET, socket.AF_INET6):
                value = ipaddress.ip_address(one.address.partition("%")[0])
                found[label, value.version, str(value), _prefix(one.netmask, value.max_prefixlen)] = None
    ordered = sorted(found, key=lambda row: (row[0].partition(":")[0], row[1]))
    return [[label, address, prefix] for label, _, address, prefix in ordered]


def _prefix(mask: "str | None", most: int) -> int:
    return ipaddress.ip_address(mask.partition("/")[0]).packed.hex().translate(_BITS).count("1") if mask else most


#: Each hexadecimal digit as its bits: a mask is ones alone and then zeros.
_BITS = {ord(digit): f"{int(digit, 16):04b}" for digit in "0123456789abcdef"}


def by_tables(files: Files, net: str) -> "list[Row] | Unread":
    """``[names, address, prefix]``: names of all interfaces that it can be of, "" for none known. `net`: /proc/1/net."""
    tables: list[str] = []
    for name in ("if_inet6", "fib_trie", "route"):
        data = files.read(f"{net}/{name}", _MOST_BYTES)
        if isinstance(data, Unread) and not (data.why == "absent" and name == "if_inet6"):  # a kernel without IPv6
            return data
        tables.append(data.decode("utf-8", "replace") if isinstance(data, bytes) else "")
    try:
        return placed(parse_if_inet6(tables[0]), parse_fib_trie(tables[1]), parse_route(tables[2]))
    except ValueError as error:
        return Unread("error", f"{net}: {error}")


def placed(inet6: "list[Row]", local: "list[str]", routes: "list[Row]") -> "list[Row]":
    """IPv6 rows, and each local IPv4 address with the interfaces that have the longest matching network.

    >>> placed([], ["10.0.0.1", "10.9.0.1"], [["eth0", "10.0.0.0", 24], ["eth1", "10.0.0.0", 24], ["eth0", "10.0.0.0", 8]])
    [['eth0', '10.9.0.1', 8], ['eth0 eth1', '10.0.0.1', 24]]
    """
    holders: dict[tuple[int, int], set[str]] = {}
    for name, network, prefix in routes:
        first = int(ipaddress.ip_network((network, prefix)).network_address)
        holders.setdefault((prefix, first >> (32 - prefix)), set()).add(name)
    prefixes = sorted({prefix for prefix, _ in holders}, reverse=True)
    rows = []
    for text in local:
        address = ipaddress.IPv4Address(text)
        longest = next((one for one in prefixes if (one, int(address) >> (32 - one)) in holders), 32)
        names = sorted(holders.get((longest, int(address) >> (32 - longest)), ()))
        if address in _LOOPBACK and not names:
            names, longest = ["lo"], _LOOPBACK.prefixlen
        rows.append([" ".join(names), text, longest])
    return sorted(rows) + sorted(inet6)


def parse_if_inet6(text: str) -> "list[Row]":
    """Rows of /proc/net/if_inet6: address, index, length of the prefix, scope, flags, name. Raises ``ValueError``.

    >>> parse_if_inet6("fe800000000000001426b1fffe6a8618 04 40 20 c0       v0")
    [['v0', 'fe80::1426:b1ff:fe6a:8618', 64]]
    """
    rows = (line.split() for line in text.splitlines())
    return [
        [row[5], str(ipaddress.IPv6Address(bytes.fromhex(row[0]))), int(row[2], 16)] for row in rows if len(row) == 6 and len(row[2]) <= 2
    ]


def parse_fib_trie(text: str) -> "list[str]":
    r"""Local addresses of /proc/net/fib_trie, in order and once each.

    >>> parse_fib_trie("Local:\n +-- 10.0.0.0/24 2 0 2\n  |-- 10.0.0.1\n   /32 host LOCAL\n  |-- 10.0.0.2\n   /32 link BROADCAST\n")
    ['10.0.0.1']
    """
    return sorted(set(_local(text)))


def _local(text: str) -> Iterator[str]:
    leaf = ""
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "|--":
            leaf = str(ipaddress.IPv4Address(words[1]))
        elif words[:3] == ["/32", "host", "LOCAL"] and leaf:
            yield leaf


def parse_route(text: str) -> "list[Row]":
    r"""Interface, network and prefix of the routes of /proc/net/route that need no gateway. Raises ``ValueError``.

    >>> parse_route("Iface Destination Gateway Flags RefCnt Use Metric Mask\nmv0 0000000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n")
    [['mv0', '10.0.0.0', 24]]
    """
    rows = [line.split() for line in text.splitlines()[1:]]
    whole = [row for row in rows if len(row) > 7 and all(map(_HEXADECIMAL.fullmatch, (row[1], row[3], row[7])))]
    direct = [row for row in whole if int(row[3], 16) & (_UP | _GATEWAY) == _UP]
    return [[row[0], _address(row[1]), int(row[7], 16).bit_count()] for row in direct if row[7] not in ("00000000", "FFFFFFFF")]


def _address(text: str) -> str:
    """The kernel prints the four bytes as one number of its own order."""
    return str(ipaddress.IPv4Address(struct.pack("=I", int(text, 16))))
