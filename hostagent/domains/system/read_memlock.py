"""The limit of locked memory in containers: RDMA registers buffers, and registered memory is locked.

A container inherits RLIMIT_MEMLOCK from its runtime: from the running process, else from its unit, else from the default of
systemd's manager. In a container without a runtime of its own, process 1 has the limit of jobs.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from hostagent.core.retention import Keep
from hostagent.core.tables import daemons
from hostagent.core.unread import NOT_THERE, Unread, then
from hostagent.facts.host import Process, Services, Unit, running
from hostagent.facts.platform import Platform
from hostagent.host.source import Source
from hostagent.host.values import names_in

_UNITS = daemons.units("runtime", "kubelet", "supervisor")
_PROCESSES = daemons.processes("runtime", "kubelet", "slurm")
_LIMIT, _DEFAULT_LIMIT = Keep("settings", ("Max locked memory",)), Keep("settings", ("DefaultLimitMEMLOCK",))
_MANAGER_DIRECTORIES = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd")
_UNITS_OF_SIZE = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5, "E": 1024**6}


class Memlock(NamedTuple):
    """``limit_bytes``: -1 is unlimited."""

    limit_bytes: int
    origin: str


def read_memlock(source: Source, known: Callable[[type], Any], processes: "tuple[Process, ...] | Unread") -> "Memlock | Unread":
    if isinstance(processes, Unread):
        if processes.why != "not-running":
            return processes
    else:
        first = next((found for found in (running(processes, name) for name in _PROCESSES) if isinstance(found, Unread) or found), ())
        if isinstance(first, Unread):
            return first
        for process in first:
            return _of_process(source, process.pid, f"{process.name} (pid {process.pid})")
    services: Services | Unread = known(Services)
    if isinstance(services, Unread):
        return services
    if isinstance(services.units, Unread):
        return services.units
    present = [unit for unit in services.units if unit.name in _UNITS and unit.exists]
    if present:
        return _of_units(source, present)
    platform: Platform | Unread = known(Platform)
    if not isinstance(platform, Unread) and platform.in_container:
        return _of_process(source, 1, "process 1 of this container")
    return Unread("absent", "no container runtime and no kubelet is installed as a systemd unit")


def _of_process(source: Source, pid: int, origin: str) -> "Memlock | Unread":
    limit = then(source.text(f"/proc/{pid}/limits", keep=_LIMIT), parse_limits)
    return limit if isinstance(limit, Unread) else Memlock(limit, origin)


def _of_units(source: Source, present: list[Unit]) -> "Memlock | Unread":
    """The limit of the first of `present` that sets one, else the manager's default."""
    for unit in present:
        if isinstance(unit.text, Unread):
            return unit.text
        limit = parse_memlock(unit.text, "LimitMEMLOCK")
        if isinstance(limit, Unread):
            return limit
        if limit is not None:
            return Memlock(limit, f"LimitMEMLOCK of {unit.name}.service")
    default = _manager_default(source)
    if default is None:
        return Unread("not-running", f"{present[0].name}.service sets no LimitMEMLOCK: the kernel's default counts, once it runs")
    return then(default, lambda limit_bytes: Memlock(limit_bytes, "DefaultLimitMEMLOCK of systemd"))


def _manager_default(source: Source) -> "int | Unread | None":
    """DefaultLimitMEMLOCK of system.conf and its drop-ins, systemd-system.conf(5); None if unset."""
    texts = []
    for directory in _MANAGER_DIRECTORIES:
        main = source.text(f"{directory}/system.conf", keep=_DEFAULT_LIMIT)
        if not isinstance(main, Unread):
            texts.append(main)
            break
        if main.why not in NOT_THERE:
            return main
    drop_ins: dict[str, str] = {}
    for directory in reversed(_MANAGER_DIRECTORIES):
        names = names_in(source, f"{directory}/system.conf.d")
        if isinstance(names, Unread):
            return names
        for name in names:
            if name.endswith(".conf"):
                drop_ins[name] = f"{directory}/system.conf.d/{name}"
    for name in sorted(drop_ins):
        text = source.text(drop_ins[name], keep=_DEFAULT_LIMIT)
        if isinstance(text, Unread):
            return text
        texts.append(text)
    return parse_memlock("\n".join(texts), "DefaultLimitMEMLOCK")


def parse_memlock(text: str, key: str) -> "int | Unread | None":
    r"""The soft limit of the last ``key=`` line, in bytes; -1 for infinity, None if no line sets it.

    >>> parse_memlock("[Service]\nLimitMEMLOCK=infinity\n", "LimitMEMLOCK"), parse_memlock("LimitMEMLOCK=8M:1G", "LimitMEMLOCK")
    (-1, 8388608)
    """
    value = ""
    for line in text.splitlines():
        name, _, rest = line.strip().partition("=")
        if name.strip() == key:
            value = rest.strip()
    if not value:
        return None
    soft = value.partition(":")[0].strip()
    if soft == "infinity":
        return -1
    match = re.fullmatch(r"([0-9]{1,18})([KMGTPE]?)", soft)
    if not match:
        return Unread("error", f"{key}: found {value[:40]!r}, wanted a size or infinity")
    return int(match[1]) * _UNITS_OF_SIZE[match[2]]


def parse_limits(text: str) -> "int | Unread":
    """The soft limit of locked memory in /proc/<pid>/limits; -1 for unlimited.

    >>> parse_limits("Max locked memory         8388608              8388608              bytes     ")
    8388608
    """
    match = re.search(r"^Max locked memory +([0-9]{1,20}|unlimited) ", text, re.MULTILINE)
    if not match:
        return Unread("error", "limits: no line 'Max locked memory'")
    return -1 if match[1] == "unlimited" else int(match[1])
