"""Words of the kernel log other than Xids that name a fault, by the part that writes them: one table for readers, the daemon and the docs.

All patterns match at the start of a record and are longer than a process's name, as `hostagent.core.tables.kernel_log` explains. A trace
counts by the record that names a function of NVIDIA's driver, and by no name of a task. Each row names where its words come from; checked
2026-11 against sources and public logs; rows marked "not confirmed" were not.
"""

import re
from collections.abc import Mapping

from hostagent.core.tables.kernel_log import FIRST, LOADED
from hostagent.core.tables.kernel_words import gpu, memory, nic, pci, volumes
from hostagent.core.tables.kernel_words.row import End, Part, Row

ROWS: tuple[Row, ...] = (*gpu.ROWS, *pci.ROWS, *nic.ROWS, *memory.ROWS, *volumes.ROWS)
BY_ID: Mapping[str, Row] = {row.id: row for row in ROWS}
PARTS: tuple[Part, ...] = ("gpu", "module", "pci", "nic", "memory", "volume")
#: In the docs: what the parts are called.
TITLES: Mapping[Part, str] = {
    "gpu": "The GPU driver (NVRM) and NVSwitches",
    "module": "nvidia-uvm and the driver's other modules",
    "pci": "The PCI address of a GPU or of a network card of jobs",
    "nic": "Network cards with a firmware that takes no commands",
    "memory": "The host's memory and CPUs",
    "volume": "Filesystems, disks and arrays",
}
_DRIVER_ENDS = (
    End("load", LOADED),
    End(
        "reset",
        r"NVRM: Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)[^)]{0,60}\)[^:]{0,40}: 154, .{0,200}"
        r" to 0x0 \(None\)",
    ),
    End("uvm", r"nvidia-uvm: Loaded the UVM driver, major device number"),
)
ENDS: Mapping[Part, tuple[End, ...]] = {
    "gpu": _DRIVER_ENDS,
    "module": _DRIVER_ENDS,
    "pci": pci.ENDS,
    "nic": nic.ENDS,
    "memory": (),
    "volume": volumes.ENDS,
}
#: Records after which a trace, or a report of the firmware, is over.
NOT_JOINED: Mapping[Part, str] = {"module": gpu.NO_FRAME, "pci": memory.NO_SECTION, "memory": memory.NO_SECTION}


def patterns(part: Part) -> tuple[str, ...]:
    """Patterns of all records that the part uses, at the start of a record; without groups, also valid for PCRE2."""
    rows = [row for row in ROWS if row.part == part]
    found = [*(row.words for row in rows), *(row.then for row in rows), *(end.words for end in ENDS[part]), NOT_JOINED.get(part, "")]
    return tuple(dict.fromkeys(f"^(?:{_nameless(one)})" for one in found if one))


def _nameless(pattern: str) -> str:
    return re.sub(r"\?P<\w+>", "?:", pattern)


#: The records that are kept of a kernel log.
KEPT = "|".join(dict.fromkeys(one for part in PARTS for one in patterns(part))) + f"|^(?:{FIRST})"
