"""The interface that NCCL's bootstrap takes: the address where the ranks of a job meet.

Source: NVIDIA/nccl, src/bootstrap.cc (bootstrapNetInit), src/misc/socket.cc and src/os/linux.cc (ncclFindInterfaces, matchSubnet). The
library itself agrees on generated sets of interfaces and settings (tests/real/test_libnccl.py).
"""

# The kernel's order is IPv4 of all interfaces, then IPv6, each by interface index; kernels before 6.9 list indexes modulo 256
# (their source, not measured). Addresses keep their labels (`eth0:1` is a name to NCCL). RUNNING counts from 2.28.3. NCCL_COMM_ID
# makes NCCL ignore list, family and RUNNING; 2.29.2 to 2.29.7 compare its IPv4 network the wrong way round and take the first
# interface that is not in it (mostly lo), which is documented nowhere. A host's name in NCCL_COMM_ID is not resolved. Names
# beyond 1,023 bytes become garbage in NCCL, interface lists with names beyond 63 characters overrun its buffer; neither is
# reported.

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Literal

from hostagent.core.frozen import frozen
from hostagent.domains.nccl.name_list import NameList, parse_names
from hostagent.domains.nccl.tables.changes import COMM_ID_FAULT, RUNNING_ONLY, VIRBR_LAST, Version

#: Why this interface, or why none.
Because = Literal["ifname", "ib", "comm_id", "rest", "docker", "loopback", "virbr", "no_interface", "bad_comm_id", "no_subnet", "hostname"]

_FAMILIES = {"AF_INET": 4, "AF_INET6": 6}


@frozen
class Address:
    """An address of an interface."""

    interface: str  # or its label: "eth0:1"
    index: int  # of the interface
    value: str  # 10.0.1.5, fe80::1
    prefix: int
    running: bool  # IFF_RUNNING: the interface is up, and its operstate is up or unknown


@frozen
class Choice:
    """The bootstrap's choice. `interface` and `value` are "" for none, or where the choice is unknown (see `why`)."""

    interface: str
    value: str
    why: Because

    @property
    def is_known(self) -> bool:
        """False where NCCL_COMM_ID names a host: names are not resolved here."""
        return self.why != "hostname"


def bootstrap(addresses: Sequence[Address], settings: Mapping[str, str], version: Version) -> Choice:
    """The choice among all addresses of the network namespace; those of one interface and family are in the kernel's order.

    `settings` are the values that win (`hostagent.domains.nccl.settings`). A list's order is no preference: the kernel's order decides.

    >>> here = [Address("eth1", 3, "10.0.1.5", 24, True), Address("eth0", 2, "10.0.0.5", 24, True), Address("lo", 1, "127.0.0.1", 8, True)]
    >>> bootstrap(here, {}, (2, 28, 9))
    Choice(interface='eth0', value='10.0.0.5', why='rest')
    >>> bootstrap(here, {"NCCL_SOCKET_IFNAME": "^docker0"}, (2, 28, 9)).interface
    'lo'
    >>> bootstrap(here, {"NCCL_SOCKET_IFNAME": "=eth7"}, (2, 28, 9))
    Choice(interface='', value='', why='no_interface')
    """
    if "NCCL_COMM_ID" in settings:
        return _of_comm_id(in_kernel_order(addresses), settings["NCCL_COMM_ID"], version)
    return bootstraps(addresses, (), settings, version)[0]


def bootstraps(known: Sequence[Address], may_be: Sequence[Address], settings: Mapping[str, str], version: Version) -> tuple[Choice, ...]:
    """The choice among the known addresses, then the choices if one of the others exists. Without NCCL_COMM_ID.

    >>> eth, ib = Address("eth0", 2, "10.0.0.5", 24, True), Address("ib0", 3, "10.0.1.5", 24, True)
    >>> [one.interface for one in bootstraps([eth], [ib], {}, (2, 28, 9))], len(bootstraps([ib], [eth], {}, (2, 28, 9)))
    (['eth0', 'ib0'], 1)
    """
    usable = _usable(in_kernel_order([*known, *may_be]), settings.get("NCCL_SOCKET_FAMILY", ""), version)
    certain, found = frozenset(known), dict[str, Choice]()
    for names, why in searches(settings.get("NCCL_SOCKET_IFNAME", ""), version):
        for address in usable:
            if names.takes(address.interface):
                choice = Choice(address.interface, address.value, why)
                if address in certain:
                    return (choice, *found.values())
                found.setdefault(address.interface, choice)
    return (Choice("", "", "no_interface"), *found.values())


def searches(ifname: str, version: Version) -> tuple[tuple[NameList, Because], ...]:
    """The lists that are tried one after the other, until one selects an interface. A value of one character counts as none.

    >>> [why for _, why in searches("", (2, 27, 3))], [why for _, why in searches("=eth0", (2, 27, 3))]
    (['ib', 'rest', 'docker', 'loopback'], ['ifname'])
    """
    if len(ifname.encode("utf-8", "surrogateescape")) > 1:
        return ((parse_names(ifname), "ifname"),)
    has_virbr = version >= VIRBR_LAST
    return (
        (parse_names("ib"), "ib"),
        (parse_names("^docker,lo,virbr" if has_virbr else "^docker,lo"), "rest"),
        (parse_names("docker"), "docker"),
        (parse_names("lo"), "loopback"),
        *(((parse_names("virbr"), "virbr"),) if has_virbr else ()),
    )


def in_kernel_order(addresses: Sequence[Address]) -> list[Address]:
    """As ``getifaddrs`` lists them: IPv4 of all interfaces, then IPv6, each by the interface's index.

    >>> [one.value for one in in_kernel_order([Address("a", 2, "fd00::1", 64, True), Address("b", 3, "10.0.0.1", 8, True)])]
    ['10.0.0.1', 'fd00::1']
    """
    return sorted(addresses, key=lambda one: (ipaddress.ip_address(one.value).version, one.index))


def _usable(listed: Sequence[Address], family: str, version: Version) -> list[Address]:
    wanted = _FAMILIES.get(family)  # any other word counts as none
    return [
        one
        for one in listed
        for address in (ipaddress.ip_address(one.value),)
        if (wanted is None or address.version == wanted)
        and not (address.version == 6 and address.is_loopback)
        and (one.running or version < RUNNING_ONLY)
    ]


def _of_comm_id(listed: Sequence[Address], comm_id: str, version: Version) -> Choice:
    """The first address in the network of NCCL_COMM_ID's address; list, family and RUNNING do not count then."""
    if len(comm_id.encode("utf-8", "surrogateescape")) < 2:
        return Choice("", "", "bad_comm_id")
    if comm_id.startswith("["):
        return _of_bracket(listed, comm_id)
    host = next((part for part in (token.split(":", 1)[0] for token in comm_id.split(",")) if part), "")
    if not host:
        return Choice("", "", "bad_comm_id")
    try:
        remote = ipaddress.IPv4Address(host)
    except ValueError:
        return Choice("", "", "hostname")
    return _in_subnet(listed, remote, "", is_inverted=COMM_ID_FAULT[0] <= version < COMM_ID_FAULT[1])


def _of_bracket(listed: Sequence[Address], comm_id: str) -> Choice:
    if "]" not in comm_id:
        return Choice("", "", "bad_comm_id")
    host, _, scope = comm_id[1 : comm_id.index("]")].partition("%")
    try:
        return _in_subnet(listed, ipaddress.IPv6Address(host), scope, is_inverted=False)
    except ValueError:  # what NCCL then compares with is not defined
        return Choice("", "", "hostname")


def _in_subnet(
    listed: Sequence[Address], remote: "ipaddress.IPv4Address | ipaddress.IPv6Address", scope: str, *, is_inverted: bool
) -> Choice:
    indexes = {one.interface.split(":")[0]: one.index for one in listed}
    remote_scope = indexes.get(scope, 0) if scope else 0
    for one in listed:
        address = ipaddress.ip_address(one.value)
        if address.version != remote.version:
            continue
        if (remote in ipaddress.ip_network(f"{one.value}/{one.prefix}", strict=False)) == is_inverted:
            continue
        if address.version == 6 and remote_scope != (one.index if address.is_link_local else 0):
            continue
        return Choice(one.interface, one.value, "comm_id")
    return Choice("", "", "no_subnet")
