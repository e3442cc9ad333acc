"""Events of the kernel log that still count: with those that the log has lost, without those that ended or were acknowledged."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from hostagent.core.steps import Step
from hostagent.core.tables.kernel_words import BY_ID, ROWS
from hostagent.core.tables.kernel_words.row import Part, Row
from hostagent.core.unread import Unread, need
from hostagent.core.vocabulary import SEVERITIES
from hostagent.facts.gpu import Clearing
from hostagent.facts.history import History
from hostagent.facts.kernel_words import KernelEnd, KernelEvent, KernelWords
from hostagent.facts.topology import Topology

_MOST_LINES = 4


class Trouble(NamedTuple):
    """All events of one part about one device: one finding."""

    subject: str
    row: Row  # the heaviest, then the first of the table
    events: tuple[KernelEvent, ...]

    @property
    def text(self) -> str:
        count = sum(one.count for one in self.events)
        times = f" ({count} records)" if count > 1 else ""
        return f"{self.row.meaning.rstrip('.')}{times}; see docs/kernel-words.md#{self.row.id}"

    @property
    def lines(self) -> tuple[str, ...]:
        """The newest record of each row, the heaviest row first."""
        return tuple(one.line for one in sorted(self.events, key=_weight)[:_MOST_LINES])

    def steps(self, device: str) -> tuple[Step, ...]:
        """The row's steps with the device's name."""
        return tuple(
            Step(one.action, one.text.replace("{device}", device), one.command.replace("{pci}", self.subject), one.if_back)
            for one in self.row.steps
        )

    def headline(self, device: str) -> str:
        return self.row.headline.replace("{device}", device)


def pci_troubles(words: KernelWords, history: "History | Unread", topology: "Topology | Unread") -> tuple[Trouble, ...]:
    """`troubles` of PCI devices, without what a bridge above recovered from."""
    found = troubles("pci", need(words.pci), history)
    left = ((one, [event for event in one.events if not _is_recovered(event, words, topology)]) for one in found)
    return tuple(trouble(one.subject, events) for one, events in left if events)


def _is_recovered(event: KernelEvent, words: KernelWords, topology: "Topology | Unread") -> bool:
    return recovered(event, words.ends, bridges_above(event.subject, topology))


def disk_trouble(words: KernelWords, history: "History | Unread", disk: str) -> "Trouble | None":
    """What counts of a disk, by the kernel's name of it, of the filesystem on it and of its controller; None for nothing, and where the
    log could not be read. A filesystem that was mounted later is another one.
    """
    if isinstance(words.volume, Unread) or not disk:
        return None
    mounts = [one for one in (() if isinstance(words.ends, Unread) else words.ends) if one.by == "mounted" and one.subject == disk]
    found = []
    for one in troubles("volume", words.volume, history):
        if is_of_disk(one.subject, disk):
            found += [event for event in one.events if not any(_is_before(event, end) for end in mounts)]
    return trouble(min(found, key=_weight).subject, found) if found else None


def _is_before(event: KernelEvent, end: KernelEnd) -> bool:
    return not isinstance(event.seconds, Unread) and not isinstance(end.at, Unread) and event.seconds <= end.at


def is_of_disk(subject: str, disk: str) -> bool:
    """Whether what a record names is that disk, the disk of that partition, or the NVMe controller of either.

    >>> is_of_disk("nvme1", "nvme1n1p2"), is_of_disk("nvme1c0n1", "nvme1n1"), is_of_disk("sda", "sda1"), is_of_disk("md1", "md127")
    (True, True, True, False)
    """
    name = re.sub(r"^(nvme\d+)c\d+(?=n\d)", r"\1", subject)
    rest = disk.removeprefix(name) if name and disk.startswith(name) else "?"
    if re.fullmatch(r"nvme\d+", name) and rest[:1] == "n":
        return True
    return rest == "" or bool(re.fullmatch(r"p\d+" if name[-1:].isdigit() else r"\d+", rest))


def troubles(part: Part, events: "Sequence[KernelEvent]", history: "History | Unread") -> tuple[Trouble, ...]:
    """The events that count, by device, in the order in which each began."""
    by_subject = dict[str, list[KernelEvent]]()
    for one in (*lost(history, part), *events):
        if not one.ended_by and one.row in BY_ID:
            by_subject.setdefault(one.subject, []).append(one)
    return tuple(trouble(subject, found) for subject, found in by_subject.items())


def trouble(subject: str, events: Iterable[KernelEvent]) -> Trouble:
    found = tuple(events)
    return Trouble(subject, BY_ID[min(found, key=_weight).row], found)


def _weight(one: KernelEvent) -> tuple[int, int]:
    row = BY_ID[one.row]
    return SEVERITIES.index(row.weight), ROWS.index(row)


def lost(history: "History | Unread", part: Part) -> tuple[KernelEvent, ...]:
    """Events that the daemon has read and the kernel log has since lost; none in a single pass."""
    if isinstance(history, Unread) or isinstance(history.kernel_events, Unread):
        return ()
    known = [one for one in history.kernel_events if one.is_lost and one.event.row in BY_ID]
    return tuple(one.event for one in known if BY_ID[one.event.row].part == part)


def bridges_above(subject: str, topology: "Topology | Unread") -> tuple[str, ...]:
    places = () if isinstance(topology, Unread) or isinstance(topology.places, Unread) else topology.places
    return next((place.bridges for place in places if place.pci == subject), ())


def recovered(event: KernelEvent, ends: "Iterable[KernelEnd] | Unread", bridges: Collection[str]) -> bool:
    """Whether a bridge above the device recovered from the error since: Linux logs the recovery for the bridge (pcie_do_recovery).

    Only of rows about an error that went by: a device that does not wake, or did not come back, is not well because a bridge is.
    """
    row = BY_ID.get(event.row)
    if row is None or "recovered" not in row.ends or row.weight == "critical" or isinstance(event.seconds, Unread):
        return False
    known = () if isinstance(ends, Unread) else ends
    mine = [end for end in known if end.part == "pci" == row.part and end.by == "recovered" and end.subject in bridges]
    return any(not isinstance(end.at, Unread) and end.at >= event.seconds for end in mine)


def may_be_cleared(one: KernelEvent) -> bool:
    """Whether an administrator may acknowledge it: not what only a reboot ends."""
    return one.row in BY_ID and "cleared" in BY_ID[one.row].ends


def covers(clearing: Clearing, one: KernelEvent) -> bool:
    """Whether a clearing covers that event; not without a time, since the event may be newer."""
    return clearing.subject in ("", one.subject) and not isinstance(one.seconds, Unread) and one.seconds <= clearing.upto
