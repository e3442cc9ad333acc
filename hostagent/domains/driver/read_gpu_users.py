"""Processes that hold NVIDIA device nodes open, and so keep the driver's modules in use.

By the links in /proc/<pid>/fd (proc_pid_fd(5)): only files with the name of such a node are checked by device number, since others may
lie on a file system that hangs. A node that is mapped and closed again is not found; the module's use count
(/sys/module/nvidia/refcnt) includes it, and if that is 0 there is no search.
"""

# lsof and fuser find fewer (they miss a node created in another mount namespace). DRM's nodes count if their driver is
# nvidia. From a container without the host's PID namespace, processes of the host are not found; one with unreadable files makes
# the answer denied. A snapshot renames programs to `program-xxxxxx`, except NVIDIA's and the runtimes' daemons.

import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from hostagent.core.answers import Answer
from hostagent.core.tables.rights import HIDDEN_FILES
from hostagent.core.unread import Unread
from hostagent.host.files import Files, unread
from hostagent.host.hidepid import first_process
from hostagent.host.paths import Root
from hostagent.host.process import is_gone
from hostagent.sandbox.majors import NVIDIA, NVIDIA_DRIVERS, majors

#: NVIDIA's nodes, also below the root of a process with another root, and of a container that is gone, where the kernel appends
#: "(deleted)". Those of DRM are looked up.
_NODE = re.compile(r"(/.*)?(/dev/(?:nvidia[\w-]*(?:/[\w-]+)?|dri/[\w-]+))(?: \(deleted\))?")
_DRM, _DEVICES = "/sys/class/drm", "/proc/devices"
_COUNT = "/sys/module/nvidia/refcnt"
_MOST, _MOST_NODES = 1000, 64
_PROGRAM_CHARACTERS = 64


def gpu_users(root: Root, ours: Collection[int]) -> Answer:
    """pid, program, device (the first node by name) and devices (all) of each process, by pid, without `ours`, the workers of this pass.

    Denied if a process's files cannot be read: it may be one of them.
    """
    files = Files(root)
    if _is_free(files):
        return []
    first = first_process(root, files)
    if isinstance(first, Unread):
        return first
    entries = files.list("/proc")
    if isinstance(entries, Unread):
        return entries
    drivers = _Drivers(_majors(files), dict(_drm_nodes(files)))
    found, hidden = [], 0
    for pid in sorted(int(entry) for entry in entries if entry.isascii() and entry.isdigit() and len(entry) < 10):
        if pid in ours:
            continue
        nodes = _nodes(root, files, pid, drivers)
        if isinstance(nodes, Unread):
            if nodes.why != "denied":
                return nodes
            hidden += 1
        elif nodes:
            found.append({"pid": pid, "program": _program(root, files, pid), "device": min(nodes), "devices": sorted(nodes)[:_MOST_NODES]})
    if hidden:
        return Unread("denied", f"/proc/<pid>/fd: {hidden} processes do not show {HIDDEN_FILES}")
    return found[:_MOST]


def _is_free(files: Files) -> bool:
    """Whether the module is not loaded or has use count 0: no process can have a node open."""
    count = files.read(_COUNT, "64")
    return count.why == "absent" if isinstance(count, Unread) else count.strip() == b"0"


class _Drivers(NamedTuple):
    """Device numbers: majors of NVIDIA's drivers, and major and minor of each node of nvidia_drm, None if it has none."""

    majors: Collection[int]
    drm: Mapping[str, tuple[int, int] | None]


def _majors(files: Files) -> frozenset[int]:
    listed = files.read(_DEVICES, "65536")
    return majors(listed.decode("utf-8", "replace") if isinstance(listed, bytes) else "", NVIDIA_DRIVERS) | {NVIDIA}


def _nodes(root: Root, files: Files, pid: int, drivers: _Drivers) -> "set[str] | Unread":
    path = f"/proc/{pid}/fd"
    try:
        with _open_directory(root, path) as place:
            links = ((name, _NODE.fullmatch(_link(place, name))) for name in os.listdir(place))
            return {match[2] for name, match in links if match and _is_drivers(place, name, match, drivers)}
    except OSError as error:
        return set() if isinstance(error, ProcessLookupError) or is_gone(files, pid) else unread(error, path)


@contextmanager
def _open_directory(root: Root, path: str) -> Iterator[int]:
    place = root.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK)
    try:
        yield place
    finally:
        os.close(place)


def _link(place: int, name: str) -> str:
    """The link's target; "" if the file was closed meanwhile."""
    try:
        return os.readlink(name, dir_fd=place)
    except FileNotFoundError:
        return ""


def _is_drivers(place: int, name: str, match: "re.Match[str]", drivers: _Drivers) -> bool:
    """Whether an open file is one of the driver's devices, by its number, since a mount can give the name to another device.

    If it was closed meanwhile, the name decides; a file that cannot be read (FUSE, even by root) is none of the driver's devices.
    """
    node = match[2]
    is_drm = node.startswith("/dev/dri/")
    if is_drm and node not in drivers.drm:
        return False
    try:
        found = os.stat(name, dir_fd=place)
    except OSError as error:
        return isinstance(error, FileNotFoundError) and not match[1]
    if not stat.S_ISCHR(found.st_mode):
        return False
    number = os.major(found.st_rdev), os.minor(found.st_rdev)
    return number == drivers.drm[node] if is_drm else number[0] in drivers.majors


def _drm_nodes(files: Files) -> "Iterator[tuple[str, tuple[int, int] | None]]":
    """Nodes of nvidia_drm, the only nodes that a desktop may hold."""
    names = files.list(_DRM)
    for name in () if isinstance(names, Unread) else names:
        driver = files.readlink(f"{_DRM}/{name}/device/driver") if re.fullmatch(r"(?:card|renderD)[0-9]+", name) else ""
        if isinstance(driver, str) and driver.rpartition("/")[2] == "nvidia":
            number = files.read(f"{_DRM}/{name}/dev", "64")
            match = re.fullmatch(rb"([0-9]{1,9}):([0-9]{1,9})\n?", number) if isinstance(number, bytes) else None
            yield f"/dev/dri/{name}", (int(match[1]), int(match[2])) if match else None


def _program(root: Root, files: Files, pid: int) -> str:
    """The name of its executable by /proc/PID/exe, else the process name."""
    try:
        with _open_directory(root, f"/proc/{pid}") as place:
            path = os.readlink("exe", dir_fd=place).removesuffix(" (deleted)")
    except OSError:
        path = ""
    if not path:
        comm = files.read(f"/proc/{pid}/comm", "64")
        path = comm.decode("utf-8", "replace").removesuffix("\n") if isinstance(comm, bytes) else ""
    return path.rpartition("/")[2].encode("utf-8", "replace").decode()[:_PROGRAM_CHARACTERS] or "unknown"
