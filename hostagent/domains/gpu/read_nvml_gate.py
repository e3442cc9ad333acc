"""Decides whether NVML may be called, and from which root: the host's, or a driver container's."""

import errno
import os
import stat

from hostagent.core.tables.platforms import OPERATOR_DRIVER
from hostagent.core.unread import Unread
from hostagent.host.files import Files, unread
from hostagent.host.paths import Root

CONTROL = "/dev/nvidiactl"
_MAJOR = 195  # of the driver's devices; opening another device can do things


def gate(files: Files, root: Root) -> "Unread | None":
    """Why NVML must not be called; None if it may. Initialising it without a loaded module creates device nodes and
    runs nvidia-modprobe, which loads the module: a check must do neither.
    """
    state = files.read("/sys/module/nvidia/initstate")
    if isinstance(state, Unread):
        return Unread("absent", "the nvidia module is not loaded") if state.why == "absent" else state
    if state.strip() != b"live":
        return Unread("absent", f"the nvidia module is not live: {state.decode('ascii', 'replace').strip()}")
    return usable(driver_root(root))


def driver_root(root: Root) -> Root:
    """The root of library and nodes: the host, or the driver container if the host has no control device."""
    if not root.exists(CONTROL) and root.exists(f"{OPERATOR_DRIVER}{CONTROL}"):
        return root.below(OPERATOR_DRIVER)
    return root


def usable(root: Root) -> "Unread | None":
    """Why the control device cannot be used; None if it exists and this process may open it."""
    try:
        place = root.open(CONTROL, os.O_PATH)
        try:
            found = os.fstat(place)
            if not stat.S_ISCHR(found.st_mode):
                return Unread("absent", f"{CONTROL} is no character device")
            if os.major(found.st_rdev) != _MAJOR:
                return Unread("error", f"{CONTROL} is a device of major {os.major(found.st_rdev)}, wanted {_MAJOR}")
            os.close(root.reopen(place, CONTROL, os.O_RDWR))
        finally:
            os.close(place)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return Unread("absent", f"no {CONTROL}")
        if error.errno in (errno.EPERM, errno.EACCES):  # NVML would return "unknown error" (999)
            return unread(error, CONTROL)
    return None
