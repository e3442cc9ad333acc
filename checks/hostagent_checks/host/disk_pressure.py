"""A volume has less room than the kubelet wants: the node gets the condition DiskPressure, and takes no pods.

The kubelet compares the free space and inodes of its own directory (nodefs) and of the runtime's images (imagefs) with `evictionHard` of
its effective configuration; without a setting these are 10 % and 15 % of the volume, and 5 % of its inodes. Below one of them it deletes
images, ends pods, and the scheduler places none here, though GPUs and runtime are well. Soft thresholds are a matter of their grace period,
which shows in no file, and are not judged; nor is a kubelet that does not run, or whose configuration is not read.
"""

from collections.abc import Iterator

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, shell, skip
from hostagent.domains.kubelet.placement.quantity import share_of, whole
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.host import Volume, Volumes
from hostagent.facts.kubelet import Kubelet

#: Signals of evictionHard: whether they count inodes, and which directory's filesystem they are about.
_SIGNALS = {
    "nodefs.available": (False, "pods"),
    "nodefs.inodesFree": (True, "pods"),
    "imagefs.available": (False, "data"),
    "imagefs.inodesFree": (True, "data"),
}


@check(
    title="The node is under no disk pressure by the kubelet's own thresholds",
    severity="critical",
    since="0.1",
    because=("host.volumes",),
    headline="The kubelet reports DiskPressure: the node takes no pods",
    remedy=(Step("configure", "Free space: unused images, ended containers, old logs.", "crictl rmi --prune"),),
    references=("Kubernetes, Node-pressure Eviction",),
    confirm=("df -h /var/lib/kubelet /var/lib/containerd", "df -i /var/lib/kubelet"),
)
def disk_pressure(kubelet: Kubelet, volumes: Volumes, choice: RuntimeChoice) -> Findings:
    if not need(kubelet.runs):
        skip("no kubelet runs here")
    pairs = dict(need(need(kubelet.config).eviction_hard))
    wanted = {signal: pairs[signal] for signal in _SIGNALS if signal in pairs}
    if not wanted:
        skip("the kubelet has no threshold for volumes")
    used = {need(one.runtime) for one in need(choice.launchers.kubelets)}
    mine = [one for one in need(volumes.volumes) if one.role == "pods" or (one.role == "data" and one.user in used)]
    below: dict[str, Volume] = {}
    for signal, threshold in wanted.items():
        for one in mine:
            if one.role == _SIGNALS[signal][1] and (found := _found(one, signal, threshold)) and one.mount not in below:
                below[one.mount] = one
                yield fail(
                    f"{one.path} has {found[0]} on {one.mount}; {signal} of evictionHard is {threshold}",
                    code="inodes" if _SIGNALS[signal][0] else "space",
                    found=found[0],
                    wanted=f">= {found[1]}",
                    remedy=tuple(_steps(one, inodes=_SIGNALS[signal][0])),
                )


def _found(one: Volume, signal: str, threshold: str) -> tuple[str, str] | None:
    """What is free, and the least that the kubelet wants, where it is less; None where it is enough, or not known."""
    inodes, _ = _SIGNALS[signal]
    total, free = (one.total_inodes, one.free_inodes) if inodes else (one.total_bytes, one.free_bytes)
    if isinstance(free, Unread) and free.why in NOT_APPLICABLE:
        return None
    total, free = need(total), need(free)
    try:
        least = share_of(total, threshold) if threshold.endswith("%") else whole(threshold)
    except ValueError:
        return None  # such a kubelet does not start: `kubelet.config_accepted`
    if free >= least or threshold in ("0%", "100%"):
        return None
    shown = f"{free / max(total, 1):.1%} of its {'inodes' if inodes else 'space'} free"
    return shown, threshold


def _steps(one: Volume, *, inodes: bool) -> Iterator[Step]:
    largest = "du --inodes -x {} | sort -n | tail" if inodes else "du -x -h --max-depth=3 {} | sort -h | tail"
    yield Step("configure", "Free space: unused images, ended containers, old logs.", "crictl rmi --prune")
    yield Step("configure", "Find what else fills it.", shell(largest, one.mount))
    yield Step("configure", f"Or give {one.path} a larger volume.")
