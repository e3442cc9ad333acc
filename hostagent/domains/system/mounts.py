"""Mount tables: rows of /proc/PID/mounts and of fstab, and the mount that holds a path."""

import re
from typing import NamedTuple


class Mount(NamedTuple):
    """A row of a mount table or of fstab."""

    device: str
    place: str
    kind: str
    options: tuple[str, ...]


def parse_mounts(text: str) -> tuple[Mount, ...]:
    r"""Rows of /proc/PID/mounts or of fstab(5), in order; octal escapes of white space are resolved.

    >>> parse_mounts("# a comment\n/dev/sda1  /data\\040disk ext4 defaults,ro 0 2\n")
    (Mount(device='/dev/sda1', place='/data disk', kind='ext4', options=('defaults', 'ro')),)
    """
    fields = (line.split() for line in text.splitlines() if not line.lstrip().startswith("#"))
    return tuple(Mount(one[0], _unescaped(one[1]), one[2], tuple(one[3].split(","))) for one in fields if len(one) > 3)


def _unescaped(text: str) -> str:
    for written, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(written, letter)
    return text.rstrip("/") or "/"


def mount_of(mounts: tuple[Mount, ...], path: str) -> "Mount | None":
    r"""The mount that holds a path: the longest mount point, of several on one the last.

    >>> rows = parse_mounts("a / ext4 rw 0 0\nb /var xfs rw 0 0\nc /var ext4 ro 0 0\n")
    >>> mount_of(rows, "/var/lib").device, mount_of(rows, "/vara").device
    ('c', 'a')
    """
    holding = [one for one in mounts if holds(one.place, path)]
    return max(reversed(holding), key=lambda one: len(one.place), default=None)


def place_of_unit(name: str) -> str:
    r"""The mount point of a unit by its name, from which its Where= may not differ (systemd.mount(5)); "" for a name that is no path.

    >>> place_of_unit("var-lib-k8s\\x2ddisks.mount"), place_of_unit("-.mount"), place_of_unit("var-.mount")
    ('/var/lib/k8s-disks', '/', '')
    """
    path = name.removesuffix(".mount")
    if path == "-":
        return "/"
    parts = path.split("-")
    return "/" + "/".join(re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), part) for part in parts) if all(parts) else ""


def holds(place: str, path: str) -> bool:
    """Whether the path is at or below that mount point, if nothing else is mounted between."""
    return place in ("/", path) or path.startswith(f"{place}/")
