"""The volumes of what starts containers and jobs: room, inodes, whether they can be written, whether they are mounted."""

# Mounts are those of process 1: below another root this process has mounts of its own. A filesystem is asked at its mount point, which
# may be reached where a runtime's directory may not be entered. A directory that does not exist yet is where it will be made.

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hostagent.core.answers import MIB
from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.tables.daemons import processes
from hostagent.core.unread import NOT_APPLICABLE, NOT_THERE, Unread, need, then
from hostagent.domains.kubelet.read_processes import KubeletUnit, find
from hostagent.domains.runtime.read_settings import settings
from hostagent.domains.slurm.read_spool import read_spool
from hostagent.domains.system.mounts import Mount, holds, mount_of, parse_mounts
from hostagent.facts.host import Machine, Services, Volume, Volumes
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.host.source import Source

_MOUNTS, _MOUNTS_BYTES, _FSTAB = "/proc/1/mounts", 8 * MIB, "/etc/fstab"
_SLURMD = processes("slurm")[0]
_STATE = "/run"
_POD_LOGS = "/var/log/pods"
#: Options that mean read-only: ext4 of Linux 6.15 and later names its reaction to errors; those that make a mount of fstab optional.
_READ_ONLY, _REMOUNTS = ("ro", "emergency_ro"), "errors=remount-ro"
_OPTIONAL = ("noauto", "x-systemd.automount", "x-systemd.device-bound")
_OPTIONS = (*_READ_ONLY, "rw", _REMOUNTS, *_OPTIONAL)


class Use(NamedTuple):
    """A directory and the component that writes to it."""

    user: str
    role: str
    path: str


def read_volumes(source: Source, known: Callable[[type], Any]) -> Volumes:
    return Volumes(_volumes(source, known))


@stops_at_unread
def _volumes(source: Source, known: Callable[[type], Any]) -> tuple[Volume, ...]:
    uses = tuple(dict.fromkeys(_uses(source, known)))
    if not uses:
        return ()
    resolved = [(use, _resolved(source, use.path)) for use in (*uses, Use("", "state", _STATE))]
    keep = Keep("mount table", tuple(sorted({*_OPTIONS, *(path for _, path in resolved if not isinstance(path, Unread))})))
    mounts = parse_mounts(need(source.text(_MOUNTS, _MOUNTS_BYTES, keep=keep)))
    planned = source.text(_FSTAB, keep=keep, absent="")
    table = parse_mounts(need(planned))
    found = [use._replace(path=need(path)) for use, path in resolved]
    return tuple(one for use in found if (one := _volume(source, use, mounts, table)) is not None)


def _uses(source: Source, known: Callable[[type], Any]) -> Iterator[Use]:
    """Raises ``UnreadError``."""
    for runtime in need(known(Runtime)):
        if runtime.in_use is False or (isinstance(runtime.state, str) and runtime.state == "absent"):
            continue
        if path := need(settings(source, runtime)).data:
            yield Use(runtime.key, "data", path)
    for found in need(find(known(Services), then(known(Machine), lambda one: one.processes))):
        yield Use("kubelet", "pods", need(_root(source, found)))
        yield Use("kubelet", "logs", _POD_LOGS)
    slurmd = then(known(Launchers), lambda one: one.slurmd)
    if need(False if isinstance(slurmd, Unread) and slurmd.why in NOT_APPLICABLE else slurmd):
        spool = need(read_spool(source, known))
        yield Use(_SLURMD, "spool", spool.spool)
        yield Use(_SLURMD, "scratch", spool.scratch)


@stops_at_unread
def _root(source: Source, found: KubeletUnit) -> str:
    """The kubelet's root directory by its flags, where they are known."""
    from hostagent.domains.kubelet.read_command import parse_flags  # only where there is a kubelet
    from hostagent.domains.kubelet.read_files import places

    words = _words(source, found)
    return places({} if isinstance(words, Unread) else parse_flags(words), found.distribution).root


@stops_at_unread
def _words(source: Source, found: KubeletUnit) -> tuple[str, ...]:
    from hostagent.domains.kubelet.read_distributions import command

    return command(source, found).words


def _resolved(source: Source, path: str) -> "str | Unread":
    """With links resolved, of the nearest directory above it that exists."""
    above, _, name = path.rpartition("/")
    found = source.realpath(path)
    if isinstance(found, str):
        return found
    if found.why == "denied" or not above:
        return path
    if found.why not in NOT_THERE:
        return found
    return then(_resolved(source, above), lambda place: f"{place.rstrip('/')}/{name}")


def _volume(source: Source, use: Use, mounts: tuple[Mount, ...], planned: tuple[Mount, ...]) -> "Volume | None":
    """None where no mount holds the path: the table is another's."""
    mount = mount_of(mounts, use.path)
    if mount is None:
        return None
    space = source.volume(mount.place)
    if isinstance(space, Unread) and space.why == "denied":
        space = source.volume(use.path)
    if not isinstance(space, Unread) and not space.total_bytes:
        space = Unread("not-supported", f"{mount.kind} at {mount.place} has no size")
    uncounted = Unread("not-supported", f"{mount.kind} at {mount.place} does not count inodes")
    return Volume(
        path=use.path,
        user=use.user,
        role=use.role,
        mount=mount.place,
        device=mount.device if mount.device.startswith("/dev/") else "",
        disk=_disk(source, mount.device),
        kind=mount.kind,
        access=_access(mount, planned),
        total_bytes=then(space, lambda one: one.total_bytes),
        free_bytes=then(space, lambda one: one.free_bytes),
        total_inodes=then(space, lambda one: one.total_inodes or uncounted),
        free_inodes=then(space, lambda one: one.free_inodes if one.total_inodes else uncounted),
        unmounted=_unmounted(source, use.path, mounts, planned),
    )


def _disk(source: Source, device: str) -> "str | Unread":
    """The kernel's name: a device of LVM, or one by its label, is a link to it."""
    if not device.startswith("/dev/"):
        return ""
    is_link = "/" in device.removeprefix("/dev/")
    return then(source.realpath(device) if is_link else device, lambda path: path.removeprefix("/dev/").replace("/", "!"))


def _access(mount: Mount, planned: tuple[Mount, ...]) -> str:
    """rw, ro or ro-after-errors."""
    if not any(option in _READ_ONLY for option in mount.options):
        return "rw"
    wanted = next((one for one in planned if one.place == mount.place), None)
    is_planned = wanted is not None and "ro" in wanted.options
    if "emergency_ro" in mount.options or (not is_planned and (_REMOUNTS in mount.options or wanted is not None)):
        return "ro-after-errors"
    return "ro"


def _unmounted(source: Source, path: str, mounts: tuple[Mount, ...], planned: tuple[Mount, ...]) -> str:
    """The mount point of fstab that holds the path, and where nothing is mounted; "" for none, or where a link leads elsewhere."""
    there = {one.place for one in mounts}
    for one in planned:
        if one.place in ("/", "none", "swap") or not holds(one.place, path) or one.kind == "swap" or set(_OPTIONAL) & set(one.options):
            continue
        real = source.realpath(one.place) if one.place not in there else ""
        if isinstance(real, str) and real == one.place:
            return one.place
    return ""
