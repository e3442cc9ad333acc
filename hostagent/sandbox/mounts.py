"""The file system of a path by the mount table, without touching that file system: it may hang."""

import os
import re

_MOUNTS = "/proc/self/mountinfo"
_ESCAPED = re.compile(r"\\([0-7]{3})")


def mount_below(root: str, path: str) -> str:
    """The mount point of `path` of the host at `root`, as a path of that host; "" where it is the root's own or unknown.

    By the path's text: a link on the way is not followed.
    """
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as stream:
            points = parse_mount_points(stream.read())
    except OSError:
        return ""
    prefix = os.path.abspath(root).rstrip("/")
    inside = [point.removeprefix(prefix) for point in points if point.startswith(prefix + "/") and point != "/"]
    return max((point for point in inside if path == point or path.startswith(point + "/")), key=len, default="")


def parse_mount_points(text: str) -> list[str]:
    r"""The mount points of proc_pid_mountinfo(5), where blanks are written as octal numbers.

    >>> parse_mount_points("22 1 0:21 / /proc rw - proc proc rw\n36 22 98:0 /mnt1 /mnt/a\\040b rw,noatime master:1 - ext3 /dev/root rw")
    ['/proc', '/mnt/a b']
    """
    return [point for point, _ in parse_mounts(text)]


def parse_mounts(text: str) -> list[tuple[str, str]]:
    r"""The same with the file system type, the field after the lone hyphen; "" without one.

    >>> parse_mounts("36 22 98:0 /mnt1 /mnt/a\\040b rw,noatime master:1 - ext3 /dev/root rw")
    [('/mnt/a b', 'ext3')]
    """
    rows = (line.split(" ") for line in text.splitlines())
    return [(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), row[4]), _kind(row)) for row in rows if len(row) > 4]


def _kind(row: list[str]) -> str:
    behind = row.index("-", 6) + 1 if "-" in row[6:] else len(row)
    return row[behind] if behind < len(row) else ""
