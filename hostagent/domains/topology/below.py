"""Which devices a record about a PCI address concerns: the device itself, or those below a bridge."""

from collections.abc import Iterable

from hostagent.core.unread import Unread
from hostagent.facts.topology import Topology


def behind(address: str, devices: Iterable[str], topology: "Topology | Unread") -> tuple[str, ...]:
    """The devices at or below `address`; () for none, and for a bridge where the bridges are unread.

    >>> behind("0000:1b:00.0", ["0000:1b:00.0"], Unread("not-recorded"))
    ('0000:1b:00.0',)
    """
    known = tuple(devices)
    if address in known:
        return (address,)
    places = () if isinstance(topology, Unread) or isinstance(topology.places, Unread) else topology.places
    below = {place.pci for place in places if address in place.bridges}
    return tuple(one for one in known if one in below)
