"""Devices that the host's configuration binds to vfio-pci, for virtual machines."""

# A binding by name is driver_override (driverctl, libvirt, the GPU Operator), by id vfio-pci.ids and modprobe.d. Ids written to
# new_id by hand leave no trace. The holder of /dev/vfio is not read.

import re

from hostagent.core.retention import Keep
from hostagent.core.unread import NOT_THERE, Unread
from hostagent.domains.system.read_modprobe import DIRECTORIES, parse_options
from hostagent.host.source import Source
from hostagent.host.values import names_in

_PARAMETERS = ("vfio-pci.ids", "vfio_pci.ids")
_OPTIONS = Keep("matches", (r"(?m:^[ \t]*options[ \t]+vfio[-_]pci[ \t][^\n]*)",))
_ID = re.compile(r"([0-9a-f]{4}):([0-9a-f]{4})", re.ASCII)


def read_ids(source: Source) -> "tuple[str, ...] | Unread":
    """Ids on the kernel's command line and in modprobe.d; ids written to sysfs later leave no trace."""
    cmdline = source.text("/proc/cmdline", keep=Keep("words", _PARAMETERS))
    texts = [] if isinstance(cmdline, Unread) else [value for key, _, value in _pairs(cmdline) if key in _PARAMETERS]
    unread = cmdline if isinstance(cmdline, Unread) and cmdline.why not in NOT_THERE else None
    for directory in DIRECTORIES:
        names = names_in(source, directory)
        if isinstance(names, Unread):
            unread = names if unread is None else unread
            continue
        for name in names:
            text = source.text(f"{directory}/{name}", keep=_OPTIONS, absent="") if name.endswith(".conf") else ""
            if isinstance(text, Unread):
                unread = text if unread is None else unread
            else:
                texts += [value for key, value in parse_options(text, "vfio-pci") if key == "ids"]
    found = tuple(dict.fromkeys(one for text in texts for one in parse_ids(text)))
    return found if found or unread is None else unread


def _pairs(cmdline: str) -> "list[tuple[str, str, str]]":
    return [word.partition("=") for word in cmdline.split()]


def parse_ids(text: str) -> tuple[str, ...]:
    """Vendor and device of each id of the parameter ``ids``, without subsystem and class.

    >>> parse_ids("10de:2330,10DE:1aeb:10de:0001")
    ('10de:2330', '10de:1aeb')
    """
    found = (_ID.match(one.strip().lower()) for one in text.split(","))
    return tuple(f"{one[1]}:{one[2]}" for one in found if one)
