"""Free space on the filesystems that installations and jobs fill."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, then
from hostagent.facts.host import Filesystem, Storage
from hostagent.host.source import Source

_LOOKED_AT = ("/", "/usr", "/var", "/boot")
#: Filesystems that allocate inodes dynamically and report none.
_NO_INODE_COUNT = frozenset({"btrfs", "vfat", "exfat", "ntfs3", "9p", "virtiofs", "overlay", "fuse"})


def read_storage(source: Source, known: Callable[[type], Any]) -> Storage:
    shm = source.statvfs("/dev/shm")  # noqa: S108  the path itself is evaluated
    return Storage(_filesystems(source), then(shm, lambda one: one.total_bytes))


def _filesystems(source: Source) -> "tuple[Filesystem, ...] | Unread":
    """One for each filesystem behind `_LOOKED_AT`, without directories that are absent (/boot in a container)."""
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
    """0 free inodes: full, or unread on a filesystem that does not count them."""
    mounts = source.text("/proc/1/mounts", keep=Keep("mounts", _LOOKED_AT))
    if isinstance(mounts, Unread):
        return Unread("error", f"{path} reports 0 free inodes and its filesystem type cannot be read ({mounts.why})", mounts.question)
    kind = parse_filesystem_type(mounts, path)
    if kind.split(".")[0] in _NO_INODE_COUNT:
        return Unread("not-supported", f"{kind} does not count inodes")
    return 0


def parse_filesystem_type(mounts: str, path: str) -> str:
    r"""The type of the filesystem that holds `path`, by /proc/mounts; "" if no line covers it.

    >>> parse_filesystem_type("/dev/a / ext4 rw 0 0\n/dev/b /boot vfat rw 0 0\n", "/boot/efi")
    'vfat'
    """
    best = ("", "")
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) >= 3 and (path == fields[1] or path.startswith(fields[1].rstrip("/") + "/")) and len(fields[1]) >= len(best[0]):
            best = (fields[1], fields[2])
    return best[1]
