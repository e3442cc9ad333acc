"""What all processes of the host share, and how much of it is used: process ids, threads, files, connections, memory."""

# By the kernel: /proc/loadavg counts the threads of all PID namespaces, /proc/sys/fs is the host's everywhere. Connections are those of
# the network namespace of process 1 where nf_conntrack lists them, else of this process. /proc/sys/net/ipv4/neigh/default/gc_thresh3 is
# in the first network namespace alone. Not read: inotify and keys (counted by user, and listed for no other), SysV shared memory.

from collections.abc import Callable, Iterator
from typing import Any

from hostagent.core.answers import KIB
from hostagent.core.retention import WHOLE
from hostagent.core.unread import NOT_APPLICABLE, Unread, then
from hostagent.facts.host import HostLimits, Limit
from hostagent.host.source import Source
from hostagent.host.values import line_in, number_in

_KERNEL, _FILES = "/proc/sys/kernel", "/proc/sys/fs/file-nr"
_CONNECTIONS, _CONNECTION_STATS = "/proc/sys/net/netfilter/nf_conntrack_{}", "/proc/1/net/stat/nf_conntrack"
_NEIGHBOURS = {"ARP": ("ipv4", "/proc/1/net/stat/arp_cache"), "IPv6": ("ipv6", "/proc/1/net/stat/ndisc_cache")}
#: A limit of its own: another question than the one for MemTotal alone.
_MEMINFO_BYTES = 64 * KIB
#: Control groups (version 2) below which containers and jobs start, or the daemons that start them.
_GROUPS = (
    *("kubepods.slice", "kubepods", "system.slice", "system.slice/containerd.service", "system.slice/docker.service"),
    *("system.slice/crio.service", "system.slice/kubelet.service", "system.slice/k3s.service", "system.slice/k3s-agent.service"),
    *("system.slice/rke2-server.service", "system.slice/rke2-agent.service", "system.slice/k0scontroller.service"),
    *("system.slice/k0sworker.service", "system.slice/microshift.service", "system.slice/snap.microk8s.daemon-containerd.service"),
    *("system.slice/snap.microk8s.daemon-kubelet.service", "system.slice/snap.microk8s.daemon-kubelite.service"),
    *("system.slice/slurmd.service", "system.slice/slurmstepd.scope"),
)
#: A value that means "no limit": file-max of systemd is the largest number of 64 bits.
_ENDLESS = 2**62


def read_limits(source: Source, known: Callable[[type], Any]) -> HostLimits:
    shm = source.statvfs("/dev/shm")  # noqa: S108  the path itself is evaluated
    memory = then(source.text("/proc/meminfo", _MEMINFO_BYTES, keep=WHOLE), parse_meminfo)
    return HostLimits(
        limits=_limits(source),
        shm_total_bytes=then(shm, lambda one: one.total_bytes),
        shm_free_bytes=then(shm, lambda one: one.free_bytes),
        memory_total_bytes=_of(memory, "MemTotal"),
        memory_free_bytes=_of(memory, "MemFree"),
        memory_available_bytes=_of(memory, "MemAvailable"),
        memory_inactive_file_bytes=_of(memory, "Inactive(file)"),
        swap_total_bytes=_of(memory, "SwapTotal"),
        swap_free_bytes=_of(memory, "SwapFree"),
    )


def _of(memory: "dict[str, int] | Unread", name: str) -> "int | Unread":
    return then(memory, lambda those: those.get(name, Unread("absent", f"/proc/meminfo has no {name}")))


def parse_meminfo(text: str) -> dict[str, int]:
    r"""Bytes by name (proc_meminfo(5)).

    >>> parse_meminfo("MemTotal:       32 kB\nSwapFree: 1 kB\nHugePages_Total: 4\n")
    {'MemTotal': 32768, 'SwapFree': 1024}
    """
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[2] == "kB" and words[1].isascii() and words[1].isdecimal() and len(words[1]) < 18:
            found[words[0].rstrip(":")] = int(words[1]) * 1024
    return found


def _limits(source: Source) -> "tuple[Limit, ...] | Unread":
    """Those that exist here, also where a part of one could not be read; the first gap where none does."""
    found: list[Limit | Unread] = [*_processes(source), _files(source), _connections(source), *_neighbours(source), *_groups(source)]
    read = tuple(one for one in found if not isinstance(one, Unread))
    return read or next((one for one in found if isinstance(one, Unread)), Unread("absent", "no limit is known here"))


def _limit(name: str, setting: str, used: "int | Unread", most: "int | Unread") -> "Limit | Unread":
    """Unread where this kernel does not have it, or it has no end."""
    if isinstance(most, int) and not 0 < most < _ENDLESS:
        return Unread("absent", f"{setting} is no limit")
    gone = next((one for one in (used, most) if isinstance(one, Unread) and one.why in NOT_APPLICABLE), None)
    return Limit(name, setting, used, most) if gone is None else gone


def _processes(source: Source) -> "Iterator[Limit | Unread]":
    threads = then(line_in(source, "/proc/loadavg"), parse_threads)
    for name, setting in (("process ids", f"{_KERNEL}/pid_max"), ("threads", f"{_KERNEL}/threads-max")):
        yield _limit(name, setting, threads, number_in(source, setting))


def parse_threads(text: str) -> "int | Unread":
    """Threads of the whole host in /proc/loadavg.

    >>> parse_threads("0.20 0.18 0.12 1/4100 11206")
    4100
    """
    _, slash, total = text[:200].partition("/")
    word = "".join(total.split()[:1])
    if not slash or not word.isascii() or not word.isdecimal() or len(word) > 18:
        return Unread("error", f"/proc/loadavg says {text[:40]!r}")
    return int(word)


def _files(source: Source) -> "Limit | Unread":
    numbers = then(line_in(source, _FILES), parse_numbers)
    if not isinstance(numbers, Unread) and len(numbers) != 3:
        numbers = Unread("error", f"{_FILES} has {len(numbers)} numbers, wanted 3")
    used, most = then(numbers, lambda those: those[0] - those[1]), then(numbers, lambda those: those[2])
    return _limit("open files", "/proc/sys/fs/file-max", used, most)


def parse_numbers(text: str) -> tuple[int, ...]:
    r"""Decimal numbers between white space, those of file-nr (proc_sys_fs(5)).

    >>> parse_numbers("4896\t0\t9223372036854775807\n")
    (4896, 0, 9223372036854775807)
    """
    return tuple(int(word) for word in text[:200].split() if word.isascii() and word.isdecimal() and len(word) < 20)


def _connections(source: Source) -> "Limit | Unread":
    most = number_in(source, _CONNECTIONS.format("max"))
    if isinstance(most, Unread):
        return _limit("tracked connections", "/proc/sys/net/netfilter/nf_conntrack_max", most, most)
    listed = then(source.text(_CONNECTION_STATS, keep=WHOLE), lambda text: parse_statistics(text, "entries"))
    used = number_in(source, _CONNECTIONS.format("count")) if isinstance(listed, Unread) else listed
    return _limit("tracked connections", "/proc/sys/net/netfilter/nf_conntrack_max", used, most)


def parse_statistics(text: str, column: str, *, add: bool = False) -> "int | Unread":
    r"""A column of a table with a row for each CPU, in hexadecimal (Linux, net/core/neighbour.c): of its first row, or all added.

    >>> parse_statistics("entries  allocs table_fulls\n0000000a  00000010 00000001\n0000000a 00000000 00000002\n", "table_fulls", add=True)
    3
    """
    head, *rows = [line.split() for line in text.splitlines()] or [[]]
    if column not in head:
        return Unread("absent", f"no column {column}")
    place = head.index(column)
    cells = [row[place] for row in rows if len(row) > place]
    try:
        values = [int(cell, 16) for cell in cells if len(cell) <= 16]
    except ValueError:
        return Unread("error", f"column {column} is no number")
    return (sum(values) if add else values[0]) if values else Unread("absent", "no row")


def _neighbours(source: Source) -> "Iterator[Limit | Unread]":
    """Entries of all network namespaces; where none was ever refused, permanent ones fill the table, which count in no limit."""
    for name, (family, statistics) in _NEIGHBOURS.items():
        setting = f"/proc/sys/net/{family}/neigh/default/gc_thresh3"
        most = number_in(source, setting)
        text = source.text(statistics, keep=WHOLE)
        refused = then(text, lambda one: parse_statistics(one, "table_fulls", add=True))
        used = then(text, lambda one: parse_statistics(one, "entries"))
        has_refused = not isinstance(refused, Unread) and refused > 0
        yield _limit(f"{name} neighbours", setting, used if has_refused or isinstance(used, Unread) else 0, most)


def _groups(source: Source) -> "Iterator[Limit | Unread]":
    for name in _GROUPS:
        setting = f"/sys/fs/cgroup/{name}/pids.max"
        most = line_in(source, setting)
        if isinstance(most, Unread):
            yield _limit(f"tasks of {name}", setting, most, most)
        elif most != "max":
            yield _limit(f"tasks of {name}", setting, number_in(source, f"/sys/fs/cgroup/{name}/pids.current"), number_in(source, setting))
