"""Processes of the daemons that matter here, by psutil; and listening sockets."""

import os
import re
from typing import Any

from hostagent.facts.unread import Unread
from hostagent.source.base import MIB, Answer
from hostagent.source.files import unread
from hostagent.source.paths import Root

#: Names as /proc/<pid>/comm cuts them: 15 characters.
NAMES = frozenset(
    name[:15]
    for name in (
        "containerd", "dockerd", "crio", "kubelet", "k3s-server", "k3s-agent", "k3s", "rke2", "microk8s", "k0s",
        "nvidia-persistenced", "nv-fabricmanager", "nvidia-imex", "nvlsm", "nv-hostengine",
        "chronyd", "ntpd", "ntpsec", "systemd-timesyncd", "ptp4l", "phc2sys", "vmtoolsd", "VBoxService", "openntpd",
        "apt-get", "apt", "dpkg", "unattended-upgr", "dnf", "yum", "zypper", "packagekitd", "slurmd",
    )
)  # fmt: skip
_SOCKETS_BYTES = 16 * MIB
_SECRET = re.compile(r"(?i)(token|password|passwd|secret|apikey|api-key)")


def processes(root: Root) -> Answer:
    """pid, name, argv and started_at (seconds since the epoch) of each daemon of `NAMES`, by pid."""
    psutil = _psutil(root)
    rows: list[dict[str, Any]] = []
    candidates = _candidates(root)
    if isinstance(candidates, Unread):
        return candidates
    for pid in candidates:
        try:
            process = psutil.Process(pid)
            argv = [_without_secret(part) for part in process.cmdline()]
            rows.append({"pid": pid, "name": process.name(), "argv": argv, "started_at": process.create_time()})
        except (psutil.Error, OSError, ValueError, IndexError, KeyError):
            continue  # it ended while we looked
    return rows


def sockets(root: Root) -> Answer:
    """Paths of listening unix sockets, of the network namespace of process 1.

    psutil reads /proc/net/unix, which below a host root is this process's own namespace, and drops the listening flag.
    """
    path = next((path for path in (f"{root.path.rstrip('/')}/proc/{name}net/unix" for name in ("1/", "")) if os.path.exists(path)), "")
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return [{"path": name} for name in parse_listening(stream.read(_SOCKETS_BYTES))]
    except OSError as error:
        return unread(error, "/proc/net/unix")


def parse_listening(text: str) -> "list[str]":
    """Paths of /proc/net/unix whose socket accepts connections: __SO_ACCEPTCON in the flags (proc_net(5)).

    >>> parse_listening(f"Num RefCount Protocol Flags Type St Inode Path{chr(10)}0: 00000002 00000000 00010000 0001 01 12 /run/a.sock")
    ['/run/a.sock']
    """
    rows = (line.split(None, 7) for line in text.splitlines()[1:])
    return sorted({row[7] for row in rows if len(row) == 8 and row[3] == "00010000"})


def _psutil(root: Root) -> Any:
    import psutil

    psutil.PROCFS_PATH = root.path.rstrip("/") + "/proc"
    return psutil


def _candidates(root: Root) -> "list[int] | Unread":
    """Process ids by name alone: asking psutil about each of some thousand kernel threads would take a second."""
    proc = root.path.rstrip("/") + "/proc"
    found = []
    try:
        entries = os.listdir(proc)
    except OSError as error:
        return Unread("denied" if isinstance(error, PermissionError) else "absent", f"/proc: {error.strerror}")
    for entry in entries:
        if entry.isdigit():
            try:
                descriptor = os.open(f"{proc}/{entry}/comm", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                if os.read(descriptor, 64).decode("utf-8", "replace").strip() in NAMES:
                    found.append(int(entry))
            except OSError:
                continue
            finally:
                os.close(descriptor)
    return sorted(found)


def _without_secret(argument: str) -> str:
    """A command line is evidence, what follows ``--token=`` is not."""
    name, separator, _ = argument.partition("=")
    return f"{name}=<removed>" if separator and _SECRET.search(name) else argument
