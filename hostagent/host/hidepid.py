"""Whether /proc shows every process, or hides those of others (proc(5), hidepid)."""

import contextlib
import os
import re

from hostagent.core.tables.rights import HIDDEN_PROCESSES
from hostagent.core.unread import Unread
from hostagent.host.files import Files
from hostagent.host.paths import Root

_CAP_SYS_PTRACE = 19  # capabilities(7)


def first_process(root: Root, files: Files) -> "str | Unread":
    """The name of process 1; denied where processes are hidden: one that is not shown may still run."""
    name = files.read("/proc/1/comm", "64")
    if isinstance(name, Unread):
        if name.why not in ("absent", "denied"):
            return name
        return Unread("denied", f"process 1 is not shown: {HIDDEN_PROCESSES}, or is no host's")
    # Root without this capability sees process 1 if that lacks it, too, and yet not the processes of other users.
    if os.geteuid() == 0 and not _sees_others() and parse_hides(_own("mountinfo"), f"{root.path.rstrip('/')}/proc"):
        return Unread("denied", f"processes of other users are not shown: {HIDDEN_PROCESSES}, and CAP_SYS_PTRACE is missing")
    return str(name.decode("utf-8", "replace")).strip()


def parse_hides(mountinfo: str, place: str) -> bool:
    """Whether the procfs at `place` is mounted with hidepid (proc_pid_mountinfo(5)).

    >>> parse_hides("23 22 0:21 / /proc rw,nosuid - proc proc rw,hidepid=invisible", "/proc")
    True
    """
    rows = re.findall(r"^\S+ \S+ \S+ \S+ (\S+) .*? - proc \S+ (\S+)$", mountinfo, re.MULTILINE)
    return any("hidepid=" in options for point, options in rows if point == place)


def _sees_others() -> bool:
    found = re.search(r"^CapEff:\t([0-9a-f]+)$", _own("status"), re.MULTILINE)
    return bool(found and int(found[1], 16) >> _CAP_SYS_PTRACE & 1)


def _own(name: str) -> str:
    with contextlib.suppress(OSError), open(f"/proc/self/{name}", encoding="utf-8", errors="replace") as stream:
        return stream.read()
    return ""
