"""Roles of RDMA ports: rails carry a job's traffic between nodes. Others are listed, but not judged for rate, MTU or link layer.

A port that is down, or slower than its like, has to stay a rail, or its fault would go unreported. So the ports that are up define a
rail: the link layer and rate that bring most bandwidth. Another port of the same kind of card is a rail too where most cards of that
kind have one in its position, or where a GPU has no other rail as near. The second port of a card, with no cable in it, is none.
"""

# Never rails: software devices, iWARP (RNIC), virtual functions next to their physical one (in a pod or guest, where that one has
# no port, they are), ports of cards that are not made for RDMA (a server's 25 Gb/s bnxt_re or irdma: not in
# `tables/boards.py`, and no port of their like has 100 Gb/s), management functions, and ports of a host without GPUs. In a
# virtual machine without a shown switch all ports count.
# Accepted: equal storage cards on the same switches, layer and rate are rails (NCCL takes them too; `rdma.hcas` separates
# them); a spare card of the rails' kind near a GPU without a cable is a rail that is down; where InfiniBand for jobs has less
# bandwidth in sum than Ethernet for storage as near, the majority is the storage's.

from collections.abc import Mapping
from typing import Literal, NamedTuple

from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.domains.network.tables.nics import card
from hostagent.domains.network.tables.rdma_devices import EFA, INFINIBAND, is_rail_speed, is_software, talks_to_nccl
from hostagent.domains.topology.distance import NEAREST_FIRST, DistanceRow, Distances
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic

Role = Literal["rail", "other"]

#: Below one PCIe switch: what is not known to be so near is farther.
_BELOW_A_SWITCH = ("LOC", "PIX", "PXB")


class _Group(NamedTuple):
    """The common properties of rails."""

    link_layer: str
    rate_gbps: float


class _Near(NamedTuple):
    """The nearest ports by GPU; and why distances are unknown, if they are."""

    by_gpu: tuple[frozenset[str], ...]
    gap: "Unread | None"

    @property
    def all(self) -> frozenset[str]:
        return frozenset[str]().union(*self.by_gpu)


class _Kind(NamedTuple):
    """The kind of a card."""

    device: str  # vendor and device id
    is_made_for_rdma: bool
    board: str  # "" where it is not known


class _Candidates(NamedTuple):
    """The ports that may be rails, those with known rate and link layer, and their distances to GPUs."""

    known: tuple[RdmaPort, ...]
    gaps: Mapping[str, Unread]
    near: _Near
    kinds: "Mapping[str, _Kind]"  # of card, by port
    undecided: int  # ports that may be the nearest to a GPU


def roles(ports: tuple[RdmaPort, ...], nics: tuple[Nic, ...], distances: "Distances | Unread", hcas: str) -> "Mapping[str, Role | Unread]":
    """Roles by name of the port. `hcas` is the profile's, in NCCL's own syntax (see `taken_by`); "" decides by distance.

    A rail is an RDMA port that is nearest to some GPU and shares link layer and top rate with the majority of those. Where no distance
    is known (a virtual machine), all ports on PCI are candidates. A host without GPUs has no rails, nor has one with ordinary Ethernet
    cards alone: they can RDMA too, and the kernel lists them.
    """
    if hcas:
        return {port.name: "rail" if taken_by(hcas, port.device, port.number) else "other" for port in ports}
    found: dict[str, Role | Unread] = {port.name: "other" for port in ports}
    physical = {port.pci for port in ports if isinstance(port.pci, str) and port.pci}
    wanted: list[RdmaPort] = []
    for port in ports:
        try:
            if _may_be_rail(port, physical):
                wanted.append(port)
        except UnreadError as error:
            found[port.name] = error.unread
    return found | _judged(tuple(wanted), nics, distances)


def rail_ports(ports: tuple[RdmaPort, ...], nics: tuple[Nic, ...], distances: "Distances | Unread", hcas: str) -> tuple[RdmaPort, ...]:
    """The rails, in the order of their names. Raises ``UnreadError`` where it is not known whether a port is one."""
    found = roles(ports, nics, distances, hcas)
    return tuple(sorted((port for port in ports if need(found[port.name]) == "rail"), key=lambda port: natural(port.name)))


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """For sorting: mlx5_2 comes before mlx5_10.

    >>> sorted(["mlx5_10:1", "mlx5_2:1", "bnxt_re0:1"], key=natural)
    ['bnxt_re0:1', 'mlx5_2:1', 'mlx5_10:1']
    """
    parts: list[str] = []
    for char in name:
        if parts and parts[-1][0].isdecimal() == char.isdecimal():
            parts[-1] += char
        else:
            parts.append(char)
    return tuple((1, len(digits := part.lstrip("0")), digits) if part.isdecimal() else (0, 0, part) for part in parts)


def taken_by(hcas: str, device: str, port: int) -> bool:
    """Whether NCCL_IB_HCA of this value takes the port: ``^`` excludes, ``=`` is exact, else tokens are prefixes; ``name[:port]``.

    >>> taken_by("mlx5_1", "mlx5_10", 1), taken_by("=mlx5_1", "mlx5_10", 1), taken_by("^=mlx5_1:1", "mlx5_1", 2)
    (True, False, True)
    """
    excludes = hcas.startswith("^")
    rest = hcas.removeprefix("^")
    is_exact = rest.startswith("=")
    tokens = [token.partition(":") for token in rest.removeprefix("=").split(",")]
    wanted = [(name, number if colon else "") for name, colon, number in tokens if name]
    taken = not wanted or any(
        (device == name if is_exact else device.startswith(name)) and number in {"", str(port)} for name, number in wanted
    )
    return taken != excludes


def _may_be_rail(port: RdmaPort, physical: set[str]) -> bool:
    """Not a software device, nor iWARP, nor a virtual function of a physical one on this host. Raises ``UnreadError``."""
    firmware = "" if isinstance(port.firmware, Unread) else port.firmware
    if is_software(need(port.pci), firmware, port.device) or not talks_to_nccl(need(port.node_type)):
        return False
    return need(port.virtual_of) not in physical


def _judged(ports: tuple[RdmaPort, ...], nics: tuple[Nic, ...], distances: "Distances | Unread") -> "dict[str, Role | Unread]":
    if isinstance(distances, Unread) and distances.why not in NOT_APPLICABLE:
        return {port.name: distances for port in ports}
    by_address = {nic.pci: nic for nic in nics}
    kinds = {port.name: _kind(port, by_address) for port in ports}
    candidates = tuple(port for port in ports if _is_made_for_rdma(port, ports, kinds))
    others: dict[str, Role | Unread] = {port.name: "other" for port in ports if port not in candidates}
    return others | _candidate_roles(candidates, kinds, _near(candidates, distances))


def _candidate_roles(ports: tuple[RdmaPort, ...], kinds: "Mapping[str, _Kind]", near: _Near) -> "dict[str, Role | Unread]":
    gaps = {port.name: gap for port in ports if (gap := _gap(port)) is not None}
    all_near = near.all
    known = tuple(port for port in ports if port.name in all_near and port.name not in gaps)
    hosts = _Candidates(known, gaps, near, kinds, len(ports) - len(all_near))
    group = _group(hosts)
    found: dict[str, Role | Unread] = {}
    for port in ports:
        if port.name not in all_near:
            found[port.name] = "other" if near.gap is None else near.gap
        elif port.name in gaps:
            found[port.name] = gaps[port.name]
        else:
            found[port.name] = group if isinstance(group, Unread) else "rail" if _is_rail(port, hosts, group) else "other"
    return found


def _near(ports: tuple[RdmaPort, ...], distances: "Distances | Unread") -> _Near:
    """On a machine without known distances all ports are equally near to all GPUs."""
    every = frozenset(port.name for port in ports)
    if isinstance(distances, Unread):
        return _Near((every,), None)
    found: list[frozenset[str]] = []
    gap: Unread | None = None
    for row in distances.gpu_nic.values():
        try:
            found.append(_nearest(ports, row))
        except UnreadError as error:
            if error.unread.why in NOT_APPLICABLE:
                return _Near((every,), None)
            gap = error.unread
    return _Near(tuple(found), gap)


def _nearest(ports: tuple[RdmaPort, ...], row: DistanceRow) -> frozenset[str]:
    lacking = Unread("absent", "a port's card is not on PCI")
    places = {port.name: row.get(need(port.virtual_of) or need(port.pci), lacking) for port in ports}
    known = {name: word for name, word in places.items() if not isinstance(word, Unread)}
    best = min(known.values(), key=NEAREST_FIRST.index, default="")
    for word in places.values():
        if isinstance(word, Unread) and (best not in _BELOW_A_SWITCH or word.why not in NOT_APPLICABLE):
            need(word)
    return frozenset(name for name, word in known.items() if word == best)


def _is_made_for_rdma(port: RdmaPort, ports: tuple[RdmaPort, ...], kinds: "Mapping[str, _Kind]") -> bool:
    """Whether it is made for RDMA: by its card, or by the rate of a similar port."""
    if isinstance(port.link_layer, Unread) or isinstance(port.rate_gbps, Unread) or isinstance(port.driver, Unread):
        return True  # unknown
    if port.link_layer == INFINIBAND or port.driver == EFA or kinds[port.name].is_made_for_rdma:
        return True
    alike = (one.rate_gbps for one in ports if _is_alike(kinds[one.name], kinds[port.name]))
    return any(not isinstance(rate, Unread) and is_rail_speed(rate) for rate in alike)


def _gap(port: RdmaPort) -> "Unread | None":
    """The first unread value that decides; every port has these files, so a missing one does not make the host's ports unknown."""
    gap = next((value for value in (port.link_layer, port.rate_gbps, port.state) if isinstance(value, Unread)), None)
    return Unread("error", gap.detail, gap.question) if gap is not None and gap.why in NOT_APPLICABLE else gap


def _kind(port: RdmaPort, by_address: Mapping[str, Nic]) -> _Kind:
    own, of = by_address.get(need(port.pci)), by_address.get(need(port.virtual_of))
    board = "" if isinstance(port.board_id, Unread) else port.board_id
    return _Kind(":".join(_ids(own)) if own else "", _is_known(of or own), board)


def _ids(nic: Nic) -> tuple[str, ...]:
    return tuple("" if isinstance(part, Unread) else part for part in (nic.vendor_id, nic.device_id))


def _is_known(nic: "Nic | None") -> bool:
    """Whether it counts as a card made for RDMA; an unknown one does."""
    if nic is None:
        return False
    vendor, device = nic.vendor_id, nic.device_id
    return isinstance(vendor, Unread) or isinstance(device, Unread) or card(vendor, device) is not None


def _is_alike(one: _Kind, other: _Kind) -> bool:
    """Ports of cards of one kind should reach the same rate."""
    return one.device == other.device and (one.board == other.board or not one.board or not other.board)


def _group(hosts: _Candidates) -> "_Group | Unread":
    """The group with most bandwidth, the faster one in a tie; a gap where unread ports could outweigh its lead."""
    voters = [port for port in hosts.known if _is_up(port)] or list(hosts.known)
    unread = [hosts.gaps[name] for name in sorted(hosts.near.all & hosts.gaps.keys())]
    if hosts.near.gap is not None:
        unread += [hosts.near.gap] * hosts.undecided
    if not voters:
        return unread[0] if unread else Unread("absent", "the host has no RDMA port that jobs could use")
    bandwidth: dict[_Group, float] = {}
    for port in voters:
        group = _group_of(port)
        bandwidth[group] = bandwidth.get(group, 0) + group.rate_gbps
    first, *others = sorted(bandwidth, key=lambda one: (bandwidth[one], one.rate_gbps, one.link_layer), reverse=True)
    lead = bandwidth[first] - max((bandwidth[one] for one in others), default=0)
    fastest = max(group.rate_gbps for group in bandwidth)
    return unread[0] if unread and lead < fastest * len(unread) else first


def _group_of(port: RdmaPort) -> _Group:
    return _Group(need(port.link_layer), need(port.rate_gbps))


def _is_up(port: RdmaPort) -> bool:
    return need(port.state) != "DOWN"


def _is_rail(port: RdmaPort, hosts: _Candidates, group: _Group) -> bool:
    full = {one.name for one in hosts.known if _group_of(one) == group and _is_up(one)}
    if port.name in full:
        return True
    leaders = full or {one.name for one in hosts.known if _group_of(one) == group}
    kind = hosts.kinds[port.name]
    if need(port.link_layer) != group.link_layer or not any(_is_alike(kind, hosts.kinds[name]) for name in leaders):
        return False
    alike = [one for one in hosts.known if _is_alike(kind, hosts.kinds[one.name]) and _position(one) == _position(port)]
    if sum(one.name in full for one in alike) * 2 > len(alike):
        return True
    return _is_lonely(port, hosts, full)


def _is_lonely(port: RdmaPort, hosts: _Candidates, full: set[str]) -> bool:
    """Whether a GPU has no other rail as near; where distances are unknown, whether its card has no other."""
    card = {one.name for one in hosts.known if _card(one) == _card(port)}
    if card & full:
        return False
    return len(set(hosts.near.by_gpu)) == 1 or any(port.name in names and not names & full for names in hosts.near.by_gpu)


def _card(port: RdmaPort) -> str:
    """``0000:1a:00`` of both 0000:1a:00.0 and 0000:1a:00.1; a virtual function is of its physical one's card."""
    return (need(port.virtual_of) or need(port.pci)).rpartition(".")[0]


def _position(port: RdmaPort) -> tuple[str, int]:
    """On its card: function and port."""
    return ("virtual" if need(port.virtual_of) else need(port.pci).rpartition(".")[2], port.number)
