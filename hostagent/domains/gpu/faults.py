"""Faults of the kernel log beyond what one pass reads in it: those that it has lost, those that an administrator has cleared."""

from hostagent.core.unread import Unread
from hostagent.domains.gpu.tables.xids import ENDED_BY_REPLACEMENT
from hostagent.facts.gpu import Clearing, GpuEvents, Xid
from hostagent.facts.history import History


def lost(history: "History | Unread", kind: str) -> tuple[Xid, ...]:
    """What the kernel log has no more, and the daemon has seen in it. A single pass knows of none. `kind`: xid, sxid."""
    if isinstance(history, Unread) or isinstance(history.faults, Unread):
        return ()
    return tuple(one.xid for one in history.faults if one.kind == kind and one.lost)


def is_cleared(one: Xid, events: GpuEvents, kind: str = "xid") -> bool:
    """An administrator says that it no longer counts, whatever ended it before. What only a new board ends is not cleared."""
    if not may_be_cleared(one.code, kind):
        return False
    return one.ended_by == "cleared" or (not isinstance(events.cleared, Unread) and any(covers(word, one) for word in events.cleared))


def may_be_cleared(code: int, kind: str = "xid") -> bool:
    """A board is not changed in a running host: with a new one comes a new boot."""
    return kind == "sxid" or code not in ENDED_BY_REPLACEMENT


def covers(word: Clearing, one: Xid) -> bool:
    """Whether it was said of that fault. What has no time may be younger."""
    return word.subject in ("", one.pci) and not isinstance(one.seconds, Unread) and one.seconds <= word.upto
