"""Which priority an Ethernet card gives to packets of a traffic class."""

from hostagent.core.unread import need
from hostagent.facts.network import Priorities


def priority_of(told: Priorities, traffic_class: int) -> "int | None":
    """None where the card does not look at it. Raises ``UnreadError``.

    The upper six bits of a traffic class are the DSCP. A card without a table of its own takes the upper three of those; with one, what is
    not in it has priority 0.

    >>> bare, listed = Priorities((3,), "dscp", (), False, (), True), Priorities((3,), "dscp", ((48, 6),), False, (), True)
    >>> priority_of(bare, 106), priority_of(listed, 106)
    (3, 0)
    """
    if need(told.trust) != "dscp":
        return None
    dscp = traffic_class >> 2
    table = dict(need(told.dscp))
    return table.get(dscp, 0) if table else dscp >> 3
