"""ECN is not on for the lossless priority of a RoCE rail, or not alike on all of them.

With it a card tells the sender of a packet that a switch has marked, and slows down when it is told so (DCQCN): without, PFC alone holds
the network back, and pauses spread. The vendor's own driver shows it for each priority, as receiver and as sender; the driver of the
kernel does not, and then there is nothing to judge.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.driver.boot import write_line
from hostagent.profile import Profile

from ._priorities import REFERENCES, Card, cards_of_rails, differing, end, listed, priority_of
from ._rails import RoceRails

_SWITCHES = Step("configure", "Have the switches mark packets of that priority.", if_back=True)


@check(
    title="The RoCE ports that jobs use have ECN on for the lossless priority",
    severity="info",
    scope="fabric",
    since="0.1",
    because=("network.pfc",),
    headline="{device} has ECN on for {found}, not for {wanted}",
    remedy=(
        Step("configure", "Write 1 to ecn/roce_np/enable/<priority>, and to that of roce_rp, of each rail."),
        _SWITCHES,
    ),
    references=REFERENCES,
    confirm=("grep . /sys/class/net/*/ecn/roce_*/enable/*  # 1 is on",),
)
def ecn(roce: RoceRails, profile: Profile) -> Findings:
    cards = cards_of_rails(roce)
    found, gaps = cards.each(lambda card: (need(card.told.ecn), _wanted(card, profile)))
    if any(priority is not None for _, (_, priority) in found):
        for card, (on, priority) in found:
            if priority is not None and priority not in on:
                text = f"{card.name} has ECN on for {listed(on)}, packets of jobs have priority {priority}"
                yield fail(
                    text,
                    code="off",
                    found=listed(on),
                    wanted=priority,
                    about=card.rail,
                    at_least="warning",
                    remedy=_steps(card.name, (priority,)),
                )
    else:
        yield from differing([(card, on) for card, (on, _) in found], listed, "ECN on for", _steps)
    end(found, gaps)


def _wanted(card: Card, profile: Profile) -> "int | None":
    """The profile's priority, else where its traffic class goes; None where the profile says neither."""
    asked = profile.rdma.lossless_priority
    return priority_of(card, profile) if asked == "any" else asked


def _steps(name: str, priorities: tuple[int, ...]) -> tuple[Step, ...]:
    """At boot, too: the driver forgets it."""
    halves = (("roce_np", "receiver"), ("roce_rp", "sender"))
    switched = (
        Step("configure", f"Switch ECN on as {word}.", command=write_line(f"/sys/class/net/{name}/ecn/{half}/enable/{priority}", "1"))
        for priority in priorities
        for half, word in halves
    )
    return (*switched, _SWITCHES)
