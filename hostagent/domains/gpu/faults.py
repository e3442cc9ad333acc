"""Faults that the kernel log has lost, and faults that an administrator has cleared."""

from hostagent.core.unread import Unread
from hostagent.domains.gpu.tables.xids import ENDED_BY_REPLACEMENT
from hostagent.facts.gpu import Clearing, GpuEvents, Xid
from hostagent.facts.history import History


def lost(history: "History | Unread", kind: str) -> tuple[Xid, ...]:
    """Faults that the daemon has read and the kernel log has since lost; none in a single pass. `kind`: xid, sxid."""
    if isinstance(history, Unread) or isinstance(history.faults, Unread):
        return ()
    return tuple(one.xid for one in history.faults if one.kind == kind and one.lost)


def is_cleared(one: Xid, events: GpuEvents, kind: str = "xid") -> bool:
    """Whether an administrator has acknowledged the fault, regardless of how it ended. Faults that need a new board cannot be cleared."""
    if not may_be_cleared(one.code, kind):
        return False
    cleared = () if isinstance(events.cleared, Unread) else events.cleared
    return one.ended_by == "cleared" or any(covers(clearing, one) for clearing in cleared)


def may_be_cleared(code: int, kind: str = "xid") -> bool:
    """Faults that need new hardware cannot be cleared: replacing a board implies a reboot."""
    return kind == "sxid" or code not in ENDED_BY_REPLACEMENT


def covers(clearing: Clearing, one: Xid) -> bool:
    """Whether a clearing covers that fault; not without a time, since the fault may be newer."""
    return clearing.subject in ("", one.pci) and not isinstance(one.seconds, Unread) and one.seconds <= clearing.upto
