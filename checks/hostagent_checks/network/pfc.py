"""Priority flow control of the RoCE rails is not on for the lossless priority, or not alike on all of them.

RoCE loses whole windows of data for one packet that is dropped. Networks that avoid that pause one priority (PFC), commonly 3, on cards and
switches alike; others rely on ECN alone, which is no fault. So without a priority in the profile the rails are held against each
other. What the kernel does not say, and what a card's firmware settles with the switch by itself, is unknown, and counts in no verdict.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.gpu import Gpu
from hostagent.facts.network import Network
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, Topology
from hostagent.facts.unread import Unread
from hostagent.profile import Profile

from ._priorities import REFERENCES, cards_of_rails, differing, end, numbers

_STEPS = (
    Step("configure", "Give all rails the same: mlnx_qos -i <interface> --pfc 0,0,0,1,0,0,0,0 (here for 3)."),
    Step("configure", "Give the switches' ports the same priority.", if_back=True),
)


@check(
    title="The RoCE ports that jobs use pause the lossless priority",
    severity="info",
    scope="fabric",
    since="0.1",
    because=("rdma.port_state",),
    headline="{device} has PFC on for {found}, not for {wanted}",
    remedy=_STEPS,
    references=REFERENCES,
    confirm=("dcb pfc show dev <interface>  # prio-pfc", "mlnx_qos -i <interface>"),
)
def pfc(
    ports: tuple[RdmaPort, ...],
    nics: tuple[Nic, ...],
    gpus: tuple[Gpu, ...],
    topology: Topology | Unread,
    platform: Platform | Unread,
    network: Network,
    profile: Profile,
) -> Findings:
    found, gaps = cards_of_rails(ports, nics, gpus, topology, platform, network, profile).each(lambda card: need(card.told.lossless))
    asked = profile.rdma.lossless_priority
    if asked == "any":
        yield from differing(found, numbers, "PFC on for", _STEPS)
    else:
        for card, lossless in found:
            if lossless != (asked,):
                text = f"{card.name} has PFC on for {numbers(lossless)}, the profile wants {asked}"
                yield fail(text, code="profile", found=numbers(lossless), wanted=asked, about=card.rail, at_least="warning")
    end(found, gaps)
