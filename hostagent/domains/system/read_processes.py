"""Running daemons that the source trusts."""

from collections.abc import Mapping
from typing import Any

from hostagent.core.retention import Keep
from hostagent.core.unread import Unread
from hostagent.domains.system.retention import PROCESSES
from hostagent.facts.host import Process
from hostagent.host.source import Source


def read_processes(source: Source, keep: Keep = PROCESSES) -> "tuple[Process, ...] | Unread":
    """`keep`: the parts of their command lines that are used."""
    rows = source.processes(keep=keep)
    if isinstance(rows, Unread):
        return rows
    found = [_process(row) for row in rows]
    return next((one for one in found if isinstance(one, Unread)), tuple(one for one in found if not isinstance(one, Unread)))


def _process(row: Mapping[str, Any]) -> "Process | Unread":
    """One process. Recordings without its unit hold only processes that the recorder trusted."""
    pid, name, argv, started, unit = (row.get(key, "") for key in ("pid", "name", "argv", "started_at", "unit"))
    if not (isinstance(pid, int) and isinstance(name, str) and isinstance(argv, list | tuple) and isinstance(started, int | float)):
        return Unread("error", f"a process without pid, name, argv or started_at: {str(row)[:80]}")
    if unit is not None and not isinstance(unit, str):
        return Unread("error", f"the unit of process {pid} is {str(unit)[:40]}, wanted a text")
    path, address = (value if isinstance(value := row.get(key), str) else "" for key in ("path", "address"))
    hidden = Unread("denied", f"who runs {name} (pid {pid}) cannot be seen with the rights of this run", "processes")
    return Process(pid, name, tuple(str(part) for part in argv), float(started), hidden if unit is None else unit, path, address)
