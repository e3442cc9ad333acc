"""What a job or an installation needs from the host around the GPU: space, limits, clock, pending reboots, locks."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hostagent.collect.host.keeps import SOCKETS
from hostagent.collect.host.memlock import read_memlock
from hostagent.collect.host.package_lock import package_lock_holder
from hostagent.collect.host.processes import read_processes
from hostagent.facts.host import Filesystem, Machine, Process, running
from hostagent.facts.unread import Unread, then
from hostagent.knowledge import daemons
from hostagent.source import Source
from hostagent.source.keep import WHOLE, Keep

_LOOKED_AT = ("/", "/usr", "/var", "/boot")
#: Filesystems that make inodes as they need them and report none.
_NO_INODE_COUNT = frozenset({"btrfs", "vfat", "exfat", "ntfs3", "9p", "virtiofs", "overlay", "fuse"})
_STA_UNSYNC = 0x40  # adjtimex(2)
_TIME_DAEMONS = frozenset(daemons.processes("time"))
#: Marks of a wanted reboot: Debian family and Amazon Linux; SUSE.
_REBOOT_MARKS = ("/run/reboot-required", "/var/run/reboot-required", "/run/reboot-needed")
#: Files of the package managers that set those marks.
_MARKING_MANAGERS = ("/var/lib/dpkg/status", "/usr/bin/zypper")


def read_machine(source: Source, known: Callable[[type], Any]) -> Machine:
    processes = read_processes(source)
    memlock = read_memlock(source, known, processes)
    required, reasons = _reboot(source)
    return Machine(
        filesystems=_filesystems(source),
        memlock_bytes=then(memlock, lambda one: one.limit_bytes),
        memlock_origin=then(memlock, lambda one: one.origin),
        shm_bytes=_shm(source),
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


def _filesystems(source: Source) -> "tuple[Filesystem, ...] | Unread":
    """One for each filesystem behind `_LOOKED_AT`. A directory that is not there (/boot in a container) is left out."""
    found: dict[object, Filesystem] = {}
    for path in _LOOKED_AT:
        disk = source.statvfs(path)
        if isinstance(disk, Unread):
            if disk.why != "absent":
                found[path] = Filesystem(path, (path,), disk, disk)
            continue
        key = (disk.mount_id, disk.total_bytes)  # some filesystems give the id 0
        first = found.get(key)
        if first:
            found[key] = replace(first, holds=(*first.holds, path))
        else:
            inodes = disk.free_inodes or _no_inodes(source, path)
            found[key] = Filesystem(path, (path,), disk.free_bytes, inodes)
    return tuple(found.values()) or Unread("absent", "none of " + ", ".join(_LOOKED_AT))


def _no_inodes(source: Source, path: str) -> "int | Unread":
    """0 free inodes: full, or a filesystem that does not count them."""
    mounts = source.text("/proc/1/mounts", keep=Keep("mounts", _LOOKED_AT))
    if isinstance(mounts, Unread):
        return Unread("error", f"{path} reports 0 free inodes and its filesystem type cannot be read ({mounts.why})", mounts.question)
    kind = parse_filesystem_type(mounts, path)
    if kind.split(".")[0] in _NO_INODE_COUNT:
        return Unread("not-supported", f"{kind} does not count inodes")
    return 0


def parse_filesystem_type(mounts: str, path: str) -> str:
    r"""The type of the filesystem that holds `path`, by /proc/mounts; "" when no line covers it.

    >>> parse_filesystem_type("/dev/a / ext4 rw 0 0\n/dev/b /boot vfat rw 0 0\n", "/boot/efi")
    'vfat'
    """
    best = ("", "")
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) >= 3 and (path == fields[1] or path.startswith(fields[1].rstrip("/") + "/")) and len(fields[1]) >= len(best[0]):
            best = (fields[1], fields[2])
    return best[1]


def _shm(source: Source) -> "int | Unread":
    disk = source.statvfs("/dev/shm")  # noqa: S108  the path is what is judged
    return then(disk, lambda one: one.total_bytes)


def _clock(source: Source) -> "bool | Unread":
    return then(source.adjtimex(), lambda status: not status & _STA_UNSYNC)


def _time_daemon(processes: "tuple[Process, ...] | Unread") -> "str | Unread":
    found = then(processes, lambda those: running(those, *_TIME_DAEMONS))
    return then(found, lambda those: next((one.name for one in those), ""))


def _reboot(source: Source) -> "tuple[bool | Unread, tuple[str, ...] | Unread]":
    """The mark, and the packages that set it."""
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
