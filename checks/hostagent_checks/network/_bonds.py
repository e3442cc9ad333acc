"""The bonds that RoCE rails are on."""

from typing import NamedTuple

from hostagent.check import Unread, UnreadError, need, skip
from hostagent.domains.network.stack import stack
from hostagent.facts.network import Netdev

from ._rails import RoceRails


class Bonds(NamedTuple):
    """By name of the bond: the bond, and a rail on it."""

    found: dict[str, tuple[Netdev, str]]
    rails: RoceRails
    gaps: tuple[Unread, ...]

    def end(self) -> None:
        self.rails.end(*self.gaps)
        if not self.found:
            skip("no rail is on a bond")


def bonds_of_rails(roce: RoceRails) -> Bonds:
    found: dict[str, tuple[Netdev, str]] = {}
    gaps: list[Unread] = []
    for rail in roce.known:
        try:
            every = stack(roce.network, rail.netdev)
            found |= {one.name: (one, rail.name) for one in every if need(one.kind) == "bond" and one.name not in found}
        except UnreadError as error:
            gaps.append(error.unread)
    return Bonds(found, roce, tuple(gaps))
