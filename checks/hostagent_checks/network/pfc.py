"""Priority flow control of the RoCE rails is not on for the lossless priority, or not alike on all of them.

RoCE loses whole windows of data for one packet that is dropped. Networks that avoid that pause one priority (PFC), commonly 3, on cards and
switches alike; others rely on ECN alone, which is no fault. So without a priority in the profile the rails are held against each
other. What the kernel does not say, and what a card's firmware settles with the switch by itself, is unknown, and counts in no verdict.
"""

from hostagent.check import Findings, Step, check, fail, need, shell
from hostagent.profile import Profile

from ._priorities import REFERENCES, cards_of_rails, differing, end, listed
from ._rails import RoceRails

_SWITCHES = Step("configure", "Give the switches' ports the same priority.", if_back=True)


@check(
    title="The RoCE ports that jobs use pause the lossless priority",
    severity="info",
    scope="fabric",
    since="0.1",
    explains=("no-path",),
    because=("rdma.port_state",),
    headline="{device} has PFC on for {found}, not for {wanted}",
    remedy=(Step("configure", "Set PFC alike on all rails: mlnx_qos -i <interface> --pfc 0,0,0,1,0,0,0,0 (for 3)."), _SWITCHES),
    references=REFERENCES,
    confirm=("mlnx_qos -i <interface>  # PFC configuration",),
)
def pfc(roce: RoceRails, profile: Profile) -> Findings:
    found, gaps = cards_of_rails(roce).each(lambda card: need(card.settled.lossless))
    asked = profile.rdma.lossless_priority
    if asked == "any":
        yield from differing(found, listed, "PFC on for", _steps)
    else:
        for card, lossless in found:
            if lossless != (asked,):
                text = f"{card.name} has PFC on for {listed(lossless)}, the profile wants {asked}"
                steps = _steps(card.name, (asked,))
                yield fail(text, code="profile", found=listed(lossless), wanted=asked, about=card.rail, at_least="warning", remedy=steps)
    end(found, gaps)


def _steps(name: str, lossless: tuple[int, ...]) -> tuple[Step, ...]:
    bits = ",".join("1" if priority in lossless else "0" for priority in range(8))
    return Step(
        "configure", f"Set PFC alike on all rails, here on {name[:15]}.", command=shell("mlnx_qos -i {} --pfc {}", name, bits)
    ), _SWITCHES
