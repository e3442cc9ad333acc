"""mount(2) and umount2(2), which Python lacks, for processes in a mount namespace of their own.

Where other users may change a path, a target is given by descriptor: ``/proc/self/fd/N``.
"""

import ctypes
import os

from hostagent.sandbox.mounts import parse_mounts

_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC = 1, 2, 4, 8, 32, 4096, 16384
_DETACH = 2
_MOUNTS = "/proc/self/mountinfo"
_libc = ctypes.CDLL(None, use_errno=True)


def at(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


def file_system(kind: str, target: str, options: str = "", *, programs: bool = False) -> None:
    """Mount a new file system: nodev, nosuid, and noexec unless `programs`. Raises ``OSError``."""
    _mount(kind, target, kind, _NOSUID | _NODEV | (0 if programs else _NOEXEC), options)


def devices(target: str, options: str = "", kind: str = "tmpfs") -> None:
    """Mount a file system that allows device nodes: tmpfs or devpts. Raises ``OSError``."""
    _mount(kind, target, kind, _NOSUID | _NOEXEC, options)


def bind(source: str, target: str, *, below: bool = False) -> None:
    """Bind mount, recursive with `below`. Raises ``OSError``."""
    _mount(source, target, "", _BIND | (_REC if below else 0), "")


def only_to_read(target: str) -> None:
    """Remount read-only, for every process that sees this mount. Raises ``OSError``."""
    _mount("", target, "", _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV | _NOEXEC, "")


def to_write(target: str) -> None:
    """Remount a bound directory writable. Raises ``OSError``."""
    _mount("", target, "", _REMOUNT | _BIND | _NOSUID | _NODEV | _NOEXEC, "")


def overlay(lower: str, upper: str, work: str, target: str) -> None:
    """Mount an overlay: changes go to `upper`. Raises ``OSError``."""
    _mount("overlay", target, "overlay", 0, f"lowerdir={lower},upperdir={upper},workdir={work}")


def detach(target: str) -> None:
    """Unmount lazily (MNT_DETACH): processes that use it keep it. Raises ``OSError``."""
    if _libc.umount2(os.fsencode(target), _DETACH) != 0:
        _raise_errno(target)


def mounted_below(path: str) -> "list[tuple[str, str]]":
    """(mount point, kind of file system) of what is mounted below a real path, outer ones first. Raises ``OSError``."""
    with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as stream:
        mounts = parse_mounts(stream.read())
    prefix = path.rstrip("/") + "/"
    return [one for one in mounts if one[0].startswith(prefix)]


def _mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    encoded = (os.fsencode(source), os.fsencode(target), os.fsencode(kind), ctypes.c_ulong(flags), os.fsencode(options))
    if _libc.mount(*encoded) != 0:
        _raise_errno(target)


def _raise_errno(target: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number), target)
