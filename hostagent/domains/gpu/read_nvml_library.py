"""Loads NVML's library, in the sandbox and from the right root."""

import contextlib
import ctypes
import os
import re
from typing import Any

from hostagent.core.tables import libraries, platforms
from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_nvml_gate import usable
from hostagent.host import host_binaries
from hostagent.host.paths import Root
from hostagent.sandbox.library_sandbox import enter
from hostagent.sandbox.worker_spec import Rights

LIBRARY = "libnvidia-ml.so.1"
DIRECTORIES = (*libraries.SYSTEM, *libraries.OF_THE_DRIVER, *dict.fromkeys(place for row in platforms.ROWS for place in row.directories))
#: The linker's cache ends with its strings (ld.so(8), glibc's dl-cache.h): names and their paths.
_CACHE, _CACHED = "/etc/ld.so.cache", re.compile(rb"\0(/[^\0]+/libnvidia-ml\.so\.1)(?=\0)")


class Loader:
    """Loads it once: `enter` first, then `load`. Modules that both need are imported before."""

    def __init__(self, root: Root, rights: Rights) -> None:
        self._root = root
        self._rights = rights
        self._paths: list[str] = []
        self._problem = Unread("absent", f"12 no {LIBRARY} in the library directories")

    def enter(self) -> "dict[str, Any] | Unread":
        """Enters the library's root and the sandbox; returns the sandbox's restrictions, or why nothing may be loaded.

        The process changes its root, so that the library finds the host's devices and its own parts; parts of the C library are
        loaded before. Without the capability, only the library is loaded from below that root.
        """
        root, simulated = self._root, self._root.simulated
        found, refused = host_binaries.libraries(root, LIBRARY, DIRECTORIES)
        if refused:
            self._problem = Unread("error", f"12 {LIBRARY} is not loaded: {refused}")
        if root.path != "/":
            for needed in ("libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"):
                with contextlib.suppress(OSError):
                    ctypes.CDLL(needed)
            try:
                root.enter()
            except PermissionError:
                # The library will open /dev as this process sees it, and create what it misses there.
                problem = usable(Root("/"))
                if problem is not None:
                    return problem
                found = [f"{root.path}{root.realpath(path)}" for path in found]
        by_name = root.path == "/"  # this machine's loader finds its own
        linked = [path for path in _linker_paths() if by_name and os.path.exists(path)]
        sandbox = enter(self._rights, [*linked, *found], simulated=simulated)
        if isinstance(sandbox, Unread):
            return Unread(sandbox.why, f"NVML is not loaded: {sandbox.detail}")
        self._paths = [*([LIBRARY] if by_name else []), *found]
        return sandbox.plain()

    def load(self, pynvml: Any) -> "Unread | None":
        """Sets the host's library in pynvml, which otherwise loads one by name."""
        problem = self._problem
        for path in self._paths:
            try:
                pynvml.nvmlLib = ctypes.CDLL(path)
            except OSError as error:
                if path != LIBRARY or "No such file" not in str(error):
                    problem = Unread("error", f"12 {error}")
            else:
                return None
        return problem


def _linker_paths() -> list[str]:
    """The library's paths by which the linker finds it by name."""
    found = [f"{directory}/{LIBRARY}" for directory in os.environ.get("LD_LIBRARY_PATH", "").split(":") if directory]
    with contextlib.suppress(OSError), open(_CACHE, "rb") as stream:
        found += [os.fsdecode(path) for path in _CACHED.findall(stream.read())]
    return found
