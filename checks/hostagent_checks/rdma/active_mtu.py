"""The MTU that RDMA connections get differs between the rails, or is smaller than their interfaces or cards allow.

A connection gets the smaller one of its two ends. Ports that differ on one host differ from those of other hosts, too, and what one
end sends and the network does not carry is dropped without a word. Of RoCE the active MTU follows from the interface's: 4096 from
4192 bytes on, 2048 from 2144, 1024 from 1120. So an interface of 1500 bytes works and gives 1024; MTU 9000 is no requirement. Of
InfiniBand the subnet manager sets it. Without libibverbs it is derived for RoCE, and unknown for InfiniBand.
"""

from hostagent.check import Finding, Findings, Severity, Step, Unread, check, fail, most, need
from hostagent.domains.network.mtu import active_mtu as active
from hostagent.domains.network.mtu import netdev_mtu
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.numbers import ACTIVE_MTUS, roce_mtu
from hostagent.domains.network.tables.rdma_devices import INFINIBAND
from hostagent.facts.network import Network
from hostagent.facts.rdma import RdmaPort
from hostagent.profile import Profile

from ._rails import each, is_shared, lines, need_no, ports_of

#: Ports of one card: which of them jobs use is open.
_PAIR = 2
_ROCE = (
    Step("configure", "Give the interfaces of all rails one MTU, in the host's network configuration."),
    Step("configure", "Give the switches' ports the same or more, on both ends of each path."),
)
_MANAGED = (Step("contact_owner", "Have the subnet manager give the partition an MTU of 4096 (opensm: mtu=5)."),)


@check(
    title="The RDMA ports that jobs use have one active MTU, and the largest that they can",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("mtu", "no-path"),
    because=("network.mtu", "rdma.subnet_manager", "rdma.port_state"),
    headline="{device} has an active MTU of {found}, not {wanted}",
    remedy=_ROCE,
    references=("ibv_query_port(3)", "Linux kernel, include/rdma/ib_addr.h"),
    confirm=("ibv_devinfo -v | grep -E 'hca_id|active_mtu'", "ip link show"),
)
def active_mtu(rails: Rails, network: Network | Unread, profile: Profile) -> Findings:
    ours = ports_of(rails)
    found, gaps = each(ours, lambda port: need(active(port, network).value))
    asked = profile.rdma.active_mtu
    wanted = asked or most(found.values(), 0)
    odd = tuple(port for port in ours if found.get(port.name, wanted) != wanted)
    if odd:
        is_open = not asked and not profile.rdma.hcas and len(found) == _PAIR
        yield from _differ(odd, ours, found, wanted, is_asked=bool(asked), weight=None if is_open else "critical")
    elif not asked:
        yield from _small(ours, found, network)
    need_no(gaps, found)


def _differ(
    odd: tuple[RdmaPort, ...], ours: tuple[RdmaPort, ...], found: dict[str, int], wanted: int, *, is_asked: bool, weight: Severity | None
) -> Findings:
    by = "the profile wants" if is_asked else "the other rails have"
    wrong = {port.name: str(found[port.name]) for port in odd}
    if is_shared(wrong, ours):
        values = " or ".join(dict.fromkeys(wrong.values()))
        headline = f"The RDMA ports that jobs use have an active MTU of {values}, {by} {wanted}"
        text = f"all {len(ours)} rails have an active MTU of {values}, {by} {wanted}"
        yield fail(
            text,
            code="all-profile",
            found=values,
            wanted=wanted,
            evidence=lines(wrong),
            headline=headline,
            remedy=_steps(odd),
            at_least=weight,
        )
        return
    code = "profile" if is_asked else "differs"
    for port in odd:
        value = found[port.name]
        text = f"active MTU {value}, {by} {wanted}"
        yield fail(text, code=code, found=value, wanted=wanted, about=port.name, remedy=_steps((port,)), at_least=weight)


def _small(ours: tuple[RdmaPort, ...], found: dict[str, int], network: Network | Unread) -> Findings:
    """All alike, and less than can be. 2048 is what older InfiniBand networks have."""
    able, gaps = each(tuple(port for port in ours if port.name in found), lambda port: _able(port, network))
    small = {name: str(found[name]) for name, value in able.items() if found[name] < value}
    for port in ours:
        if port.name in small and not is_shared(small, ours):
            yield _below(port.name, small, able[port.name], ours)
    if is_shared(small, ours):
        yield _below("", small, max(able.values()), ours)
    need_no(gaps, able)


def _below(about: str, small: dict[str, str], able: int, ours: tuple[RdmaPort, ...]) -> Finding:
    value = small[about] if about else next(iter(small.values()))
    is_managed = _is_managed(ours)
    why = "the cards can do" if is_managed else "the interfaces allow"
    headline = "" if about else f"The RDMA ports that jobs use have an active MTU of {value}, {why} {able}"
    text = f"active MTU {value}, {why} {able}"
    weight: Severity | None = "info" if is_managed and int(value) * 2 >= able else None
    evidence = () if about else lines(small)
    return fail(
        text, code="small", found=value, wanted=able, evidence=evidence, about=about, headline=headline, remedy=_steps(ours), at_most=weight
    )


def _able(port: RdmaPort, network: Network | Unread) -> int:
    if need(port.link_layer) == INFINIBAND:
        return need(port.max_mtu)
    most = port.max_mtu if isinstance(port.max_mtu, int) else ACTIVE_MTUS[0]
    return min(roce_mtu(need(netdev_mtu(port, network))), most)


def _is_managed(ours: tuple[RdmaPort, ...]) -> bool:
    """A subnet manager sets the MTU."""
    return all(isinstance(port.link_layer, str) and port.link_layer == INFINIBAND for port in ours)


def _steps(ours: tuple[RdmaPort, ...]) -> tuple[Step, ...]:
    return _MANAGED if _is_managed(ours) else _ROCE
