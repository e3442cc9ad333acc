"""NVSwitches, the fabric manager's log, and IMEX."""

import re
from collections.abc import Callable
from typing import Any

from hostagent.facts.gpu import Fabric, NvSwitch
from hostagent.facts.unread import Unread
from hostagent.knowledge.fabric import BASEBOARD_GPUS
from hostagent.source import Source

_PCI = "/sys/bus/pci/devices"
_HCAS = "/sys/class/infiniband"
_SWITCHES = "/proc/driver/nvidia-nvswitch/devices"
_LOG = "/var/log/fabricmanager.log"
_IMEX_NODES = "/etc/nvidia-imex/nodes_config.cfg"
_IMEX_CHANNELS = "/dev/nvidia-caps-imex-channels"
_SWITCH_CLASS = "0x0680"  # "other bridge": the driver takes every NVIDIA function of that class for an NVSwitch
_NVIDIA = "0x10de"
#: ConnectX-7: the only HCA that bridges to NVLink 5 switches. Reading the VPD of others costs time and may need root.
_BRIDGE_DEVICE = "0x1021"
_BRIDGE_MARK = b"SW_MNG"
_VPD_BYTES = 64 * 1024
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_STARTED = re.compile(r"Fabric Manager version \d")
_ERROR = re.compile(r"\[(?:ERROR|FATAL|CRITICAL)\]", re.IGNORECASE)
_LINE = 400
_LINES = 20


def read_fabric(source: Source, known: Callable[[type], Any]) -> Any:
    switches = _switches(source)
    log = source.tail(_LOG)
    nodes = source.text(_IMEX_NODES)
    return Fabric(
        nvswitches=switches,
        driver_nvswitches=_driver_switches(source),
        nvlink5_managers=_bridges(source) if isinstance(switches, Unread) or not switches else (),
        manager_log_errors=log if isinstance(log, Unread) else parse_manager_log(log),
        imex_nodes=nodes if isinstance(nodes, Unread) else parse_imex_nodes(nodes),
        imex_channels=_names(source, _IMEX_CHANNELS),
    )


def parse_manager_log(text: str) -> tuple[str, ...]:
    r"""Errors that the fabric manager logged since it last started; the file goes on over restarts and boots.

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
    return tuple(errors[-_LINES:])


def parse_imex_nodes(text: str) -> tuple[str, ...]:
    r"""Addresses of an IMEX nodes file: one a line, comments after ``#``.

    >>> parse_imex_nodes("# rack 4\n10.0.0.1\n10.0.0.2  # node 2\n\n")
    ('10.0.0.1', '10.0.0.2')
    """
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return tuple(words[0] for words in lines if words)


def _names(source: Source, directory: str) -> "tuple[str, ...] | Unread":
    """The names in a directory; none when there is no such directory."""
    names = source.listdir(directory)
    return () if isinstance(names, Unread) and names.why == "absent" else names


def _switches(source: Source) -> "tuple[NvSwitch, ...] | Unread":
    addresses = _names(source, _PCI)
    if isinstance(addresses, Unread):
        return addresses
    found: list[NvSwitch] = []
    for address in addresses:
        function = _attribute(source, f"{_PCI}/{address}/class")
        if isinstance(function, Unread):
            return function
        if not function.startswith(_SWITCH_CLASS):
            continue
        vendor = _attribute(source, f"{_PCI}/{address}/vendor")
        if isinstance(vendor, Unread):
            return vendor
        if vendor == _NVIDIA:
            device = _attribute(source, f"{_PCI}/{address}/device")
            found.append(NvSwitch(address, device if isinstance(device, str) else "", _driver_of(source, address)))
    return tuple(found)


def _attribute(source: Source, path: str) -> "str | Unread":
    """A line of sysfs; "" when there is none: the device went while we looked, or is made of software."""
    text = source.text(path)
    if isinstance(text, Unread):
        return "" if text.why == "absent" else text
    return text.strip()


def _driver_of(source: Source, address: str) -> "str | Unread":
    link = source.readlink(f"{_PCI}/{address}/driver")
    if isinstance(link, Unread):
        return "" if link.why == "absent" else link
    return link.rpartition("/")[2]


def _driver_switches(source: Source) -> "tuple[str, ...] | Unread":
    names = _names(source, _SWITCHES)
    if isinstance(names, Unread):
        return names
    wrong = [name for name in names if not _ADDRESS.fullmatch(name.lower())]
    return Unread("error", f"{_SWITCHES}: {wrong[0]!r} is no PCI address") if wrong else tuple(name.lower() for name in names)


def _on_baseboard(source: Source) -> "bool | Unread":
    """A GPU of the kinds whose NVLink 5 switches hide behind HCAs is on PCI."""
    addresses = _names(source, _PCI)
    if isinstance(addresses, Unread):
        return addresses
    for address in addresses:
        vendor, device = (_attribute(source, f"{_PCI}/{address}/{name}") for name in ("vendor", "device"))
        if isinstance(vendor, Unread) or isinstance(device, Unread):
            return Unread("error", f"{address}: cannot read which device it is")
        if vendor == _NVIDIA and any(first <= device <= last for first, last in BASEBOARD_GPUS):
            return True
    return False


def _bridges(source: Source) -> "tuple[str, ...] | Unread":
    """HCAs that lead to NVLink 5 switches. A host with NVSwitches on PCI has none, and is not asked."""
    names = _names(source, _HCAS)
    if isinstance(names, Unread):
        return names
    found: list[str] = []
    for name in names:
        device = _attribute(source, f"{_HCAS}/{name}/device/device")
        if isinstance(device, Unread):
            return device
        if device != _BRIDGE_DEVICE:
            continue
        leads = _on_baseboard(source)  # the VPD is slow, needs root, and says nothing on any other host
        if isinstance(leads, Unread):
            return leads
        if not leads:
            return ()
        data = source.read(f"{_HCAS}/{name}/device/vpd", _VPD_BYTES)
        if isinstance(data, Unread):
            if data.why != "absent":
                return data
        elif _BRIDGE_MARK in data:
            found.append(name)
    return tuple(found)
