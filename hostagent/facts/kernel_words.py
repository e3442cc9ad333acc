"""What the kernel log says other than Xids: events by the rows of `hostagent.core.tables.kernel_words`."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread
from hostagent.facts.gpu import Clearing


@frozen
class KernelEvent:
    """The records of one row about one device, up to the record that ended the fault."""

    row: str  # its id, which is its anchor in docs/kernel-words.md
    #: PCI address (of a GPU, a network card, a bridge above one), a memory module, a disk (nvme1n1, dm-3, md0); "" where it names none.
    subject: str
    line: str  # the newest record; of several joined ones the first and the one that counts
    count: int
    first: float | Unread  # seconds since the boot, of the oldest record
    seconds: float | Unread  # of the newest
    ended_by: str  # load, uvm, reset, recovered, mounted (`hostagent.core.tables.kernel_words.row.Ends`), cleared; "" nothing


@frozen
class KernelEnd:
    """A record that ends faults."""

    part: str  # of the table
    by: str  # as `KernelEvent.ended_by`
    subject: str  # PCI address or disk, "" for all
    at: float | Unread


@frozen
class KernelWords:
    """Events of this boot by the part of the table, in the order of their first record."""

    gpu: tuple[KernelEvent, ...] | Unread
    module: tuple[KernelEvent, ...] | Unread
    pci: tuple[KernelEvent, ...] | Unread  # of any PCI device
    nic: tuple[KernelEvent, ...] | Unread
    memory: tuple[KernelEvent, ...] | Unread
    volume: tuple[KernelEvent, ...] | Unread
    ends: tuple[KernelEnd, ...] | Unread
    log_complete: bool | Unread  # the log reaches back to the boot
    log_oldest: float | Unread  # seconds since the boot, of the first record
    cleared: tuple[Clearing, ...] | Unread
