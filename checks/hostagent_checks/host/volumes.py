"""A volume that what starts containers or jobs writes to is full, out of inodes or read-only: nothing starts there.

containerd, dockerd and CRI-O write each container's layers, the kubelet pods' directories and logs, slurmd a job's script. On a full or
read-only volume each start fails, while the daemon itself runs and answers. A volume becomes read-only when its filesystem met an error
(`errors=remount-ro` of ext4), which stays until it was checked. XFS shuts itself down instead, and ext4 may go on with `errors=continue`:
both are still listed as writable, as is the volume of a disk that is gone. That is in the kernel log alone: counted are the rows of
docs/kernel-words.md about filesystems and disks, for the disks of these volumes, until the volume is mounted again. Other disks count for
nothing, and neither do errors that the disk corrected, or a controller that came back from a reset.

Judged are the directories of the runtimes that serve jobs, of the kubelet and of slurmd, each with its effective configuration, and `/run`.
A read-only root or `/usr` is the state of an image-based system (Bottlerocket, Flatcar, Container-Optimized OS, Talos, OpenShift), and is
no volume of theirs. A mount of `/etc/fstab` that is missing below such a directory is a warning: images then fill the volume below it.
So is one of an enabled mount unit. TmpFS and Enroot's directories, which jobs of Slurm fill themselves, are a warning, too.
"""

from typing import NamedTuple

from hostagent.check import (
    NOT_APPLICABLE,
    Finding,
    Findings,
    Severity,
    Step,
    Unread,
    check,
    counted,
    fail,
    first_of,
    need,
    shell,
    size,
    skip,
    warn,
)
from hostagent.domains.gpu.kernel_events import Trouble, disk_trouble
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.history import History
from hostagent.facts.host import Identity, Volume, Volumes
from hostagent.facts.kernel_words import KernelWords
from hostagent.profile import Profile

from ._rights import is_refused, not_read

_FSTAB = "/etc/fstab"
#: Of the kernel log: an image has none, and an older recording does not have these words.
_NOT_ASKED = (*NOT_APPLICABLE, "not-recorded", "older-recording")
_WHAT = "what holds the runtimes' and the kubelet's directories"
_EFFECTS = {
    "data": "starts no container",
    "content": "starts no container",
    "pods": "starts no pod",
    "logs": "starts no pod",
    "spool": "starts no job",
}
#: `host.disk_space` judges these with the room that a driver needs.
_SYSTEM = ("/", "/usr", "/var")
_FREE = {
    "kubelet": ("Remove what is not used: images, ended containers, old logs.", "crictl rmi --prune"),
    "docker": ("Remove what is not used: images, ended containers, the build cache.", "docker system prune --all"),
    "slurmd": ("Remove the files of jobs that have ended.", ""),
    "podman": ("Remove what is not used: images, ended containers.", "podman system prune --all"),
    "enroot": ("Remove images and containers of jobs that have ended.", ""),
}
_OTHERS = ("Remove what is not used: images, ended containers, old logs.", "")


class Params(NamedTuple):
    """min_free_bytes: bytes below which a volume counts as full
    min_free_run_bytes: the same, of a filesystem in memory such as /run
    min_free_inodes: inodes below which it counts as out of them
    low_bytes: bytes of a runtime's own volume below which an image does not fit any more
    """

    min_free_bytes: int = 200_000_000
    min_free_run_bytes: int = 4_000_000
    min_free_inodes: int = 100
    low_bytes: int = 2_500_000_000


@check(
    title="The volumes of what starts containers and jobs have room and can be written",
    severity="critical",
    since="0.1",
    headline="A volume of what starts containers cannot be written",
    remedy=(Step("configure", "Free space on the volume, or make it writable."),),
    references=("mount(8)", "ext4(5)", "Kubernetes, Node-pressure Eviction"),
    confirm=(
        "df -h /run /var/lib/containerd /var/lib/docker /var/lib/kubelet",
        "df -i /run /var/lib/containerd /var/lib/docker /var/lib/kubelet",
        "cat /etc/fstab /proc/1/mounts  # ro: read-only",
        "journalctl -k -b -p err",
    ),
)
def volumes(
    volumes: Volumes,
    choice: RuntimeChoice,
    words: KernelWords | Unread,
    history: History | Unread,
    identity: Identity | Unread,
    profile: Profile,
    params: Params,
) -> Findings:
    if isinstance(volumes.volumes, Unread) and volumes.volumes.why not in NOT_APPLICABLE:
        yield not_read(volumes.volumes, _WHAT, identity, profile)
        return
    mine = _served(need(volumes.volumes), choice)
    by_mount: dict[str, list[Volume]] = {}
    for one in mine:
        by_mount.setdefault(one.mount, []).append(one)
    seen = set[str]()
    for held in by_mount.values():
        disk = _disk(held[0])
        trouble = None if isinstance(words, Unread) else disk_trouble(words, history, disk)
        if trouble and held[0].access == "rw":
            if disk not in seen:
                yield _logged(trouble, [one for one in mine if _disk(one) == disk])
            seen.add(disk)
        if trouble is None or trouble.row.weight != "critical" or held[0].access != "rw":
            yield from _of_mount(held, trouble, params)
    missing: dict[str, Volume] = {one.unmounted: one for one in reversed(mine) if one.unmounted}
    for place, one in missing.items():
        yield _unmounted(place, one)
    gap = words if isinstance(words, Unread) else words.volume
    if isinstance(gap, Unread) and gap.why not in _NOT_ASKED and not is_refused(gap, identity, profile):
        need(gap)


def _served(found: tuple[Volume, ...], choice: RuntimeChoice) -> tuple[Volume, ...]:
    """Those of the runtimes that serve jobs, and of what is no runtime. Docker writes to containerd's directory, too."""
    keys = {one.key for one in choice.serving.runtimes}
    users = {"kubelet", "slurmd", "podman", "enroot", *keys, *(("containerd",) if "docker" in keys else ())}
    mine = tuple(one for one in found if one.user in users)
    if not mine:
        skip("nothing that starts containers or jobs is in use here")
    return (*mine, *(one for one in found if not one.user))


def _disk(one: Volume) -> str:
    """The kernel's name of its device; where a link was not read, the link's own."""
    return one.device.rpartition("/")[2] if isinstance(one.disk, Unread) else one.disk


def _weight(held: list[Volume]) -> Severity | None:
    return "warning" if all(one.role == "scratch" for one in held) else None


def _logged(trouble: Trouble, held: list[Volume]) -> Finding:
    """What the kernel logged of a volume that is still listed as writable."""
    report = fail if trouble.row.weight == "critical" else warn
    return report(
        f"{_place(held)} is on {held[0].device}. {trouble.text}",
        code=trouble.row.id,
        found=trouble.row.id,
        wanted="none",
        evidence=trouble.lines,
        headline=trouble.headline(trouble.subject),
        remedy=trouble.steps(trouble.subject),
        at_most=_weight(held) if trouble.row.weight == "critical" else trouble.row.weight,
    )


def _of_mount(held: list[Volume], trouble: Trouble | None, params: Params) -> Findings:
    one, weight = held[0], _weight(held)
    if one.access != "rw":
        yield _read_only(held, trouble, weight)
        return
    free, inodes = (min((value for value in values if value is not None), default=None) for values in _free(held))
    least = params.min_free_run_bytes if one.kind == "tmpfs" else params.min_free_bytes
    if free is not None and free < least:
        found = f"{size(free)} free"
        yield fail(
            f"{_place(held)} has {found}",
            code="full",
            found=found,
            wanted=f">= {size(least)}",
            headline=_headline(held, "is full"),
            remedy=_room(one, shell("du -x -h --max-depth=3 {} | sort -h | tail", one.mount)),
            at_most=weight,
        )
    elif inodes is not None and inodes < params.min_free_inodes:
        yield fail(
            f"{_place(held)} has {counted(inodes, 'free inode')}",
            code="no-inodes",
            found=f"{inodes} free inodes",
            wanted=f">= {params.min_free_inodes}",
            headline=_headline(held, "has no free inodes"),
            remedy=_room(one, shell("du --inodes -x {} | sort -n | tail", one.mount)),
            at_most=weight,
        )
    elif free is not None and free < params.low_bytes and one.mount not in _SYSTEM and any(volume.role == "data" for volume in held):
        yield warn(
            f"{_place(held)} has {size(free)} free: no image of a job fits",
            code="low",
            found=f"{size(free)} free",
            wanted=f">= {size(params.low_bytes)}",
            headline=f"{_short(one.mount)} has no room for another image",
            remedy=_room(one, shell("du -x -h --max-depth=3 {} | sort -h | tail", one.mount)),
            at_most="warning",
        )


def _free(held: list[Volume]) -> tuple[list[int | None], list[int | None]]:
    """Bytes and inodes: one filesystem may be asked by several paths, where its mount point may not be entered."""
    return [_known(one.free_bytes) for one in held], [_known(one.free_inodes) for one in held]


def _known(value: int | Unread) -> int | None:
    """None for what this filesystem does not count."""
    return None if isinstance(value, Unread) and value.why in NOT_APPLICABLE else need(value)


def _read_only(held: list[Volume], trouble: Trouble | None, weight: Severity | None) -> Finding:
    """XFS never becomes read-only by itself."""
    one = held[0]
    logged = trouble if trouble and trouble.row.weight == "critical" else None
    after_errors = bool(logged) or (one.access == "ro-after-errors" and one.kind != "xfs")
    on = f"{one.kind} on {one.device}" if one.device else one.kind
    why = ", which its filesystem became after an error" if after_errors else ""
    if one.access == "ro-after-errors" and not after_errors:
        why = ", and /etc/fstab mounts it writable"
    return fail(
        f"{_place(held)} is mounted read-only{why} ({on})",
        code="read-only-after-errors" if after_errors else "read-only",
        found="read-only",
        wanted="writable",
        evidence=logged.lines if logged else (),
        headline=_headline(held, "is read-only"),
        remedy=_after_errors(one) if after_errors else _by_mount(one),
        at_most=weight,
    )


def _after_errors(one: Volume) -> tuple[Step, ...]:
    log = shell("journalctl -k -b --grep {}", one.device.rpartition("/")[2] or "EXT4-fs error|remount")
    return (
        Step("drain_and_inspect", "Drain the node, and read which error of the disk the kernel logged.", log),
        Step("reboot", "If the disk is well: reboot, so that the filesystem is checked before it is mounted."),
        Step("replace", "If the kernel logged errors of the disk: replace the disk."),
    )


def _by_mount(one: Volume) -> tuple[Step, ...]:
    return (
        Step("configure", "Mount it writable, and remove 'ro' from its options.", shell("mount -o remount,rw {}", one.mount)),
        Step(
            "drain_and_inspect",
            "If that is refused, the device is write-protected or failed: read the kernel log.",
            "journalctl -k -b -p err",
        ),
    )


def _room(one: Volume, largest: str) -> tuple[Step, ...]:
    text, command = _FREE.get(one.user, _OTHERS)
    return (
        Step("configure", "Find what fills it.", largest),
        Step("configure", text, command),
        Step("configure", f"Or give {one.path} a larger volume."),
    )


def _unmounted(place: str, one: Volume) -> Finding:
    by = _FSTAB if isinstance(one.unmounted_by, Unread) else one.unmounted_by
    unit = by.rpartition("/")[2] if by != _FSTAB else ""
    return fail(
        f"{by} has a filesystem for {place}, and none is mounted there: {one.user} writes {one.path} to {one.mount}",
        code="not-mounted",
        found="not mounted",
        wanted="mounted",
        headline=f"{_short(place)} of {'its mount unit' if unit else _FSTAB} is not mounted",
        remedy=(
            Step(
                "drain_and_inspect",
                "Drain the node, and mount it.",
                shell("systemctl start {}", unit) if unit else shell("mount {}", place),
            ),
            Step("configure", f"Or {'disable the unit' if unit else f'remove its line from {_FSTAB}'}, if the volume is gone for good."),
        ),
        at_most="warning",
    )


def _headline(held: list[Volume], state: str) -> str:
    effect = next((f": {one.user} {_EFFECTS[one.role]}" for one in held if one.role in _EFFECTS), ": nothing starts here")
    return f"{_short(held[0].path)} {state}{effect if any(one.role != 'scratch' for one in held) else ''}"


def _short(path: str) -> str:
    return path if len(path) <= 40 else f"…{path[-39:]}"


def _place(held: list[Volume]) -> str:
    """The mount point, and the directories on it where it is none of them."""
    names, mount = tuple(dict.fromkeys(one.path for one in held)), held[0].mount
    return mount if names == (mount,) else f"{mount}, with {first_of(names)},"
