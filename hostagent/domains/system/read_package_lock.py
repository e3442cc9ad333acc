"""The holder of the package manager's lock."""

from hostagent.core.retention import WHOLE, Keep
from hostagent.core.unread import NOT_THERE, Unread
from hostagent.host.source import Source

#: Files that dpkg, apt and rpm lock with fcntl(2) while they work.
_LOCKED_FILES = (
    "/var/lib/dpkg/lock-frontend",
    "/var/lib/dpkg/lock",
    "/var/lib/rpm/.rpm.lock",
    "/usr/lib/sysimage/rpm/.rpm.lock",
)
#: Files that hold the process id of yum, dnf and zypper while they work.
_PID_FILES = (
    "/run/yum.pid",
    "/run/zypp.pid",
    "/var/lib/dnf/rpmdb_lock.pid",
    "/var/cache/dnf/download_lock.pid",
    "/var/cache/dnf/metadata_lock.pid",
)


def package_lock_holder(source: Source) -> "str | Unread":
    """``""`` if free, else "apt-get (pid 123)". Unread if a lock could not be read and no other is held."""
    doubt: Unread | None = None
    looked = False
    for path in (*_LOCKED_FILES, *_PID_FILES):
        pid = source.lock_holder(path) if path in _LOCKED_FILES else _pid_file(source, path)
        if isinstance(pid, Unread):
            if pid.why not in NOT_THERE:
                doubt = doubt if doubt is not None else pid
            continue
        looked = True
        if pid:
            return f"{_name(source, pid)} (pid {pid})"
    if doubt is not None:
        return doubt
    return "" if looked else Unread("absent", "no lock file of dpkg or rpm")


def _pid_file(source: Source, path: str) -> "int | Unread":
    """The running process in a pid file; 0 if it has ended, in which case its pid, and even its name, may belong to another process."""
    text = source.text(path, 4096, keep=Keep("head", ("64",)))
    if isinstance(text, Unread):
        return text
    word = text.strip()
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        return Unread("error", f"{path}: found {word[:20]!r}, wanted a process id")
    is_manager = _name(source, int(word)) in ("yum", "dnf", "zypper", "python3", "packagekitd", "Zypp-main")
    return int(word) if is_manager and _is_roots(source, int(word)) else 0


def _is_roots(source: Source, pid: int) -> bool:
    """Whether its real user is root: a set-user-ID program keeps the real user. Root where an older snapshot lacks it."""
    status = source.text(f"/proc/{pid}/status", keep=WHOLE)
    users = "Uid:\t0" if isinstance(status, Unread) else next((line for line in status.splitlines() if line.startswith("Uid:")), "")
    return users.split()[1:2] == ["0"]


def _name(source: Source, pid: int) -> str:
    name = source.text(f"/proc/{pid}/comm", keep=WHOLE)
    return "a process" if isinstance(name, Unread) else name.strip()
