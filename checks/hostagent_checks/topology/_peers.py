"""The NICs that a NIC may be compared with."""

from hostagent.check import need
from hostagent.facts.topology import Nic
from hostagent.facts.unread import NOT_APPLICABLE, Unread

from ._nodes import VFIO


def lanes_of_peers(nic: Nic, nics: tuple[Nic, ...]) -> list[int]:
    """Of cards of the same kind in other slots: the functions of one card share a link. What should be there and is unread raises."""
    own = (need(nic.vendor_id), need(nic.device_id))
    slot = nic.pci.rpartition(".")[0]
    others = [one for one in nics if one.pci.rpartition(".")[0] != slot and need(one.bound_to) != VFIO]
    widths = [one.link_width for one in others if (need(one.vendor_id), need(one.device_id)) == own]
    return [need(width) for width in widths if not isinstance(width, Unread) or width.why not in NOT_APPLICABLE]
