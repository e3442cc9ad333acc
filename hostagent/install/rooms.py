"""Where the programs of a run work: mounts that nobody else sees, and that go with the last of them.

Of a live host nothing is mounted but a directory in memory for Ansible's files, which have variables and environment in them. An image
gets /proc, /sys, /dev and /run of its own, and a policy-rc.d that lets no package start a service.
"""

import contextlib
import ctypes
import os
import stat
from collections.abc import Iterator

from hostagent.errors import HostagentError
from hostagent.install.target import Target
from hostagent.source.base import MIB

_NEWNS = 0x00020000
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _PRIVATE, _SLAVE = 1, 2, 4, 8, 32, 4096, 0x4000, 0x40000, 0x80000
#: On the machine that runs hostagent.
_PRIVATE_PLACE = "/run/hostagent"
_POLICY_PATH = "/usr/sbin/policy-rc.d"
_POLICY = "#!/bin/sh\n# Made by hostagent while it installs: no service starts in an image.\nexit 101\n"
#: What programs write in an image's /proc that is the kernel's of this machine.
_KERNELS = ("sys", "sysrq-trigger", "irq", "bus")
_DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
_DEV_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}
_STUB = "/run/systemd/resolve/stub-resolv.conf"
_libc = ctypes.CDLL(None, use_errno=True)


def move_in(target: Target) -> str:
    """For a process of its own: make the mounts; the answer is an empty directory that only this process and its children see.

    Raises ``OSError`` where the kernel refuses, ``HostagentError`` for a tree that has no place for them.
    """
    if _libc.unshare(_NEWNS) != 0:
        raise _error("unshare")
    _mount("none", "/", None, _REC | _SLAVE)
    os.makedirs(_PRIVATE_PLACE, mode=0o755, exist_ok=True)
    _mount("hostagent", _PRIVATE_PLACE, "tmpfs", _NOSUID | _NODEV, f"size={256 * MIB},mode=0700")
    if target.kind == "image":
        _furnish(target)
    return _PRIVATE_PLACE


def _furnish(target: Target) -> None:
    with _place(target, "/proc") as proc:
        _mount("proc", proc, "proc", _NOSUID | _NODEV | _NOEXEC)
    with _place(target, "/proc") as proc:
        for name in _KERNELS:
            if os.path.exists(f"{proc}/{name}"):
                _mount(f"{proc}/{name}", f"{proc}/{name}", None, _BIND)
                _mount("none", f"{proc}/{name}", None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV | _NOEXEC)
    with _place(target, "/sys") as sys:
        _mount("sysfs", sys, "sysfs", _RDONLY | _NOSUID | _NODEV | _NOEXEC)
    with _place(target, "/dev") as dev:
        _mount("dev", dev, "tmpfs", _NOSUID | _NOEXEC, "mode=0755,size=4m")
    with _place(target, "/dev") as dev:
        _make_devices(dev)
    with _place(target, "/run") as run:
        _mount("run", run, "tmpfs", _NOSUID | _NODEV, "mode=0755,size=64m")
    _show_resolver(target)


def _make_devices(dev: str) -> None:
    old = os.umask(0)
    try:
        for name, numbers in _DEVICES.items():
            os.mknod(f"{dev}/{name}", 0o666 | stat.S_IFCHR, os.makedev(*numbers))
        for name, to in _DEV_LINKS.items():
            os.symlink(to, f"{dev}/{name}")
        for name in ("pts", "shm"):
            os.mkdir(f"{dev}/{name}", 0o755)
    finally:
        os.umask(old)
    _mount("devpts", f"{dev}/pts", "devpts", _NOSUID | _NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5")
    _mount("shm", f"{dev}/shm", "tmpfs", _NOSUID | _NODEV, "mode=1777,size=64m")


def _show_resolver(target: Target) -> None:
    """The image's package manager finds names as this machine does."""
    with contextlib.suppress(OSError, HostagentError):
        with open("/etc/resolv.conf", "rb") as stream:
            text = stream.read(MIB)
        place = target.inside("/etc/resolv.conf")
        if not os.path.exists(place) and place.startswith(target.inside("/run") + "/"):  # a link to what systemd-resolved makes
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as stream:
                stream.write(text)
        elif os.path.isfile(place):
            copy = f"{_PRIVATE_PLACE}/resolv.conf"
            with open(copy, "wb") as stream:
                stream.write(text)
            os.chmod(copy, 0o644)
            _mount(copy, place, None, _BIND)


@contextlib.contextmanager
def _place(target: Target, path: str) -> Iterator[str]:
    """A directory of the target, as a path that no link can lead elsewhere."""
    try:
        descriptor = target.root.open(path, os.O_PATH | os.O_DIRECTORY, follow=False)
    except OSError as error:
        raise HostagentError(f"{target.path}: found no directory {path}, wanted one to mount on", f"Make it: mkdir {target.path}{path}") from error
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _mount(source: str, place: str, kind: "str | None", flags: int, options: str = "") -> None:
    if _libc.mount(source.encode(), place.encode(), kind.encode() if kind else None, flags, options.encode() or None) != 0:
        raise _error(f"mount {kind or source}")


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


@contextlib.contextmanager
def no_services(target: Target) -> Iterator[None]:
    """In an image no package starts a service meanwhile. A policy that is there already stays as it is."""
    if target.kind != "image":
        yield
        return
    place = target.inside(_POLICY_PATH)
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o755)
    except FileExistsError:
        yield
        return
    with open(descriptor, "w", encoding="ascii") as stream:
        stream.write(_POLICY)
        os.fchmod(descriptor, 0o755)
    try:
        yield
    finally:
        allow_services(target)


def allow_services(target: Target) -> None:
    """Take the policy away, also that of a run that was killed."""
    place = target.inside(_POLICY_PATH)
    with contextlib.suppress(OSError):
        with open(place, encoding="utf-8", errors="replace") as stream:
            is_ours = stream.read(len(_POLICY) + 1) == _POLICY
        if is_ours:
            os.unlink(place)
