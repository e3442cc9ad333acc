"""NVML's library: from which root it is taken, in which sandbox it runs."""

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
#: The linker's cache ends in its texts (ld.so(8), glibc's dl-cache.h): names, and the paths that they lead to.
_CACHE, _CACHED = "/etc/ld.so.cache", re.compile(rb"\0(/[^\0]+/libnvidia-ml\.so\.1)(?=\0)")


class Loader:
    """Loads it once: `enter` first, then `load`. What both need is imported before."""

    def __init__(self, root: Root, rights: Rights) -> None:
        self._root = root
        self._rights = rights
        self._paths: list[str] = []
        self._problem = Unread("absent", f"12 no {LIBRARY} in the library directories")

    def enter(self) -> "dict[str, Any] | Unread":
        """Go where the library belongs, and into the sandbox: what holds there, or why nothing may be loaded.

        Below another root the process moves there, so that the library finds the host's devices and its own parts; what
        both C libraries need is loaded before. Without the capability the library alone is taken from below the root.
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
        linked = [path for path in _linked() if by_name and os.path.exists(path)]
        sandbox = enter(self._rights, [*linked, *found], simulated=simulated)
        if isinstance(sandbox, Unread):
            return Unread(sandbox.why, f"NVML is not loaded: {sandbox.detail}")
        self._paths = [*([LIBRARY] if by_name else []), *found]
        return sandbox.plain()

    def load(self, pynvml: Any) -> "Unread | None":
        """Give pynvml the host's library: it loads one by name only when it has none."""
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


def _linked() -> list[str]:
    """Where the linker would find it by its name."""
    found = [f"{directory}/{LIBRARY}" for directory in os.environ.get("LD_LIBRARY_PATH", "").split(":") if directory]
    with contextlib.suppress(OSError), open(_CACHE, "rb") as stream:
        found += [os.fsdecode(path) for path in _CACHED.findall(stream.read())]
    return found
