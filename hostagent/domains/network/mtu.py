"""The MTU that a job gets between nodes, and whether all rails agree."""

# The active MTU is what libibverbs says. Where that is missing, or the right to open the device, the kernel's formula answers for
# RoCE (`derived`); a call that hung, failed or was not recorded is not replaced. InfiniBand: in state ACTIVE alone. EFA: its
# driver's. A RoCE port that is down without an interface here is in a pod: mlx5 then reports DOWN and 256, which is no
# disagreement.

from typing import Literal, NamedTuple

from hostagent.core.majority import most
from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.domains.network.gids import chosen
from hostagent.domains.network.stack import cut
from hostagent.domains.network.tables.numbers import roce_mtu
from hostagent.domains.network.tables.rdma_devices import EFA, ETHERNET, INFINIBAND, ROCE_V2
from hostagent.facts.network import Network
from hostagent.facts.rdma import RdmaPort

_EFA, _ROCE = "EFA", "RoCE"
#: Reasons to fall back to the kernel's formula: no libibverbs, or no right to open the device; a call that hangs or fails is a gap.
_DERIVED_WITHOUT = frozenset({*NOT_APPLICABLE, "denied"})


class ActiveMtu(NamedTuple):
    """Active MTU of one port, in bytes: by ibv_query_port, or derived from its interface by the kernel's formula (RoCE alone)."""

    value: "int | Unread"
    origin: Literal["verbs", "derived", ""]


class Agreement(NamedTuple):
    """The MTUs of all rails, compared."""

    agree: "bool | Unread"
    netdev: "int | Unread"  # bytes, what most RoCE rails have
    active: "int | Unread"
    odd: tuple[str, ...]  # names of ports that have another netdev or active MTU than most, or less than their interfaces allow
    text: str  # "8 rails RoCE v2 400 Gb/s, netdev MTU 9000, active MTU 4096: agree"


class _Rail(NamedTuple):
    name: str
    netdev: "int | Unread"
    active: "int | Unread"
    allowed: "int | Unread"  # the active MTU that its interface allows
    origin: str
    is_cut: "bool | Unread"  # an interface below its own has a smaller MTU
    is_efa: bool


def active_mtu(port: RdmaPort, network: "Network | Unread") -> ActiveMtu:
    """Not-supported for EFA (its driver sets the MTU) and for an InfiniBand port that no subnet manager has made active yet."""
    try:
        return _active(port, network)
    except UnreadError as error:
        return ActiveMtu(error.unread, "")


def netdev_mtu(port: RdmaPort, network: "Network | Unread") -> "int | Unread":
    """MTU of a RoCE port's interface; not-supported for other ports, absent where its interface is in another network namespace."""
    try:
        if need(port.driver) == EFA or need(port.link_layer) != ETHERNET:
            return Unread("not-supported", f"{port.name} is no RoCE port")
        name = need(port.netdev)
        if not name:
            return Unread("absent", f"{port.name} has no interface here")
        return need(need(network).netdev(name)).mtu
    except UnreadError as error:
        return error.unread


def agreement(rails: tuple[RdmaPort, ...], network: "Network | Unread") -> Agreement:
    """Compares the rails only. `text` is one readable line, also without rails, or with unread values."""
    if not rails:
        none = Unread("absent", "the host has no rails")
        return Agreement(none, none, none, (), "no rails: the host has no RDMA port that jobs use")
    known = tuple(_rail(port, network) for port in rails)
    netdev, active = _most([one.netdev for one in known]), _most([one.active for one in known])
    odd = tuple(one.name for one in known if _is_odd(one, netdev, active))
    agree = _agree(known, odd)
    return Agreement(agree, netdev, active, odd, f"{_head(rails)}{_numbers(known, netdev, active)}: {_tail(agree, odd, known)}")


def _active(port: RdmaPort, network: "Network | Unread") -> ActiveMtu:
    if need(port.driver) == EFA:
        return ActiveMtu(Unread("not-supported", f"{port.name} is an EFA port: its driver sets the MTU"), "")
    layer = need(port.link_layer)
    if layer == INFINIBAND and need(port.state) != "ACTIVE":
        return ActiveMtu(Unread("not-supported", f"{port.name} is not active: its subnet manager has set no MTU yet"), "")
    is_lent = layer == ETHERNET and not isinstance(port.netdev, Unread) and not port.netdev
    if is_lent and need(port.state) == "DOWN":
        return ActiveMtu(Unread("not-supported", f"{port.name} is down, its interface is in another network namespace"), "")
    found = port.active_mtu
    if not isinstance(found, Unread):
        return ActiveMtu(found, "verbs")
    if layer != ETHERNET or found.why not in _DERIVED_WITHOUT:
        return ActiveMtu(found, "")
    return ActiveMtu(need(_allowed(port, netdev_mtu(port, network))), "derived")


def _allowed(port: RdmaPort, mtu: "int | Unread") -> "int | Unread":
    if isinstance(mtu, Unread):
        return mtu
    return min(roce_mtu(mtu), roce_mtu(mtu) if isinstance(port.max_mtu, Unread) else port.max_mtu)


def _rail(port: RdmaPort, network: "Network | Unread") -> _Rail:
    mtu, active = netdev_mtu(port, network), active_mtu(port, network)
    return _Rail(port.name, mtu, active.value, _allowed(port, mtu), active.origin, _is_cut(port, network), _kind(port) == _EFA)


def _is_cut(port: RdmaPort, network: "Network | Unread") -> "bool | Unread":
    try:
        if isinstance(netdev_mtu(port, network), Unread):
            return False  # that is the gap
        known = need(network)
        return cut(known, need(known.netdev(need(port.netdev)))) is not None
    except UnreadError as error:
        return error.unread


def _most(values: "list[int | Unread]") -> "int | Unread":
    """The most common value, the larger one in a tie; the first gap where nothing is known."""
    known = [one for one in values if not isinstance(one, Unread)]
    if not known:
        return _worst([one for one in values if isinstance(one, Unread)])
    found: int = most(known)
    return found


def _worst(gaps: list[Unread]) -> Unread:
    return next((gap for gap in gaps if gap.why not in NOT_APPLICABLE), gaps[0])


def _is_odd(rail: _Rail, netdev: "int | Unread", active: "int | Unread") -> bool:
    if _differs(rail.netdev, netdev) or _differs(rail.active, active) or (not isinstance(rail.is_cut, Unread) and rail.is_cut):
        return True
    return not isinstance(rail.active, Unread) and not isinstance(rail.allowed, Unread) and rail.active < rail.allowed


def _differs(one: "int | Unread", most: "int | Unread") -> bool:
    return not isinstance(one, Unread) and not isinstance(most, Unread) and one != most


def _agree(rails: tuple[_Rail, ...], odd: tuple[str, ...]) -> "bool | Unread":
    """A gap that means "does not apply" leaves the answer to the other number, and to the other rails."""
    if odd:
        return False
    gaps = [value for rail in rails for value in (rail.active, rail.netdev, rail.is_cut) if isinstance(value, Unread)]
    open_ones = [gap for gap in gaps if gap.why not in NOT_APPLICABLE]
    if open_ones or all(isinstance(rail.active, Unread) for rail in rails):
        return _worst(gaps)
    return True


def _head(rails: tuple[RdmaPort, ...]) -> str:
    """``8 rails RoCE v2 400 Gb/s``. The rate of a port that is down is none."""
    kinds = {_kind(port) for port in rails}
    layers = " and ".join(sorted(kinds - {_ROCE} or kinds))
    up = [port for port in rails if isinstance(port.state, Unread) or port.state != "DOWN"]
    rates = sorted({port.rate_gbps for port in up if not isinstance(port.rate_gbps, Unread)})
    words = f" {' to '.join(f'{rate:g}' for rate in dict.fromkeys((rates[0], rates[-1])))} Gb/s" if rates else ""
    return f"{len(rails)} {'rail' if len(rails) == 1 else 'rails'} {layers}{words}"


def _kind(port: RdmaPort) -> str:
    if not isinstance(port.driver, Unread) and port.driver == EFA:
        return _EFA
    if isinstance(port.link_layer, Unread):
        return "of an unknown kind"
    if port.link_layer != ETHERNET:
        return port.link_layer
    gid = chosen(port)
    return _ROCE if isinstance(gid, Unread) or isinstance(gid.type, Unread) else "RoCE v2" if gid.type == ROCE_V2 else "RoCE v1"


def _numbers(rails: tuple[_Rail, ...], netdev: "int | Unread", active: "int | Unread") -> str:
    words = "" if isinstance(netdev, Unread) else f", netdev MTU {netdev}"
    if isinstance(active, Unread):
        return words
    return f"{words}, active MTU {active}{' (derived)' if any(rail.origin == 'derived' for rail in rails) else ''}"


def _tail(agree: "bool | Unread", odd: tuple[str, ...], rails: tuple[_Rail, ...]) -> str:
    if isinstance(agree, Unread):
        is_own = all(rail.is_efa for rail in rails)
        return "their driver sets the MTU" if is_own else f"MTU is unknown, {agree.detail or agree.why}"
    if agree:
        return "agree"
    first = next(rail for rail in rails if rail.name == odd[0])
    values = ", ".join(
        f"{word} {value}" for word, value in (("netdev", first.netdev), ("active", first.active)) if not isinstance(value, Unread)
    )
    others = f", and {len(odd) - 1} more" if len(odd) > 1 else ""
    lower = ", an interface below with less" if not isinstance(first.is_cut, Unread) and first.is_cut else ""
    return f"disagree, {first.name} has {values}{lower}{others}"
