"""The sandbox that a worker enters before it loads a third-party library, as far as this kernel supports it.

Each part works alone: capabilities and user (`hostagent.sandbox.privileges`), system calls (`seccomp`), files and signals (`landlock`),
limits.
"""

import contextlib
import os
import re
import resource
import stat
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hostagent.core.unread import Unread
from hostagent.sandbox.landlock import confine
from hostagent.sandbox.majors import majors
from hostagent.sandbox.privileges import Sandbox, drop_privileges, forbid_new_privileges, limit
from hostagent.sandbox.seccomp import refuse

if TYPE_CHECKING:
    from hostagent.sandbox.worker_spec import Rights

#: Character devices that are the same on every Linux (devices.txt): null, zero, urandom.
_HARMLESS = {"null": (1, 3), "zero": (1, 5), "urandom": (1, 9)}
#: More than a library directory or /dev has; a bound for untrusted trees.
_MAX_FILES = 4096


def enter(rights: "Rights", libraries: Iterable[str], *, simulated: bool) -> "Sandbox | Unread":
    """Drop all but `rights` and what loading the files `libraries` needs; ``Unread`` where a privilege that must go cannot be dropped.

    Irreversible: import first what will be needed. `simulated`: an untrusted tree, no live host. It has no devices, and where the
    kernel lacks a part of the sandbox its library is not loaded.
    """
    libraries = tuple(libraries)
    if not forbid_new_privileges():
        return Unread("denied", "the right to run setuid programs cannot be given up")
    _set_limits(rights)
    places = {os.path.dirname(os.path.realpath(path)) for path in libraries}
    if simulated:
        landlock = confine(_files(places.union(rights.data)), (), ())
    else:
        landlock = confine((*rights.reads, *rights.data, *places), _devices(rights), ("/dev",))
    opened = [path for path in _below(rights.driver) if re.fullmatch(rights.opens, path.removeprefix("/dev/"))]
    kept = drop_privileges(rights.capabilities, opened, libraries)
    if isinstance(kept, Unread):
        return kept
    sockets = rights.sockets and kept.is_alone
    refused = refuse({"unix-streams"} if sockets else ())
    missing = [name for name, holds in (("Landlock", landlock), ("filter of system calls", refused)) if not holds]
    if simulated and missing:
        return Unread("denied", f"this is no live host, and the kernel has no {' and no '.join(missing)} for the cage")
    return Sandbox(kept.capabilities, kept.user, sockets, refused, landlock)


def _devices(rights: "Rights") -> Iterator[str]:
    """Device nodes of the lane's driver, by their number: any user may choose a name."""
    yield from (path for name, number in _HARMLESS.items() if _device(path := f"/dev/{name}") == number)
    if rights.numbers:
        numbers = {_number(f"{rights.numbers}/{name}/dev") for name in _names(rights.numbers)}
        yield from (path for path in _below(rights.driver) if (found := _device(path)) in numbers and found[0] >= 0)
    else:
        majors = _majors(rights.driver) | {rights.major}
        yield from (path for path in _below(rights.driver) if _device(path)[0] in majors)


def _below(driver: str) -> Iterator[str]:
    """Paths in /dev that begin with `driver`, and one directory deeper."""
    for name in _names("/dev") if driver else ():
        if name.startswith(driver):
            path = f"/dev/{name}"
            yield from [f"{path}/{one}" for one in _names(path)] if os.path.isdir(path) else [path]


def _number(path: str) -> tuple[int, int]:
    """Major and minor number, as sysfs writes them: ``231:192``."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            major, _, minor = stream.read(64).strip().partition(":")
            return int(major), int(minor)
    except (OSError, ValueError):
        return -1, -1


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))[:_MAX_FILES]
    except OSError:
        return []


def _majors(driver: str) -> frozenset[int]:
    """Major numbers of the drivers with that prefix (proc(5), /proc/devices)."""
    try:  # UTF-8, which Python has always loaded: after chroot(2) other encodings cannot be imported
        with open("/proc/devices", encoding="utf-8", errors="replace") as listed:
            return majors(listed.read(), driver)
    except OSError:
        return frozenset()


def _device(path: str) -> tuple[int, int]:
    """Major and minor number of a character device, (-1, -1) of anything else."""
    try:
        found = os.stat(path)
    except OSError:
        return -1, -1
    return (os.major(found.st_rdev), os.minor(found.st_rdev)) if stat.S_ISCHR(found.st_mode) else (-1, -1)


def _files(directories: Iterable[str]) -> Iterator[str]:
    """Regular files only: a tree can hold device nodes under any name."""
    for path in (f"{directory}/{name}" for directory in directories for name in _names(directory)):
        with contextlib.suppress(OSError):
            if stat.S_ISREG(os.stat(path, follow_symlinks=False).st_mode):
                yield path


def _set_limits(rights: "Rights") -> None:
    """RLIMIT_FSIZE 0 does not affect pipes; RLIMIT_NPROC is not needed, as fork is refused."""
    limit({resource.RLIMIT_AS: rights.memory_bytes, resource.RLIMIT_NOFILE: rights.files, resource.RLIMIT_FSIZE: 0})
