"""A RoCE rail does not put the packets of jobs into the lossless priority.

A card chooses the priority of a packet by its DSCP, or by the tag of a VLAN (PCP), which packets of RoCE seldom have. A job's DSCP is
NCCL_IB_TC / 4: traffic class 106 is DSCP 26, which goes to priority 3 unless the card has a table of its own. The profile's
rdma.traffic_class says what jobs set. Without it the rails are held against each other.
"""

from hostagent.check import Findings, Step, Unread, UnreadError, check, fail, need, shell
from hostagent.profile import Profile

from ._priorities import REFERENCES, Card, cards_of_rails, differing, end, listed, priority_of
from ._rails import RoceRails


@check(
    title="The RoCE ports that jobs use put their packets into the lossless priority",
    severity="info",
    scope="fabric",
    since="0.1",
    because=("network.pfc",),
    headline="{device} puts packets of jobs into {found}, not into {wanted}",
    remedy=(
        Step("configure", "Let the port trust DSCP: mlnx_qos -i <interface> --trust dscp, on all rails."),
        Step("configure", "Map the DSCP of jobs: mlnx_qos -i <interface> --dscp2prio set,26,3 (here 26 to 3).", if_back=True),
    ),
    references=REFERENCES,
    confirm=("mlnx_qos -i <interface>  # Priority trust state",),
)
def trust(roce: RoceRails, profile: Profile) -> Findings:
    found, gaps = cards_of_rails(roce).each(lambda card: need(card.settled.trust))
    if not profile.rdma.traffic_class:
        yield from differing(found, str, "trust in", _trusting, "{device} trusts {found}, the other rails trust {wanted}")
        end(found, gaps)
        return
    unread: list[Unread] = []
    for card, word in found:
        if word != "dscp":
            text = f"{card.name} trusts {word}: the DSCP of jobs is not looked at"
            headline = "{device} does not look at the DSCP of packets"
            yield fail(
                text,
                code="not-dscp",
                found=word,
                wanted="dscp",
                about=card.rail,
                headline=headline,
                at_least="warning",
                remedy=_trusting(card.name, "dscp"),
            )
        else:
            try:
                yield from _mapped(card, profile)
            except UnreadError as error:
                unread.append(error.unread)
    end(found, (*gaps, *unread))


def _mapped(card: Card, profile: Profile) -> Findings:
    asked = profile.rdma.lossless_priority
    wanted = need(card.told.lossless) if asked == "any" else (asked,)
    priority = priority_of(card, profile)
    if wanted and priority not in wanted:  # without PFC all priorities are alike
        dscp = profile.rdma.traffic_class >> 2
        text = f"{card.name} puts DSCP {dscp} (traffic class {profile.rdma.traffic_class}) into priority {priority}"
        command = shell("mlnx_qos -i {} --dscp2prio {}", card.name, f"set,{dscp},{min(wanted)}")
        steps = (Step("configure", f"Map the DSCP of jobs on all rails, here on {card.name[:15]}.", command=command),)
        yield fail(
            text, code="lossy", found=f"priority {priority}", wanted=listed(wanted), about=card.rail, at_least="warning", remedy=steps
        )


def _trusting(name: str, word: str) -> tuple[Step, ...]:
    text = f"Let all rails trust the same, here {name[:15]}."
    return (Step("configure", text, command=shell("mlnx_qos -i {} --trust {}", name, word)),)
