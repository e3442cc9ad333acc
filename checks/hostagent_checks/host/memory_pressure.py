"""The host has less memory, or fewer process ids, than the kubelet wants: the node gets MemoryPressure or PIDPressure, and takes no pods.

The kubelet compares the memory that is left with `memory.available` of `evictionHard` in its effective configuration (100Mi without a
setting), and free process ids with `pid.available`, which has no default. Below one of them it ends pods, and the scheduler places none
here. `host.disk_pressure` has the thresholds of volumes.

What is left of the memory is counted as the kubelet does: free memory and cached files that were not read again. The kernel's own estimate
(MemAvailable) must be below the threshold, too: the two differ by caches and reserves. Soft thresholds are a matter of their grace period,
and are not judged; nor is a kubelet that does not run, or whose configuration is not read.
"""

from hostagent.check import NOT_APPLICABLE, Finding, Findings, Step, Unread, check, fail, need, size, skip
from hostagent.domains.kubelet.placement.quantity import share_of, whole
from hostagent.facts.host import HostLimits
from hostagent.facts.kubelet import Kubelet

_MEMORY, _PIDS = "memory.available", "pid.available"
_LOOK = "grep -E 'Shmem|HugePages|Slab' /proc/meminfo"
#: Limits of threads: the kubelet takes the smaller one (Kubernetes, pkg/kubelet/stats/pidlimit).
_OF_PIDS = ("process ids", "threads")


@check(
    title="The node is under no memory or PID pressure by the kubelet's own thresholds",
    severity="critical",
    since="0.1",
    because=("host.limits",),
    headline="The kubelet reports MemoryPressure: the node takes no pods",
    remedy=(Step("configure", "Find what holds the memory, and end it."),),
    references=("Kubernetes, Node-pressure Eviction",),
    confirm=("grep -E 'Mem|Inactive.file' /proc/meminfo", "cat /proc/loadavg /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max"),
)
def memory_pressure(kubelet: Kubelet, limits: HostLimits) -> Findings:
    if not need(kubelet.runs):
        skip("no kubelet runs here")
    wanted = dict(need(need(kubelet.config).eviction_hard))
    if _MEMORY not in wanted and _PIDS not in wanted:
        skip("the kubelet has no threshold for memory or process ids")
    if _MEMORY in wanted and (found := _memory(limits, wanted[_MEMORY])):
        yield found
    if _PIDS in wanted and (found := _pids(limits, wanted[_PIDS])):
        yield found


def _memory(limits: HostLimits, threshold: str) -> Finding | None:
    """None where it is enough, or /proc/meminfo does not say."""
    total = _known(limits.memory_total_bytes)
    parts = [_known(one) for one in (limits.memory_free_bytes, limits.memory_inactive_file_bytes, limits.memory_available_bytes)]
    free, inactive, available = parts
    if total is None or free is None or inactive is None or available is None:
        return None
    left = max(free + inactive, available)
    if not _is_less(left, total, threshold):
        return None
    return fail(
        f"{size(left)} of {size(total)} of memory are left; {_MEMORY} of evictionHard is {threshold}",
        code="memory",
        found=size(left),
        wanted=f">= {threshold}",
        remedy=(
            Step("drain_and_inspect", "Find what holds it: processes, files in memory, huge pages.", _LOOK),
            Step("configure", "End it, or free huge pages that nothing uses (vm.nr_hugepages)."),
            Step("configure", f"Or give the kubelet a smaller {_MEMORY} in evictionHard."),
        ),
    )


def _known(value: int | Unread) -> int | None:
    return None if isinstance(value, Unread) and value.why in NOT_APPLICABLE else need(value)


def _pids(limits: HostLimits, threshold: str) -> Finding | None:
    rows = [one for one in need(limits.limits) if one.name in _OF_PIDS]
    if not rows:
        return None
    most, used = min(need(one.most) for one in rows), need(rows[0].used)
    left = max(most - used, 0)
    if not _is_less(left, most, threshold):
        return None
    return fail(
        f"{left} of {most} process ids are free; {_PIDS} of evictionHard is {threshold}",
        code="process-ids",
        found=left,
        wanted=f">= {threshold}",
        headline="The kubelet reports PIDPressure: the node takes no pods",
        remedy=(
            Step("configure", "Find what uses them up, and end it.", "ps -eLo comm= | sort | uniq -c | sort -n | tail"),
            Step("configure", "If so many are wanted: raise kernel.pid_max and kernel.threads-max."),
        ),
    )


def _is_less(left: int, total: int, threshold: str) -> bool:
    if threshold in ("0%", "100%"):
        return False
    try:
        return left < (share_of(total, threshold) if threshold.endswith("%") else whole(threshold))
    except ValueError:
        return False  # such a kubelet does not start: `kubelet.config_accepted`
