"""The host around the GPU, as jobs and installations need it: limits, clock, pending reboots, locks."""

from collections.abc import Callable
from typing import Any

from hostagent.core.retention import WHOLE
from hostagent.core.tables import daemons
from hostagent.core.unread import Unread, then
from hostagent.domains.system.read_memlock import read_memlock
from hostagent.domains.system.read_package_lock import package_lock_holder
from hostagent.domains.system.read_processes import read_processes
from hostagent.domains.system.retention import SOCKETS
from hostagent.facts.host import Machine, Process, running
from hostagent.host.source import Source

_STA_UNSYNC = 0x40  # adjtimex(2)
_TIME_DAEMONS = frozenset(daemons.processes("time"))
#: Marker files of a required reboot: Debian family and Amazon Linux; SUSE.
_REBOOT_MARKS = ("/run/reboot-required", "/var/run/reboot-required", "/run/reboot-needed")
#: Files of the package managers that create those markers.
_MARKING_MANAGERS = ("/var/lib/dpkg/status", "/usr/bin/zypper")


def read_machine(source: Source, known: Callable[[type], Any]) -> Machine:
    processes = read_processes(source)
    memlock = read_memlock(source, known, processes)
    required, reasons = _reboot(source)
    return Machine(
        memlock_bytes=then(memlock, lambda one: one.limit_bytes),
        memlock_origin=then(memlock, lambda one: one.origin),
        clock_synchronised=_clock(source),
        time_daemon=_time_daemon(processes),
        reboot_required=required,
        reboot_reasons=reasons,
        package_lock_holder=package_lock_holder(source),
        cloud_init_running=_cloud_init(source),
        processes=processes,
        listening_sockets=_sockets(source, unseen=False),
        unseen_sockets=_sockets(source, unseen=True),
    )


def _sockets(source: Source, *, unseen: bool) -> "tuple[str, ...] | Unread":
    return then(
        source.sockets(keep=SOCKETS), lambda rows: tuple(str(row.get("path", "")) for row in rows if bool(row.get("unseen")) is unseen)
    )


def _clock(source: Source) -> "bool | Unread":
    return then(source.adjtimex(), lambda status: not status & _STA_UNSYNC)


def _time_daemon(processes: "tuple[Process, ...] | Unread") -> "str | Unread":
    found = then(processes, lambda those: running(those, *_TIME_DAEMONS))
    return then(found, lambda those: next((one.name for one in those), ""))


def _reboot(source: Source) -> "tuple[bool | Unread, tuple[str, ...] | Unread]":
    """Whether a marker file exists, and the packages that require the reboot."""
    for mark in _REBOOT_MARKS:
        found = source.stat(mark)
        if not isinstance(found, Unread):
            packages = source.text(f"{mark}.pkgs", keep=WHOLE, absent="")
            return True, then(packages, lambda text: tuple(dict.fromkeys(text.split())))
        if found.why != "absent":
            return found, found
    unmarked = Unread("not-supported", "this distribution leaves no mark when an update needs a reboot")
    for path in _MARKING_MANAGERS:
        manager = source.stat(path)
        if not isinstance(manager, Unread):
            return False, ()
        unmarked = unmarked if manager.why == "absent" else manager
    return unmarked, unmarked


def _cloud_init(source: Source) -> "bool | Unread":
    """As ``cloud-init status``: it runs from the first stage on until it writes its result."""
    names = then(source.listdir("/run/cloud-init", absent=()), set)
    return then(names, lambda there: bool(there & {"enabled", "status.json"}) and not there & {"result.json", "disabled"})
