"""The slot of a RoCE port's GID table that a job gets: NCCL's own order, up to 2.20 and from 2.21 on.

Up to 2.20 it is index 0 (NCCL_IB_GID_INDEX's default). From 2.21 on NCCL begins with index 0 and walks the table upwards: the first slot
with an IPv4 address takes over from one without, and of two with such an address the one that is RoCE v2 (ncclUpdateGidIndex in
NVIDIA/nccl, src/transport/net_ib). A slot with an IPv6 address is taken at index 0 alone. Settings ask for another family, a range of
addresses, or RoCE v1.
"""

# An IPv6 address is taken at index 0 alone: on a fabric of IPv6 NCCL stays with the link-local v1 of slot 0 (ncclUpdateGidIndex).
# Empty slots read as zeros.

from typing import NamedTuple

from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.network.tables.rdma_devices import EFA, ETHERNET, ROCE_V2
from hostagent.facts.rdma import Gid, RdmaPort

_IPV4 = "0000:0000:0000:0000:0000:ffff:"
_LINK_LOCAL = "fe80:0000:0000:0000:"


class Asked(NamedTuple):
    """Settings for the choice of a GID: NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE, NCCL_IB_ROCE_VERSION_NUM."""

    is_ipv6: bool = False
    addresses: str = ""  # 10.0.0.0/8; "" for all
    is_v2: bool = True


def chosen(port: RdmaPort) -> "Gid | Unread":
    """The choice of NCCL from 2.21 on, without settings. Absent where it takes an empty slot; not-supported for other ports than RoCE."""
    return chosen_as(port, Asked())


def chosen_as(port: RdmaPort, asked: Asked) -> "Gid | Unread":
    """The same, with settings."""
    try:
        return _walked(port, _table(port), asked)
    except UnreadError as error:
        return error.unread


def chosen_before_2_21(port: RdmaPort) -> "Gid | Unread":
    """The choice of NCCL up to 2.20, without settings: always index 0."""
    try:
        return _first(port, _table(port))
    except UnreadError as error:
        return error.unread


def at_index(port: RdmaPort, index: int) -> "Gid | Unread":
    """The slot that NCCL_IB_GID_INDEX names; absent where it is empty."""
    try:
        empty = Unread("absent", f"slot {index} of the GID table is empty")
        return next((gid for gid in _table(port) if gid.index == index), empty)
    except UnreadError as error:
        return error.unread


def is_link_local(gid: Gid) -> bool:
    return gid.value.startswith(_LINK_LOCAL)


def is_routable(gid: Gid) -> bool:
    """RoCE v2 of an address: neither v1 nor link-local. Raises ``UnreadError``.

    >>> is_routable(Gid(3, "0000:0000:0000:0000:0000:ffff:0a00:0101", "RoCE v2", "ens1np0"))
    True
    >>> is_routable(Gid(1, "fe80:0000:0000:0000:9a03:9bff:feaa:bb00", "RoCE v2", "ens1np0"))
    False
    """
    return not is_link_local(gid) and need(gid.type) == ROCE_V2


def address(gid: Gid) -> str:
    """An IPv4 address in dotted form; an IPv6 one stays as in sysfs.

    >>> address(Gid(3, "0000:0000:0000:0000:0000:ffff:0a00:0101", "RoCE v2", "ens1np0"))
    '10.0.1.1'
    """
    if not is_ipv4(gid):
        return gid.value
    try:
        return ".".join(str(byte) for byte in bytes.fromhex(gid.value.removeprefix(_IPV4).replace(":", "")))
    except ValueError:
        return gid.value


def is_ipv4(gid: Gid) -> bool:
    return gid.value.startswith(_IPV4)


def _table(port: RdmaPort) -> tuple[Gid, ...]:
    driver, layer = need(port.driver), need(port.link_layer)
    if driver == EFA or layer != ETHERNET:
        return need(Unread("not-supported", f"{port.name} is no RoCE port: jobs address it without its GID table"))
    return need(port.gids)


def _first(port: RdmaPort, gids: tuple[Gid, ...]) -> "Gid | Unread":
    return next((gid for gid in gids if gid.index == 0), Unread("absent", f"slot 0 of the GID table of {port.name} is empty"))


def _walked(port: RdmaPort, gids: tuple[Gid, ...], asked: Asked) -> "Gid | Unread":
    taken = _first(port, gids)
    for gid in sorted(gids, key=lambda one: one.index):
        if gid.index == 0 or is_ipv4(gid) == asked.is_ipv6 or not _is_within(gid, asked.addresses):
            continue
        is_first = isinstance(taken, Unread) or is_ipv4(taken) == asked.is_ipv6
        if is_first or (not is_link_local(gid) and _improves(need(taken), gid, asked)):
            taken = gid
    return taken


def _improves(taken: Gid, gid: Gid, asked: Asked) -> bool:
    own, other = need(taken.type) == ROCE_V2, need(gid.type) == ROCE_V2
    return other == asked.is_v2 and (own != other or is_link_local(taken))


def _is_within(gid: Gid, addresses: str) -> bool:
    """Whether its address is in this network; a network that cannot be parsed contains every address, as in NCCL."""
    if not addresses:
        return True
    from ipaddress import ip_address, ip_network  # rarely asked

    try:
        return ip_address(address(gid)) in ip_network(addresses, strict=False)
    except ValueError:
        return True
