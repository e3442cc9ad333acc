"""libibverbs: the root that it is loaded from, its providers, and its sandbox."""

# libibverbs asks netlink for devices first, which can load modules (rdma-netlink-subsys-*), and falls back to sysfs where the
# socket is refused. uverbs nodes are 0666 by the kernel. Their major 231 is that of umad and issm too, so nodes are allowed by
# the numbers in /sys/class/infiniband_verbs/*/dev.
# Measured with tests/stub_verbs and Debian 12's libibverbs 44 with all providers: a made card is listed, its provider loaded, its
# node opened without a capability (ENXIO, no driver), with CAP_DAC_OVERRIDE alone where the node is 0600; without devices
# ibv_get_device_list is ENOSYS, an error and so unknown. Not measured: a card; what ibv_open_device of mlx5 asks of the kernel
# was read, not run.

import contextlib
import ctypes
import os
import re
from typing import Any

from hostagent.core.tables import libraries
from hostagent.core.unread import Unread
from hostagent.host import host_binaries
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.sandbox.library_sandbox import enter
from hostagent.sandbox.worker_spec import Rights

LIBRARY = "libibverbs.so.1"
#: Names of providers, each in a line of a file of this directory (rdma-core, Documentation/libibverbs.md): "driver mlx5", or a path.
_SETTINGS, _DRIVER = "/etc/libibverbs.d", re.compile(rb"(?m)^\s*driver\s+(/\S+)")
#: Where it looks for the providers, next to itself.
_PROVIDERS = "libibverbs"
#: What older C libraries keep apart.
_OF_C = ("libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1")


class Loader:
    """Loads it once: `enter` first, then `load`. What both need is imported before."""

    def __init__(self, files: Files, root: Root, rights: Rights) -> None:
        self._files = files
        self._root = root
        self._rights = rights
        self._paths: list[str] = []

    def enter(self) -> "dict[str, Any] | Unread":
        """Enter the library's root and the sandbox; returns the limits in force, or why nothing may be loaded.

        The environment is cleared: IBV_DRIVERS would let the caller choose what is loaded.
        """
        simulated = self._root.simulated
        found, refused = host_binaries.libraries(self._root, LIBRARY, (*libraries.SYSTEM, *libraries.LOCAL))
        if not found:
            return Unread("error", f"{LIBRARY} is not loaded: {refused}") if refused else Unread("absent", f"no {LIBRARY} on this host")
        # the linker's cache may name /lib for /usr/lib
        found = [*dict.fromkeys(f"{self._root.realpath(os.path.dirname(path))}/{LIBRARY}" for path in found)]
        loaded = [*found, *self._providers(found)]
        stranger = next(filter(None, map(self._root.untrusted, loaded)), "")
        if stranger:
            return Unread("error", f"{LIBRARY} is not loaded: {stranger}")
        os.environ.clear()
        if self._root.path != "/":
            for needed in _OF_C:
                with contextlib.suppress(OSError):
                    ctypes.CDLL(needed)
            try:
                self._root.enter()
            except PermissionError:
                return Unread("denied", f"{LIBRARY} is not loaded: it finds its providers only where it belongs, and chroot(2) is denied")
        limits = enter(self._rights, [path for path in loaded if not path.startswith(_SETTINGS)], simulated=simulated)
        if isinstance(limits, Unread):
            return Unread(limits.why, f"{LIBRARY} is not loaded: {limits.detail}")
        self._paths = found
        return limits.plain()

    def load(self) -> "tuple[str, ctypes.CDLL] | Unread":
        """The path that was loaded, and the library."""
        problem = ""
        for path in self._paths:
            try:
                return path, ctypes.CDLL(path, use_errno=True)
            except OSError as error:
                problem = str(error)
        return Unread("error", problem)

    def _providers(self, found: list[str]) -> list[str]:
        """Files that the library itself will read and load."""
        settings = self._paths_in(_SETTINGS)
        named = [os.fsdecode(name) for path in settings for name in _DRIVER.findall(self._content(path))]
        directories = dict.fromkeys(f"{os.path.dirname(path)}/{_PROVIDERS}" for path in found)
        near = [path for directory in directories for path in self._paths_in(directory)]
        elsewhere = [path for name in named for path in self._paths_in(os.path.dirname(name)) if path.startswith(f"{name}-rdmav")]
        return [*settings, *near, *elsewhere]

    def _paths_in(self, directory: str) -> list[str]:
        names = self._files.list(directory)
        return [] if isinstance(names, Unread) else [f"{directory}/{name}" for name in names]

    def _content(self, path: str) -> bytes:
        content = self._files.read(path)
        return content if isinstance(content, bytes) else b""
