"""Confines a program that parses untrusted files: read-only, with limits on memory and time."""

import os
import resource

from hostagent.core.answers import MIB
from hostagent.sandbox import landlock
from hostagent.sandbox.privileges import SANDBOX_USER, forbid_new_privileges, keep_only, limit

#: User and group ids that systemd's table (UIDS-GIDS.md) lists as unused: no distribution, service or container has one.
_UNUSED = range(1879048192, 2147483647)
#: Bytes of address space and of one file. The limits leave room for a shell, which rpm's macros start.
_LIMITS = {
    resource.RLIMIT_AS: 512 * MIB,
    resource.RLIMIT_FSIZE: 64 * MIB,
    resource.RLIMIT_NOFILE: 256,
    resource.RLIMIT_CORE: 0,
}
_MOST_PROCESSES = 16


def unused_user() -> int:
    """A random unused user and group id; `SANDBOX_USER` where this user namespace does not map it.

    Not the user "nobody": its processes may signal and trace each other, and share a process limit.
    """
    number = _UNUSED[int.from_bytes(os.urandom(4), "little") % len(_UNUSED)]
    return number if all(_is_mapped(number, f"/proc/self/{kind}_map") for kind in ("uid", "gid")) else SANDBOX_USER


def _is_mapped(number: int, path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            rows = [[int(field) for field in line.split()] for line in stream]
    except (OSError, ValueError):
        return False
    return any(start <= number < start + count for start, _, count in rows)


def confine(user: int, seconds: float, place: str) -> None:
    """Set limits and drop all privileges before execve(2). Raises ``OSError`` where the kernel refuses.

    `user`: an id from `unused_user`; 0 keeps the user. Root then keeps no capability and, where the kernel has Landlock, writes only
    below `place`. The kernel resets PR_SET_PDEATHSIG.
    """
    limits = {**_LIMITS, resource.RLIMIT_CPU: int(seconds) + 2}
    if user in _UNUSED:  # with a shared user, its other processes would count
        limits[resource.RLIMIT_NPROC] = _MOST_PROCESSES
    limit(limits)
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    elif os.geteuid() == 0 and keep_only(()):
        raise PermissionError("capabilities cannot be given up")
    if not forbid_new_privileges():
        raise PermissionError("no_new_privs is refused")
    if os.geteuid() == 0:
        landlock.write_below([*filter(None, [place]), os.devnull])
