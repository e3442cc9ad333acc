"""A port that jobs use is slower than its like, or than the profile asks: collectives run at the pace of their slowest rail.

A link that comes up with fewer lanes or at a lower speed says so in its rate: "100 Gb/sec (1X NDR)" where its like have "400 Gb/sec
(4X NDR)". The usual cause is the cable or a transceiver. That all rails run below what their cards can is no fault by itself: the
switches may be of an older kind; it is for information.
"""

from hostagent.check import Finding, Findings, Step, Unread, check, fail, need
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.nics import board_rate
from hostagent.domains.network.tables.rdma_devices import INFINIBAND
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.profile import Profile

from ._rails import each, is_shared, lines, need_no, ports_of, whoever_owns

_STEPS = (
    Step("drain_and_inspect", "Look at the cable and the transceiver of this port, and at the switch's port."),
    Step("replace", "Have the cable or the transceiver replaced.", if_back=True),
)
_NETWORK = (Step("contact_owner", "Ask who runs the network for which rate its switches and cables are made."),)


@check(
    title="The RDMA ports that jobs use run at their full rate",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("link",),
    because=("rdma.virtual_function", "rdma.subnet_manager", "rdma.port_state"),
    headline="{device} runs at {found}, not at {wanted}",
    remedy=_STEPS,
    references=("Linux kernel, Documentation/ABI/stable/sysfs-class-infiniband", "ibstat(8)"),
    confirm=("grep . /sys/class/infiniband/*/ports/*/rate",),
)
def port_rate(rails: Rails, platform: Platform | Unread, profile: Profile) -> Findings:
    ours = ports_of(rails)
    rates, gaps = each(ours, lambda port: need(port.rate_gbps))
    asked = profile.rdma.rate_gbps
    wanted = asked or max(rates.values(), default=0.0)
    slow = {name: _words(rate) for name, rate in rates.items() if rate < wanted}
    if is_shared(slow, ours):
        yield _shared(slow, wanted)
    else:
        remedy = whoever_owns(_STEPS, platform)
        code = "profile" if asked else "slower-than-peers"
        for name, words in slow.items():
            text = f"the port runs at {words}, {'the profile wants' if asked else 'its like run at'} {_words(wanted)}"
            yield fail(text, code=code, found=words, wanted=_words(wanted), about=name, remedy=remedy)
    if not asked and not slow:
        yield from _below_their_cards(ours, rates)
    need_no(gaps, rates)


def _shared(slow: dict[str, str], wanted: float) -> Finding:
    found = " or ".join(dict.fromkeys(slow.values()))
    text = f"all rails run at {found}, the profile wants {_words(wanted)}"
    headline = f"The RDMA ports that jobs use run at {found}, the profile wants {_words(wanted)}"
    return fail(
        text, code="all-below-profile", found=found, wanted=_words(wanted), evidence=lines(slow), headline=headline, remedy=_NETWORK
    )


def _below_their_cards(ours: tuple[RdmaPort, ...], rates: dict[str, float]) -> Findings:
    """All alike. One lane of an InfiniBand link is a fault, whatever the switch is; other rates are for information."""
    read = [port for port in ours if port.name in rates]
    single = {
        port.name: _words(rates[port.name]) for port in read if need(port.link_layer) == INFINIBAND and "(1X " in need(port.rate_words)
    }
    for name, words in single.items():
        yield fail(f"the port runs at {words} over one lane", code="one-lane", found=f"{words} over one lane", wanted="4 lanes", about=name)
    boards = {port.name: board_rate(port.board_id) for port in read if isinstance(port.board_id, str)}
    slow = {name: _words(rates[name]) for name, rate in boards.items() if rates[name] < rate and name not in single}
    if slow:
        found, wanted = " or ".join(dict.fromkeys(slow.values())), _words(max(boards.values()))
        text = f"the rails run at {found}, their cards can do {wanted}"
        headline = f"The RDMA ports that jobs use run at {found}, their cards can do {wanted}"
        yield fail(
            text, code="below-card", found=found, wanted=wanted, evidence=lines(slow), headline=headline, remedy=_NETWORK, at_most="info"
        )


def _words(rate: float) -> str:
    return f"{rate:g} Gb/s"
