"""NVSwitches, the fabric manager's log, and IMEX."""

# A100 GPUs report nothing about the fabric to NVML: there, errors in the fabric manager's log after its start without
# "Successfully configured" fail. Without a line of its start (LOG_LEVEL above INFO) errors warn. A board with all NVSwitches
# missing from PCI looks like one of four GPUs (on H100 the fabric's state fails).

import re
from collections.abc import Callable
from typing import Any

from hostagent.core.parsing import shown, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.tables.nvlink_fabric import CONFIGURED
from hostagent.core.unread import Unread, need, then
from hostagent.domains.network.read_ports import managers
from hostagent.domains.topology import read_pci
from hostagent.facts.nvswitch import Fabric, NvSwitch
from hostagent.host.source import Source
from hostagent.host.values import line_in

_SWITCHES = "/proc/driver/nvidia-nvswitch/devices"
MANAGER_LOG = "/var/log/fabricmanager.log"
IMEX_NODES = "/etc/nvidia-imex/nodes_config.cfg"
_IMEX_CHANNELS = "/dev/nvidia-caps-imex-channels"
#: Of the list of nodes: the entries.
NODES = Keep("matches", (r"^[ \t]*(?P<keep>[^\s#]+)",))
_SWITCH_CLASS = "0x0680"  # "other bridge": the driver takes every NVIDIA function of that class for an NVSwitch
_NVIDIA = "0x10de"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_STARTED = re.compile(r"Fabric Manager version \d")
_ERROR = re.compile(r"\[(?:ERROR|FATAL|CRITICAL)\]", re.IGNORECASE)
_LINE = 400
_LINES = 20
_READ = (_STARTED.pattern, CONFIGURED, f"(?i:{_ERROR.pattern})")
_PATTERNS = tuple(rf"^(?=.{{0,{_LINE}}}?{one}).{{0,{_LINE}}}" for one in _READ)
_MESSAGES = Keep("log", _PATTERNS)
#: Of the fabric manager's log: the lines with which it starts.
MANAGER_STARTS = _PATTERNS[0]


def read_fabric(source: Source, known: Callable[[type], Any]) -> Fabric:
    switches = _switches(source)
    log = source.tail(MANAGER_LOG, keep=_MESSAGES)
    return Fabric(
        nvswitches=switches,
        driver_nvswitches=_driver_switches(source),
        nvlink5_managers=managers(source) if isinstance(switches, Unread) or not switches else (),
        manager_log_errors=then(log, parse_manager_log),
        manager_configured=then(log, parse_configured),
        imex_nodes=then(source.text(IMEX_NODES, keep=NODES), parse_imex_nodes),
        imex_channels=source.listdir(_IMEX_CHANNELS, absent=()),
    )


def parse_manager_log(text: str) -> tuple[str, ...]:
    r"""Errors in the fabric manager's log since its last start; the file continues over restarts and boots.

    >>> parse_manager_log(
    ...     "[Feb 27 2025 15:10:02] [ERROR] [tid 1] detected NVSwitch non-fatal error 12028 on fid 0\n"
    ...     "[Feb 28 2025 08:00:00] [INFO] [tid 9] Fabric Manager version 550.90.07 is running with the following options\n"
    ...     "[Feb 28 2025 08:00:01] [ERROR] [tid 9] failed to find all the GPUs\n"
    ... )
    ('[Feb 28 2025 08:00:01] [ERROR] [tid 9] failed to find all the GPUs',)
    """
    errors: list[str] = []
    for line in text.splitlines():
        if _STARTED.search(line[:_LINE]):
            errors.clear()
        elif _ERROR.search(line[:_LINE]):
            errors.append(line[:_LINE].strip())
    return tuple(shown(line) for line in errors[-_LINES:])


def parse_configured(text: str) -> "bool | Unread":
    r"""Whether the fabric manager has logged, since its last start, that GPUs and switches are configured.

    >>> started = "[Feb 28 2025 08:00:00] [INFO] [tid 9] Fabric Manager version 550.90.07 is running with the following options\n"
    >>> done = "[Feb 28 2025 08:00:09] [INFO] [tid 9] Successfully configured all the available GPUs and NVSwitches to route NVLink.\n"
    >>> parse_configured(started + done), parse_configured(started + done + started)
    (True, False)
    """
    found: bool | Unread = Unread("absent", f"{MANAGER_LOG} has no start of the fabric manager")
    for line in text.splitlines():
        if _STARTED.search(line[:_LINE]):
            found = False
        elif CONFIGURED in line[:_LINE]:
            found = True
    return found


def parse_imex_nodes(text: str) -> tuple[str, ...]:
    r"""Addresses of an IMEX nodes file: one per line, comments after ``#``.

    >>> parse_imex_nodes("# rack 4\n10.0.0.1\n10.0.0.2  # node 2\n\n")
    ('10.0.0.1', '10.0.0.2')
    """
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return tuple(words[0] for words in lines if words)


@stops_at_unread
def _switches(source: Source) -> tuple[NvSwitch, ...]:
    addresses = need(source.listdir(read_pci.DEVICES, absent=()))
    return tuple(_switch(source, address) for address in addresses if _is_switch(source, address))


def _switch(source: Source, address: str) -> NvSwitch:
    device = _attribute(source, address, "device")
    return NvSwitch(address, device, read_pci.bound_to(source, address))


def _is_switch(source: Source, address: str) -> bool:
    is_bridge = need(_attribute(source, address, "class")).startswith(_SWITCH_CLASS)
    return is_bridge and need(_attribute(source, address, "vendor")) == _NVIDIA


def _attribute(source: Source, address: str, name: str) -> "str | Unread":
    """An attribute; "" if absent, as for a device removed meanwhile or an emulated one."""
    return line_in(source, f"{read_pci.DEVICES}/{address}/{name}", absent="")


def _driver_switches(source: Source) -> "tuple[str, ...] | Unread":
    names = source.listdir(_SWITCHES, absent=())
    if isinstance(names, Unread):
        return names
    wrong = [name for name in names if not _ADDRESS.fullmatch(name.lower())]
    return Unread("error", f"{_SWITCHES}: {wrong[0]!r} is no PCI address") if wrong else tuple(name.lower() for name in names)
