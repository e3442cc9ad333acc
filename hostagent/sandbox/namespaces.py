"""Kernel namespaces for processes that must leave nothing behind: a namespace ends with its last or first process.

unshare(2), setns(2), mount(2) and mount_setattr(2) by ctypes: Python has names for the first two from 3.12 on.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterator

from hostagent.core.answers import MIB

_MOUNT, _IPC, _USER, _PID, _NET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x4000, 0x40000
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID = 1, 2
#: The number of mount_setattr(2), which came with Linux 5.12.
_MOUNT_SETATTR = {"x86_64": 442, "aarch64": 442}
#: Directories of every system that a program does not need; the first has the sockets of services.
_PLACES = ("/run", "/tmp", "/mnt")  # noqa: S108  no file is created in them


@contextlib.contextmanager
def first_of_its_numbers() -> Iterator[None]:
    """A child forked in this block is process 1 of its own pid namespace: its death ends all processes that it started.

    Without effect for an ordinary user, and where the kernel refuses.
    """
    libc = ctypes.CDLL(None)
    try:
        before = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # no /proc
        yield
        return
    try:
        has_left = os.geteuid() == 0 and libc.unshare(_PID) == 0
        try:
            yield
        finally:
            if has_left:
                libc.setns(before, _PID)
    finally:
        os.close(before)


def be_alone() -> bool:
    """Enter new mount, network and IPC namespaces. False where the kernel refuses; then end this process.

    An ordinary user needs a user namespace for it that maps only its own id. AppArmor may refuse to write that map after the namespace
    was created; then this process has no id in it.
    """
    uid, gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None)
    if libc.unshare(_MOUNT | _NET | _IPC | (_USER if uid else 0)) != 0:
        return False
    return (not uid or _is_itself(uid, gid)) and libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None) == 0


def own_mounts() -> None:
    """Enter a private mount namespace. Raises ``OSError``."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_MOUNT) != 0 or libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def enter_network_namespace(descriptor: int) -> None:
    """Enter this network namespace with the current thread, setns(2).

    Raises ``OSError`` without CAP_SYS_ADMIN, and for a descriptor of anything else.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _NET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _is_itself(uid: int, gid: int) -> bool:
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "wb") as stream:
                stream.write(text.encode())
    except OSError:
        return False
    return True


def write_nowhere() -> None:
    """Make all mounts read-only for this process, which must be alone (`be_alone`); no effect before Linux 5.12."""
    number = _MOUNT_SETATTR.get(os.uname().machine)
    attributes = (ctypes.c_uint64 * 4)(_ATTR_RDONLY | _ATTR_NOSUID, 0, 0, 0)  # to set, to clear, propagation, user namespace
    if number:
        ctypes.CDLL(None).syscall(number, _AT_FDCWD, b"/", _AT_RECURSIVE, ctypes.byref(attributes), ctypes.sizeof(attributes))


def private_directory(size: int) -> str:
    """Mount a tmpfs of at most `size` bytes over an existing directory, writable for every user; only this mount namespace sees it.

    "" where it cannot be mounted. For a process that is alone and imports nothing more: it may hide its modules.
    """
    options = f"size={size // MIB}m,nr_inodes=64,mode=1777".encode()
    libc = ctypes.CDLL(None)
    for place in _PLACES:
        if os.path.isdir(place) and libc.mount(b"hostagent", place.encode(), b"tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, options) == 0:
            return place
    return ""
