"""Rights that the worker gives up before NVML is loaded, so that asking changes nothing on the host.

Measured with NVIDIA's library (550.163.01) under strace: at each nvmlInit by root it sets mode and owner of
/dev/nvidiactl to what the driver's params say, removes and remakes the link /dev/char/195:255, and makes nodes that are
missing; for an ordinary user it runs the setuid nvidia-modprobe, which does the same and loads modules.
"""

import ctypes
import os
import signal
import stat

from hostagent.facts.unread import Unread

_PDEATHSIG, _NO_NEW_PRIVS, _CAPBSET_DROP = 1, 38, 24  # prctl(2)
_VERSION_3 = 0x20080522  # capget(2)
#: Numbers of capabilities(7).
_CHOWN, _DAC_OVERRIDE, _DAC_READ_SEARCH, _FOWNER, _FSETID, _SYS_MODULE, _MKNOD = 0, 1, 2, 3, 4, 16, 27
_NOBODY = 65534


def die_with(parent: int) -> None:
    """Ask the kernel to end this process when `parent` ends; and end it now if that happened before."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() not in (parent, 0):  # 0: its parent has no number in its namespace
        os._exit(1)


def renounce(nodes: "tuple[str, ...]") -> "Unread | None":
    """Keep the right to read everything and to open `nodes`, lose the right to make or change files.

    None when they are gone. Otherwise why not (a system call filter, a user namespace without this user), and NVML must
    not be loaded.

    The process stays root for the driver (its user id is untouched), and becomes nobody for the file system. Nodes that
    not everybody may write to need the right to override modes; then the link may be remade, and nothing else.
    """
    parent = os.getppid()
    libc = ctypes.CDLL(None)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return Unread("denied", "NVML is not loaded: the right to run setuid programs cannot be given up")
    if os.geteuid() != 0:
        return None
    dropped = [_CHOWN, _FOWNER, _FSETID, _SYS_MODULE, _MKNOD]
    if all(_open_to_all(node) for node in nodes):
        dropped.append(_DAC_OVERRIDE)
    for capability in dropped:
        libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    libc.setfsuid(_NOBODY)
    if libc.setfsuid(-1) != _NOBODY:  # it always returns the user id before, never an error
        return Unread("denied", "NVML is not loaded: the right of an owner to change files cannot be given up (setfsuid)")
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: the low halves, then the high ones
    found = libc.capget(header, sets)
    unwanted = sum(1 << capability for capability in dropped)  # all of them are in the low half
    sets[1] &= ~unwanted
    sets[0] = sets[1]  # with the file system's user id, the kernel took more than was meant
    sets[2] &= sets[1]
    libc.capset(header, sets)
    if found != 0 or libc.capget(header, sets) != 0 or (sets[0] | sets[1]) & unwanted:
        return Unread("denied", "NVML is not loaded: the right to make device nodes cannot be given up (capset)")
    die_with(parent)  # a change of credentials makes the kernel forget it
    return None


def _open_to_all(path: str) -> bool:
    try:
        return os.stat(path).st_mode & (stat.S_IROTH | stat.S_IWOTH) == stat.S_IROTH | stat.S_IWOTH
    except OSError:
        return True
