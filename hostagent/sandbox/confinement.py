"""What a program that reads somebody else's file may do: read, in bounded memory and time."""

import os
import resource

from hostagent.core.answers import MIB
from hostagent.sandbox import landlock
from hostagent.sandbox.privileges import SANDBOX_USER, forbid_new_privileges, keep_only, limit

#: systemd's table of numbers of users and groups calls these unused: no distribution, service or container has one of them.
_UNUSED = range(1879048192, 2147483647)
#: Bytes of addresses and of one file; the numbers are for a shell, which rpm's macros start.
_LIMITS = {
    resource.RLIMIT_AS: 512 * MIB,
    resource.RLIMIT_FSIZE: 64 * MIB,
    resource.RLIMIT_NOFILE: 256,
    resource.RLIMIT_CORE: 0,
}
_MOST_PROCESSES = 16


def unused_user() -> int:
    """The number of a user and a group that nobody else is; where it is not mapped to, one that is nobody's but ours.

    Not nobody's own: processes that run as nobody may signal and trace each other, and share a limit of processes.
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
    """Limits, no rights, no new ones, for a process that becomes another program. Raises ``OSError`` where that is refused.

    `user` is the number from `nobody`; 0 leaves the user as it is: an ordinary one, or root where no other can be had, who then has no
    capability and, where the kernel has Landlock, writes below `place` alone. Whom this process dies with is forgotten.
    """
    limits = {**_LIMITS, resource.RLIMIT_CPU: int(seconds) + 2}
    if user in _UNUSED:  # others' processes would count
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
