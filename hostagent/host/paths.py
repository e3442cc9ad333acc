"""Paths of a host with its root at any directory: every look-up stays inside that root, also while its files are changed.

A path is looked up below a descriptor of the root (`hostagent.host.lookup`). The result is a descriptor, never another path, which
could lead elsewhere at the next look-up.
"""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import closing
from functools import cached_property

from hostagent.host.walk import Walk

#: The kernel's suffix for a path that was removed.
_DELETED = " (deleted)"
#: Opens a path below a directory: (descriptor of that directory, path, flags).
LookUp = Callable[[int, str, int], int]


class Root:
    """The root of a host. At ``/`` the kernel resolves paths without further care.

    Methods with a path raise ``OSError``, and ``ValueError`` for an invalid path.
    """

    def __init__(self, path: str = "/", look_up: "LookUp | None" = None, *, outer: "Root | None" = None) -> None:
        """`look_up`: by default `by_kernel`. `outer`: another root, in which `path` is looked up."""
        self.path: str = os.path.realpath(path) if outer is None else os.path.join(outer.path, path.lstrip("/"))
        self._look_up = look_up
        self._outer = outer
        self._inside = path
        self._owner = 0  # the process that opened the descriptors: a child has closed those of its parent
        self._descriptors: dict[str, int] = {}

    def __del__(self) -> None:
        if self._owner == os.getpid():
            for descriptor in self._descriptors.values():
                os.close(descriptor)

    def open(self, path: str, flags: int = os.O_RDONLY, *, follow: bool = True) -> int:
        """A descriptor of `path` by the flags of the system call, closed on exec.

        Open with ``O_PATH``, check, then `reopen`: opening a device can have effects, opening a FIFO can block.
        """
        flags |= os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        if self.path == "/":
            return os.open(path, flags)
        if "\0" in path:
            raise ValueError("embedded null byte")
        if self._look_up is None:  # lazy: not needed for /
            from hostagent.host.lookup import by_kernel

            self._look_up = by_kernel
        return self._look_up(self._directory("/"), path, flags)

    def reopen(self, place: int, path: str, flags: int = os.O_RDONLY) -> int:
        """Open the same file as the descriptor `place` (``O_PATH``) of `path` with other flags."""
        flags |= os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        try:
            return os.open(f"/proc/self/fd/{place}", flags)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.lexists(f"/proc/self/fd/{place}"):
                raise
        descriptor = self.open(path, flags)  # without /proc
        if not os.path.samestat(os.fstat(descriptor), os.fstat(place)):
            os.close(descriptor)
            raise OSError(errno.ESTALE, "changed while it was looked at")
        return descriptor

    def open_device(self, path: str, major: int, minor: int, flags: int = os.O_RDONLY) -> int:
        """`open` for the character device of these numbers, or a regular file of a simulated tree. Anything else is ENXIO."""
        place = self.open(path, os.O_PATH)
        try:
            found = os.fstat(place)
            is_stand_in = stat.S_ISREG(found.st_mode) and self.simulated
            if not is_stand_in and (stat.S_IFMT(found.st_mode), found.st_rdev) != (stat.S_IFCHR, os.makedev(major, minor)):
                raise OSError(errno.ENXIO, f"not the character device {major}:{minor}")
            return self.reopen(place, path, flags)
        finally:
            os.close(place)

    def exists(self, path: str) -> bool:
        """Whether `path` exists and is visible to this process."""
        try:
            os.close(self.open(path, os.O_PATH))
        except OSError:
            return False
        return True

    def realpath(self, path: str) -> str:
        """`path` of the host with every link resolved; it must exist."""
        if self.path == "/":
            return os.path.realpath(path, strict=True)
        return self._kernel_name(path) or self._walk(path)

    def _kernel_name(self, path: str) -> str:
        """The kernel's path of the opened file; "" if that is not below this root: a part was moved or removed meanwhile, there is no
        /proc, or this root has no path here.
        """
        place = self.open(path, os.O_PATH)
        try:
            name = os.readlink(f"/proc/self/fd/{place}")
        except OSError:
            return ""
        finally:
            os.close(place)
        prefix = self.path.rstrip("/")
        is_below = (name + "/").startswith(prefix + "/") and not name.endswith(_DELETED)
        return (name[len(prefix) :] or "/") if is_below else ""

    def _walk(self, path: str) -> str:
        with closing(Walk(self._directory("/"))) as walk:
            os.close(walk.open(path, os.O_PATH))
            return walk.place

    def below(self, path: str) -> "Root":
        """The directory at `path` of the host, as a root of its own."""
        return Root(path, self._look_up, outer=self)

    def enter(self) -> None:
        """Change the root of this process to it, by chroot(2)."""
        if self.path != "/":
            os.fchdir(self._directory("/"))
            try:
                os.chroot(".")
            finally:
                os.chdir("/")

    @cached_property
    def simulated(self) -> bool:
        """Whether it is a tree and no live host: its /proc and /sys are not the kernel's."""
        if self._outer:
            return self._outer.simulated
        if self.path == "/":
            return False
        from hostagent.sandbox.syscalls import PROCFS, SYSFS

        return not (self._is_on("/proc", PROCFS) and self._is_on("/sys", SYSFS))

    def untrusted(self, path: str) -> str:
        """Why `path` must be neither run nor loaded; "" where only root may write every part of it, links resolved."""
        if self._outer and (why := self._outer.untrusted(self._inside)):
            return why
        with closing(Walk(self._directory("/"), _refuse_others)) as walk:
            try:
                os.close(walk.open(path, os.O_PATH))
            except _UntrustedError as error:
                return str(error)
        return ""

    def _directory(self, path: str) -> int:
        """A cached descriptor of a directory."""
        if self._owner != os.getpid():
            self._owner, self._descriptors = os.getpid(), {}
        if path not in self._descriptors:
            flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
            if path != "/":
                self._descriptors[path] = self.open(path, flags)
            elif self._outer:
                self._descriptors[path] = self._outer.open(self._inside, flags)
            else:
                self._descriptors[path] = os.open(self.path, flags)
        return self._descriptors[path]

    def _is_on(self, path: str, kind: int) -> bool:
        from hostagent.sandbox.syscalls import kind_of_file_system

        try:
            return kind_of_file_system(self._directory(path)) == kind
        except OSError:
            return False


class _UntrustedError(Exception):
    """A user other than root may write to a part of the path."""


def _refuse_others(found: os.stat_result, path: str) -> None:
    """A sticky directory is refused, too: any user may create a free name in it."""
    if found.st_uid != 0:
        raise _UntrustedError(f"{path} belongs to user {found.st_uid}, wanted root")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _UntrustedError(f"{path} may be written by others than root (mode {stat.S_IMODE(found.st_mode):o})")
