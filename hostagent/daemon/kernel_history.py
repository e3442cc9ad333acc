"""What the daemon remembers of events in the kernel log other than Xids: one pure step from one pass to the next."""

# As faults in `hostagent.daemon.history`: an event that the log has lost goes on until a later record, or an administrator, ends it.

from dataclasses import replace
from typing import Any

from hostagent.core.tables.kernel_words import BY_ID, PARTS
from hostagent.core.unread import Unread
from hostagent.domains.gpu.kernel_events import bridges_above, covers, may_be_cleared, recovered
from hostagent.facts.history import KernelFault
from hostagent.facts.kernel_words import KernelEvent, KernelWords
from hostagent.facts.topology import Topology

#: Events that are kept, at most.
EVENTS = 256
_NO_TOPOLOGY = Unread("not-recorded", "the pass did not ask how PCI devices are connected")


def advance(
    before: "tuple[KernelFault, ...] | Unread", words: "KernelWords | Unread", topology: "Topology | Unread" = _NO_TOPOLOGY
) -> tuple[KernelFault, ...]:
    """After a pass. A part that could not be read keeps what it had."""
    old = () if isinstance(before, Unread) else before
    if isinstance(words, Unread):
        return old
    read: dict[str, Any] = {part: getattr(words, part) for part in PARTS}
    logged = [KernelFault(event, False) for events in read.values() if not isinstance(events, Unread) for event in events]
    kept = list[KernelFault]()
    for one in old:
        if _part(one.event) in read and isinstance(read[_part(one.event)], Unread):
            kept.append(one)
            continue
        place = next((number for number, new in enumerate(logged) if _is_same(one.event, new.event)), None)
        if place is not None:
            logged[place] = KernelFault(_joined(one.event, logged[place].event), False)
        elif _is_lost(one.event, words):
            kept.append(KernelFault(_ended(one.event, words), True))
    return _bounded(tuple(_recovered(one, words, topology) for one in (*kept, *logged)))


def _recovered(one: KernelFault, words: KernelWords, topology: "Topology | Unread") -> KernelFault:
    """Ended where a bridge above the device recovered: the log may lose that record, too."""
    is_over = not one.event.ended_by and recovered(one.event, words.ends, bridges_above(one.event.subject, topology))
    return KernelFault(replace(one.event, ended_by="recovered"), one.is_lost) if is_over else one


def _part(event: KernelEvent) -> str:
    return BY_ID[event.row].part if event.row in BY_ID else ""


def _is_same(old: KernelEvent, new: KernelEvent) -> bool:
    """Whether the log still has the newest record of `old`, or goes on with the same fault."""
    if (old.row, old.subject) != (new.row, new.subject):
        return False
    if isinstance(old.seconds, Unread) or isinstance(new.first, Unread) or isinstance(new.seconds, Unread):
        return True
    return new.first <= old.seconds <= new.seconds or (not old.ended_by and old.seconds < new.first)


def _joined(old: KernelEvent, new: KernelEvent) -> KernelEvent:
    first, count = new.first, max(old.count, new.count)
    if not isinstance(old.first, Unread) and not isinstance(first, Unread):
        if not isinstance(old.seconds, Unread) and old.seconds < first:
            count = old.count + new.count
        first = min(old.first, first)
    return replace(new, first=first, count=count)


def _is_lost(old: KernelEvent, words: KernelWords) -> bool:
    """Whether the log no longer reaches back to it. Where it does and has it not, it is another log."""
    if words.log_complete is True:
        return False
    seconds, oldest = old.seconds, words.log_oldest
    return isinstance(seconds, Unread) or isinstance(oldest, Unread) or seconds < oldest


def _ended(one: KernelEvent, words: KernelWords) -> KernelEvent:
    if one.ended_by or isinstance(one.seconds, Unread) or one.row not in BY_ID:
        return one
    row = BY_ID[one.row]
    for end in () if isinstance(words.ends, Unread) else words.ends:
        is_its = end.part == row.part and end.by in row.ends and end.subject in ("", one.subject)
        if is_its and not isinstance(end.at, Unread) and end.at >= one.seconds:
            return replace(one, ended_by=end.by)
    for word in () if isinstance(words.cleared, Unread) else words.cleared:
        if covers(word, one) and may_be_cleared(one):
            return replace(one, ended_by="cleared")
    return one


def _bounded(faults: tuple[KernelFault, ...]) -> tuple[KernelFault, ...]:
    """What has ended goes first, the oldest of it first."""
    surplus = len(faults) - EVENTS
    if surplus <= 0:
        return faults
    order = sorted(range(len(faults)), key=lambda number: (not faults[number].event.ended_by, number))
    gone = set(order[:surplus])
    return tuple(one for number, one in enumerate(faults) if number not in gone)
