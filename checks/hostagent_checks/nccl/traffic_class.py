"""NCCL sends in another class than the lossless one: RoCE then loses packets as soon as the network is busy, and stalls for each.

NCCL_IB_TC is four times the DSCP. Without it packets have DSCP 0. Which class is lossless is a matter of the network: the cards' settings
and the profile's rdma.traffic_class say it. What a job sets by itself is seen with --env-file alone.
"""

from collections.abc import Iterator

from hostagent.check import NOT_APPLICABLE, Finding, Findings, Severity, Step, Unread, UnreadError, check, fail, need, warn
from hostagent.domains.network.rails import JobRails
from hostagent.domains.network.stack import cards, priority_of
from hostagent.facts.nccl import Nccl
from hostagent.facts.network import Network
from hostagent.facts.rdma import RdmaPort
from hostagent.profile import Profile

from ._job import Job, job
from ._ports import roce

_TC, _FIFO = "NCCL_IB_TC", "NCCL_IB_FIFO_TC"
_CONGESTED = 3
_MOST = 255


@check(
    title="NCCL sends in the lossless class",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("no-path",),
    because=("network.pfc",),
    headline="NCCL sends with traffic class {found}, not {wanted}",
    remedy=(Step("configure", "Set NCCL_IB_TC to four times the DSCP of the lossless class, on all hosts."),),
    references=("NCCL documentation, environment variables: NCCL_IB_TC",),
    confirm=("grep -n NCCL_IB_TC /etc/nccl.conf", "mlnx_qos -i <interface>  # PFC, trust state and dscp2prio"),
)
def traffic_class(nccl: Nccl, rails: JobRails, network: Network | Unread, profile: Profile) -> Findings:
    host = job(nccl)
    ours = roce(rails)
    wanted, found = profile.rdma.traffic_class, host.number(_TC)
    yield from _bits(host)
    if found is None or not 0 <= found <= _MOST:
        if wanted:
            yield _unset(host, wanted)
        elif need(host.nccl.has_environment):
            yield from _lossy(host, 0, ours, need(network))
    elif wanted and found >> 2 != wanted >> 2:
        text = f"{_TC}={found}, the profile wants {wanted}"
        steps = (host.instead(_TC, str(wanted)),)
        yield fail(text, code="profile", found=found, wanted=wanted, evidence=host.evidence(_TC), remedy=steps)
    else:
        yield from _lossy(host, found, ours, need(network))


def _bits(host: Job) -> Iterator[Finding]:
    for name in (_TC, _FIFO):
        value = host.number(name)
        if value is not None and 0 <= value <= _MOST and value & 3 == _CONGESTED:
            text = f"{name}={value} marks each packet as one that met congestion: its last two bits are ECN's"
            better = value & ~3 | 2
            headline, steps = f"{name}={value} marks each packet as congested", (host.instead(name, str(better)),)
            yield warn(text, code="ecn", found=value, wanted=better, evidence=host.evidence(name), headline=headline, remedy=steps)


def _unset(host: Job, wanted: int) -> Finding:
    """A job that nobody showed may set it."""
    text = f"{_TC} is not set, the profile wants {wanted}"
    headline = f"Nothing sets {_TC}, and NCCL sends in the default class"
    steps = (Step("configure", f"Set {_TC}={wanted} in jobs, or in /etc/nccl.conf."),)
    limit: Severity | None = None if need(host.nccl.has_environment) else "info"
    return fail(text, code="unset", found="unset", wanted=wanted, headline=headline, remedy=steps, at_most=limit)


def _lossy(host: Job, found: int, ours: tuple[RdmaPort, ...], network: Network) -> Iterator[Finding]:
    """Cards that put these packets into a priority without PFC, though they have one with. Networks without PFC rely on ECN."""
    wrong: dict[str, str] = {}
    gaps: list[Unread] = []
    for port in ours:
        try:
            if text := _of_port(port, found, network):
                wrong[port.name] = text
        except UnreadError as error:
            gaps.append(error.unread)
    if wrong:
        lines = tuple(f"{name}: {text}" for name, text in wrong.items())
        shown = f"{_TC}={found}" if host.value(_TC) else f"{_TC}, which is not set, is {found}"
        text = f"{shown} (DSCP {found >> 2}): in no lossless class of {len(wrong)} ports"
        yield fail(text, code="lossy", found=found, wanted="one of the lossless class", evidence=(*host.evidence(_TC), *lines))
    for gap in gaps:
        if gap.why not in NOT_APPLICABLE or len(gaps) == len(ours):
            need(gap)


def _of_port(port: RdmaPort, found: int, network: Network) -> str:
    """Of a pod's interface elsewhere nothing is known. What the vendor's driver sets for a device counts instead of what NCCL asks for."""
    own = port.traffic_class
    if isinstance(own, Unread) and own.why not in NOT_APPLICABLE:
        need(own)
    if not isinstance(own, Unread) and own > 0:
        return ""  # `network.traffic_class` judges it
    name = need(port.netdev)
    for card in cards(network, need(network.netdev(name))) if name else ():
        told = need(card.priorities)
        if need(told.firmware_dcbx):
            need(Unread("error", f"{card.name}: the card's firmware settles its priorities with the switch (DCBX)"))
        priority, lossless = priority_of(told, found), need(told.lossless)
        if priority is not None and lossless and priority not in lossless:
            return f"{card.name} gives it priority {priority}, PFC is on for {', '.join(map(str, lossless))}"
    return ""
