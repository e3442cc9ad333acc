"""The shape of one row of the kernel words, and the pieces that its patterns are made of."""

from typing import Literal, NamedTuple

from hostagent.core.steps import Step
from hostagent.core.vocabulary import Severity

#: What a record is about: NVRM and NVSwitches; other modules of the driver; the PCI address of a device; network cards; memory and CPUs;
#: filesystems and disks.
Part = Literal["gpu", "module", "pci", "nic", "memory", "volume"]
#: What ends a fault before the next boot. load: the driver's module was loaded; uvm: nvidia_uvm was loaded; reset: an Xid 154 of the GPU
#: to "None"; recovered: the kernel reports that the device works again; mounted: the filesystem was mounted or unmounted since;
#: cleared: `hostagent events clear`.
Ends = Literal["load", "uvm", "reset", "recovered", "mounted", "cleared"]

#: A PCI address as dev_printk writes it, behind a driver's name.
PCI = r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])"
ANY_PCI = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
DEVICE = rf"[\w.-]{{2,32}} {PCI}: "


class Row(NamedTuple):
    """One kind of record. Patterns match at the start of a record; each is longer than the name of a process (15 characters)."""

    id: str  # the anchor in docs/kernel-words.md
    part: Part
    words: str  # pattern of the record, or of the first one of several; ``pci`` or ``device`` names what it is about
    weight: Severity
    headline: str  # {device} is what it is about
    meaning: str
    ends: tuple[Ends, ...]
    source: str
    examples: tuple[str, ...]  # records in their order, without times
    noise: tuple[str, ...] = ()  # records that look like it and count for nothing
    steps: tuple[Step, ...] = ()  # {pci} is the address, {device} the name of what it is about
    then: str = ""  # pattern of a later record that makes it count: of the same caller, or of the same ``key``, within `JOIN_S`
    is_of_another_cpu: bool = False  # the later record comes from the CPU or task that the first one is about


class End(NamedTuple):
    """A record that ends faults: of one device where the pattern has ``pci``."""

    by: Ends
    words: str


#: Seconds between the records of one trace: a serial console at 115200 baud writes a long one in about a second.
JOIN_S = 5.0
#: The same on a kernel without callers (PRINTK_CALLER), where any task may have written the later one.
JOIN_WITHOUT_CALLER_S = 1.0
