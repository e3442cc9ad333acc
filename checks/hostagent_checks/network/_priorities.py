"""What the cards below the RoCE rails say of lossless priorities, and where a job's packets go by them."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from hostagent.check import NOT_APPLICABLE, Finding, Step, Unread, UnreadError, fail, most, need, skip
from hostagent.domains.network.stack import cards
from hostagent.domains.network.stack import priority_of as of_class
from hostagent.facts.network import Priorities
from hostagent.profile import Profile

from ._rails import RoceRails

T = TypeVar("T")
#: What says so: the page of every check of priorities names them.
REFERENCES = ("NVIDIA MLNX_OFED Documentation, Quality of Service", "Linux kernel, include/uapi/linux/dcbnl.h")


class Card(NamedTuple):
    """One card's interface below a rail."""

    rail: str
    name: str
    told: Priorities

    @property
    def settled(self) -> Priorities:
        """Where the card negotiates with the switch by itself, what the kernel says need not hold. Raises ``UnreadError``."""
        if need(self.told.firmware_dcbx):
            need(Unread("error", f"{self.name}: the card's firmware settles its priorities with the switch (DCBX)"))
        return self.told


class Cards(NamedTuple):
    known: tuple[Card, ...]
    gaps: tuple[Unread, ...]

    def each(self, value: Callable[[Card], T]) -> "tuple[list[tuple[Card, T]], tuple[Unread, ...]]":
        """`value` of those where it is known, and what was unread on the way."""
        found: list[tuple[Card, T]] = []
        gaps = list(self.gaps)
        for card in self.known:
            try:
                found.append((card, value(card)))
            except UnreadError as error:
                gaps.append(error.unread)
        return found, tuple(gaps)


def cards_of_rails(roce: RoceRails) -> Cards:
    known: list[Card] = []
    gaps = list(roce.gaps)
    for rail in roce.known:
        try:
            below = cards(roce.network, rail.netdev)
        except UnreadError as error:
            gaps.append(error.unread)
            continue
        gaps += [one.priorities for one in below if isinstance(one.priorities, Unread)]
        known += [Card(rail.name, one.name, one.priorities) for one in below if not isinstance(one.priorities, Unread)]
    return Cards(tuple(known), tuple(gaps))


def end(found: "list[tuple[Card, T]]", gaps: tuple[Unread, ...]) -> None:
    """What could not be read leaves the check unknown; what does not apply to any card skips it."""
    for gap in gaps:
        if gap.why not in NOT_APPLICABLE:
            need(gap)
    if not found:
        need(gaps[0]) if gaps else skip("no card of this host is below the rails")


def priority_of(card: Card, profile: Profile) -> "int | None":
    """Where packets with the profile's traffic class go; None where the profile names none, or where the card does not look at it."""
    return of_class(card.told, profile.rdma.traffic_class) if profile.rdma.traffic_class else None


def differing(
    found: "list[tuple[Card, T]]", write: Callable[[T], str], what: str, steps: Callable[[str, T], tuple[Step, ...]], headline: str = ""
) -> "tuple[Finding, ...]":
    """One finding a card that has something else than most of them; `headline` is the check's unless it says another."""
    usual = most(value for _, value in found)
    return tuple(
        fail(
            f"{card.name} has {what} {write(value)}, the other rails have {write(usual)}",
            code="differs",
            found=write(value),
            wanted=write(usual),
            about=card.rail,
            headline=headline,
            at_least="warning",
            remedy=steps(card.name, usual),
        )
        for card, value in found
        if usual is not None and value != usual
    )


def listed(priorities: tuple[int, ...]) -> str:
    """``3``; ``none``."""
    return ", ".join(map(str, priorities)) or "none"
