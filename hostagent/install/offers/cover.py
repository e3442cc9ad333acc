"""Covers the parts of a target that a package manager writes to by memory: what it writes there is gone with the last process.

For a process with mounts of its own.
"""

import contextlib
import errno
import os
import stat

from hostagent.host.paths import Root
from hostagent.sandbox import mounting
from hostagent.sandbox.mounting import at

#: Beside its own directories it writes what is temporary.
COVERED = ("/etc", "/usr", "/var", "/tmp")  # noqa: S108  nothing is made in it but in memory
#: Directories of every system, for as long as it takes to cover others.
_SCRATCHES = ("/mnt", "/tmp", "/run", "/srv", "/opt")  # noqa: S108
#: What runs in containers has hundreds of mounts, in which no package manager looks.
_SKIPPED = tuple(f"/var/lib/{name}/" for name in ("docker", "containerd", "containers", "kubelet", "rancher", "lxc", "lxd", "machines"))
#: Mounts below these are written to as the directory itself is; others are only read.
_WRITTEN = ("/etc/", "/usr/", "/tmp/", "/var/lib/", "/var/cache/", "/var/log/", "/var/tmp/")  # noqa: S108


def cover(root: Root) -> None:
    """Raises ``OSError``."""
    os.close(root.open("/", os.O_PATH))  # before a scratch directory may hide it
    scratch = next((one for one in _SCRATCHES if os.path.isdir(one) and not f"{root.path}/".startswith(f"{one}/")), "")
    if not scratch:
        raise OSError(errno.ENOENT, f"found none of {', '.join(_SCRATCHES)}, wanted a directory that is not on the way to it", root.path)
    mounting.file_system("tmpfs", scratch, "mode=700", programs=True)
    try:
        for number, name in enumerate(COVERED):
            os.mkdir(f"{scratch}/{number}")
            _cover(root, name, f"{scratch}/{number}")
    finally:
        mounting.detach(scratch)


def _cover(root: Root, name: str, scratch: str) -> None:
    """The cover hides mounts below the directory: each is mounted again, with a cover of its own."""
    try:
        place = root.open(name, os.O_PATH | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        return
    inner: list[tuple[str, int]] = []
    try:
        prefix = root.path.rstrip("/")
        for point, kind in mounting.mounted_below(os.readlink(at(place))):
            inside = point.removeprefix(prefix)
            if kind != "autofs" and not inside.startswith(_SKIPPED):
                with contextlib.suppress(OSError):  # it may be below another one, or denied
                    inner.append((inside, root.open(inside, os.O_PATH, follow=False)))
        _overlay(place, f"{scratch}/self", place)
        for number, (inside, before) in enumerate(inner):
            _put_back(root, inside, before, f"{scratch}/{number}")
    finally:
        for descriptor in (place, *(one for _, one in inner)):
            os.close(descriptor)


def _put_back(root: Root, inside: str, before: int, scratch: str) -> None:
    try:
        place = root.open(inside, os.O_PATH, follow=False)
    except OSError:
        return
    try:
        is_written = stat.S_ISDIR(os.fstat(before).st_mode) and f"{inside}/".startswith(_WRITTEN)
        if is_written:
            with contextlib.suppress(OSError):  # not every file system can be covered
                _overlay(before, scratch, place)
                return
        mounting.bind(at(before), at(place))
    finally:
        os.close(place)


def _overlay(lower: int, scratch: str, place: int) -> None:
    os.mkdir(scratch)
    for name in ("upper", "work"):
        os.mkdir(f"{scratch}/{name}")
    found = os.fstat(lower)
    os.chown(f"{scratch}/upper", found.st_uid, found.st_gid)
    os.chmod(f"{scratch}/upper", stat.S_IMODE(found.st_mode))
    mounting.overlay(at(lower), f"{scratch}/upper", f"{scratch}/work", at(place))
