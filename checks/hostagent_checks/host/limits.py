"""A limit that all processes of the host share is used up: a fork, an open file or a connection fails, whichever job asks for it.

At its last process id or thread `fork` says "Resource temporarily unavailable", for the runtime, for sshd and for a job's workers alike. A
full table of tracked connections drops packets of connections that are new ("nf_conntrack: table full, dropping packet"), a full table
of neighbours makes hosts of the own network unreachable. A control group's limit of tasks ends the same way for what runs in it. A full
/dev/shm, left by jobs that were killed, is where NCCL and data loaders of the next job fail.

Close to its limit is a warning; where nothing is left, and nothing can start, it is critical. A table of neighbours counts only where
entries were refused since the boot, since permanent entries (of flannel, Cilium) have no limit. A limit that
this kernel does not have is not judged; nor are limits of a single user or container (inotify, keys, a pod's process ids). Where one
cannot be read, the others count; a refusal is worth knowing where this run has no privileges, and else leaves the check unknown.
"""

from typing import NamedTuple

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, shell, size
from hostagent.facts.host import HostLimits, Identity, Limit
from hostagent.profile import Profile

from ._rights import not_read

#: Limits at which no process can start; at the others connections are lost.
_STARTS = ("process ids", "threads", "open files", "tasks of ")

_SHM = "/dev/shm"  # noqa: S108  named alone


class Params(NamedTuple):
    """most_used: share of a limit from which it is a warning
    all_used: share from which it counts as used up
    min_shm_bytes: bytes that must be free on a /dev/shm that is used to `most_used`
    min_memory_bytes: bytes of memory that must be available where no swap is left
    """

    most_used: float = 0.95
    all_used: float = 0.995
    min_shm_bytes: int = 1_000_000_000
    min_memory_bytes: int = 268_435_456


@check(
    title="No limit that all processes share is used up",
    severity="critical",
    since="0.1",
    headline="A limit that all processes share is used up",
    remedy=(Step("configure", "Find what uses it up, or raise the limit."),),
    references=(
        "proc_sys_kernel(5)",
        "proc_sys_fs(5)",
        "Linux kernel, Documentation/networking/nf_conntrack-sysctl",
        "Linux kernel, Documentation/admin-guide/cgroup-v2",
    ),
    confirm=(
        "cat /proc/loadavg /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max  # the fourth word: running/all threads",
        "cat /proc/sys/fs/file-nr",
        "sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max",
        "df -h /dev/shm",
    ),
)
def limits(limits: HostLimits, identity: Identity | Unread, profile: Profile, params: Params) -> Findings:
    for one in () if isinstance(limits.limits, Unread) else limits.limits:
        used, most = one.used, one.most
        if isinstance(used, Unread) or isinstance(most, Unread) or used < params.most_used * most:
            continue
        is_over = used >= params.all_used * most and one.name.startswith(_STARTS)
        yield fail(
            f"{used} of {most} {one.name} are in use",
            code="used-up" if is_over else "nearly",
            found=used,
            wanted=f"< {params.most_used:.0%} of {most}",
            headline=_headline(one.name, is_over=is_over),
            remedy=_steps(one, most),
            at_most=None if is_over else "warning",
        )
    yield from _shm(limits, params)
    yield from _memory(limits, params)
    if gaps := _gaps(limits):
        yield not_read(gaps[0], "a limit of the host", identity, profile)


def _headline(name: str, *, is_over: bool) -> str:
    if name.startswith("tasks of "):
        return f"{name.removeprefix('tasks of ')} is {'at' if is_over else 'close to'} its limit of tasks"
    return f"Nothing can start: the host has no {name} left" if is_over else f"The host is running out of {name}"


def _gaps(limits: HostLimits) -> list[Unread]:
    """What could not be read, first what was not refused."""
    own = limits.limits
    numbers = [own] if isinstance(own, Unread) else [value for one in own for value in (one.used, one.most)]
    others = (limits.shm_total_bytes, limits.shm_free_bytes, limits.memory_available_bytes, limits.swap_total_bytes, limits.swap_free_bytes)
    gaps = [one for one in (*numbers, *others) if isinstance(one, Unread) and one.why not in NOT_APPLICABLE]
    return sorted(gaps, key=lambda one: one.why == "denied")


def _steps(one: Limit, most: int) -> tuple[Step, ...]:
    if one.name.startswith("tasks of "):
        group = one.name.removeprefix("tasks of ")
        return (
            Step("configure", f"Find what started so many tasks in {group}, and end it.", "systemd-cgls"),
            Step("configure", "If they are wanted: raise TasksMax= of that unit."),
        )
    if one.name in ("process ids", "threads"):
        find = "ps -eLo comm= | sort | uniq -c | sort -n | tail"
    elif one.name == "open files":
        find = "lsof -n | cut -d ' ' -f 1 | sort | uniq -c | sort -n | tail"
    else:
        find = "ss -s" if one.name == "tracked connections" else "ip -s neigh | wc -l"
    name = one.setting.removeprefix("/proc/sys/").replace("/", ".")
    return (
        Step("configure", "Find what uses them up, and end it.", find),
        Step("configure", "If so many are wanted: raise the limit.", shell("sysctl -w {}", f"{name}={_more(one.name, most)}")),
    )


def _more(name: str, most: int) -> int:
    """Twice the limit; process ids end at 2^22 (proc_sys_kernel(5))."""
    return min(2 * most, 2**22) if name == "process ids" else 2 * most


def _shm(limits: HostLimits, params: Params) -> Findings:
    total, free = _number(limits.shm_total_bytes), _number(limits.shm_free_bytes)
    if total and free is not None and total - free >= params.most_used * total and free < params.min_shm_bytes:
        yield fail(
            f"{_SHM} has {size(free)} of {size(total)} free",
            code="shared-memory",
            found=f"{size(free)} free",
            wanted=f">= {size(params.min_shm_bytes)}",
            headline=f"{_SHM} is full: shared memory of jobs fails",
            remedy=(
                Step("configure", "Remove segments that no process uses any more.", "lsof +D /dev/shm"),
                Step("configure", "Or give it more of the memory.", "mount -o remount,size=50% /dev/shm"),
            ),
            at_most="warning",
        )


def _memory(limits: HostLimits, params: Params) -> Findings:
    available, total, free = (_number(one) for one in (limits.memory_available_bytes, limits.swap_total_bytes, limits.swap_free_bytes))
    if available is None or available >= params.min_memory_bytes or (total and (free is None or free > total * (1 - params.most_used))):
        return
    yield fail(
        f"{size(available)} of memory are available, and no swap is left",
        code="memory",
        found=size(available),
        wanted=f">= {size(params.min_memory_bytes)}",
        headline="The host has no memory left",
        remedy=(
            Step(
                "drain_and_inspect",
                "Find what holds it: processes, files in memory, huge pages.",
                "grep -E 'Shmem|HugePages|Slab' /proc/meminfo",
            ),
            Step("configure", "End it, or free huge pages that nothing uses (vm.nr_hugepages)."),
        ),
        at_most="warning",
    )


def _number(value: int | Unread) -> int | None:
    return None if isinstance(value, Unread) else value
