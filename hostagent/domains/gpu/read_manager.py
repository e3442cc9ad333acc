"""How the fabric manager is set up, and when it started.

Sources: NVIDIA Fabric Manager User Guide, sections Fabric Manager Config Options and Log.
"""

import calendar
import re
from collections.abc import Callable
from typing import Any

from hostagent.core.retention import Keep
from hostagent.core.tables.nvlink_fabric import MANAGER_PROCESS
from hostagent.core.unread import Unread, then
from hostagent.domains.gpu.daemon_config import local_file, named_file, parse_daemon_settings
from hostagent.domains.gpu.read_nvswitches import MANAGER_LOG, MANAGER_STARTS
from hostagent.facts.host import Machine
from hostagent.facts.nvswitch import FabricManager
from hostagent.host.source import Source

_CONFIG = "/usr/share/nvidia/nvswitch/fabricmanager.cfg"
_MODE = "FABRIC_MODE"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_START = re.compile(
    r"^\[([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d{4}) (\d{2}):(\d{2}):(\d{2})\](?=.{0,400}?Fabric Manager version \d)", re.MULTILINE | re.ASCII
)


def read_fabric_manager(source: Source, known: Callable[[type], Any]) -> FabricManager:
    path = _config_path(known(Machine))
    text = then(path, lambda one: source.text(one, keep=Keep("settings", (_MODE,)), absent=""))
    return FabricManager(
        mode=then(text, parse_mode),
        starts=then(source.tail(MANAGER_LOG, keep=Keep("log", (MANAGER_STARTS,))), parse_starts),
    )


def parse_mode(text: str) -> "int | Unread":
    r"""FABRIC_MODE of the fabric manager's configuration file: 0 bare metal or full passthrough, 1 shared NVSwitch, 2 vGPU.

    >>> parse_mode("# modes\nFABRIC_MODE=1\nFABRIC_MODE_RESTART=0\n"), parse_mode("LOG_LEVEL=4\n")
    (1, 0)
    """
    word = parse_daemon_settings(text).get(_MODE, "0")
    return int(word) if word in ("0", "1", "2") else Unread("error", f"{_MODE} is {word[:20]!r}, wanted 0, 1 or 2")


def parse_starts(text: str) -> tuple[int, ...]:
    r"""Times of the fabric manager's starts in its log: seconds of the host's own clock and time zone, to be compared with each other only.

    >>> day = "[Nov 10 2026 06:00:21] [INFO] [tid 8] Fabric Manager version 580.95.05 is running with the following configuration options\n"
    >>> first, second = parse_starts(day + day.replace("10 2026 06", "11 2026 07"))
    >>> second - first
    90000
    """
    found = []
    for month, *numbers in _START.findall(text):
        day, year, hour, minute, second = map(int, numbers)
        if month in _MONTHS and 1 <= day <= 31 and 1970 <= year <= 9999 and hour < 24 and minute < 60 and second <= 60:
            found.append(calendar.timegm((year, _MONTHS.index(month) + 1, 1, hour, minute, second)) + (day - 1) * 86400)
    return tuple(found)


def _config_path(machine: "Machine | Unread") -> "str | Unread":
    running = () if isinstance(machine, Unread) else machine.daemons(MANAGER_PROCESS)
    found = "" if isinstance(running, Unread) else next(filter(None, (named_file(one.argv) for one in running)), "")
    return local_file(found or _CONFIG)
