"""The volumes of what starts containers and jobs: room, inodes, whether they can be written, whether they are mounted."""

# Mounts are those of process 1: below another root this process has mounts of its own. A filesystem is asked at its mount point, which
# may be reached where a runtime's directory may not be entered. A directory that does not exist yet is where it will be made.

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from hostagent.core.answers import MIB
from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.tables.daemons import processes
from hostagent.core.unread import NOT_APPLICABLE, NOT_THERE, Unread, UnreadError, need, then
from hostagent.domains.kubelet.read_processes import KubeletUnit, kubelets
from hostagent.domains.runtime.access import podman_has_gpus
from hostagent.domains.runtime.read_daemonless import NOT_ON_TAPE, enroot_directories, podman_store
from hostagent.domains.runtime.read_settings import settings
from hostagent.domains.slurm.read_spool import read_spool
from hostagent.domains.system.mounts import Mount, holds, mount_of, parse_mounts
from hostagent.domains.system.read_mount_units import read_mount_units
from hostagent.facts.cdi import Cdi
from hostagent.facts.host import Volume, Volumes
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.host.source import Source
from hostagent.host.watched_files import MAY_HANG

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


class Planned(NamedTuple):
    """Mounts that are made at boot: rows of fstab, and files of units by mount point."""

    fstab: tuple[Mount, ...]
    units: Mapping[str, str]


def read_volumes(source: Source, known: Callable[[type], Any]) -> Volumes:
    return Volumes(_volumes(source, known))


@stops_at_unread
def _volumes(source: Source, known: Callable[[type], Any]) -> tuple[Volume, ...]:
    uses = tuple(dict.fromkeys(_uses(source, known)))
    if later := tuple(dict.fromkeys(_daemonless(source, known, uses))):
        try:
            return _held(source, (*uses, *later))
        except UnreadError as error:  # older recordings hold the mounts of the others alone
            if error.unread.why not in NOT_ON_TAPE:
                raise
    return _held(source, uses) if uses else ()


def _held(source: Source, uses: tuple[Use, ...]) -> tuple[Volume, ...]:
    """Raises ``UnreadError``."""
    resolved = [(use, _resolved(source, use.path)) for use in (*uses, Use("", "state", _STATE))]
    keep = Keep("mount table", tuple(sorted({*_OPTIONS, *(path for _, path in resolved if not isinstance(path, Unread))})))
    mounts = parse_mounts(need(source.text(_MOUNTS, _MOUNTS_BYTES, keep=keep)))
    fstab = parse_mounts(need(source.text(_FSTAB, keep=keep, absent="")))
    found = [use._replace(path=need(path)) for use, path in resolved]
    planned = Planned(fstab, need(read_mount_units(source, tuple(use.path for use in found))))
    return tuple(one for use in found if (one := _volume(source, use, mounts, planned)) is not None)


def _uses(source: Source, known: Callable[[type], Any]) -> Iterator[Use]:
    """Raises ``UnreadError``."""
    for runtime in need(known(Runtime)):
        if runtime.in_use is False or (isinstance(runtime.state, str) and runtime.state == "absent"):
            continue
        set_by = need(settings(source, runtime))
        if set_by.images:
            yield Use(runtime.key, "data", set_by.images)
        if set_by.data and set_by.data != set_by.images:
            yield Use(runtime.key, "content", set_by.data)
    for found in need(kubelets(source, known)):
        yield Use("kubelet", "pods", need(_root(source, found)))
        yield Use("kubelet", "logs", _POD_LOGS)
    slurmd = then(known(Launchers), lambda one: one.slurmd)
    if need(False if isinstance(slurmd, Unread) and slurmd.why in NOT_APPLICABLE else slurmd):
        spool = need(read_spool(source, known))
        yield Use(_SLURMD, "spool", spool.spool)
        yield Use(_SLURMD, "scratch", spool.scratch)


def _daemonless(source: Source, known: Callable[[type], Any], uses: tuple[Use, ...]) -> Iterator[Use]:
    """Podman's where nothing else starts containers, and Enroot's below slurmd. Raises ``UnreadError``."""
    launchers = known(Launchers)
    programs = need(then(launchers, lambda one: one.programs))
    if "podman" in programs and not any(use.role in ("data", "pods") for use in uses) and podman_has_gpus(need(known(Cdi)), launchers):
        yield from (Use("podman", "data", path) for path in need(podman_store(source)))
    if "enroot" in programs and any(use.user == _SLURMD for use in uses):
        yield from (Use("enroot", "scratch", path) for path in need(enroot_directories(source)) if _is_local(source, path))


def _is_local(source: Source, path: str) -> bool:
    """Asked before links are followed: a filesystem of another machine may not answer, and its room is no matter of this host."""
    table = source.text(_MOUNTS, _MOUNTS_BYTES, keep=Keep("mount table", (path,)))
    mount = None if isinstance(table, Unread) else mount_of(parse_mounts(table), path)
    return mount is None or not (mount.kind in MAY_HANG or mount.kind.startswith("fuse."))


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


def _volume(source: Source, use: Use, mounts: tuple[Mount, ...], planned: Planned) -> "Volume | None":
    """None where no mount holds the path: the table is another's."""
    mount = mount_of(mounts, use.path)
    if mount is None:
        return None
    space = source.volume(mount.place)
    if isinstance(space, Unread) and space.why == "denied":
        space = source.volume(use.path)
    if not isinstance(space, Unread) and not space.total_bytes:
        space = Unread("not-supported", f"{mount.kind} at {mount.place} has no size")
    unmounted, by = _unmounted(source, use.path, mounts, planned)
    uncounted = Unread("not-supported", f"{mount.kind} at {mount.place} does not count inodes")
    return Volume(
        path=use.path,
        user=use.user,
        role=use.role,
        mount=mount.place,
        device=mount.device if mount.device.startswith("/dev/") else "",
        disk=_disk(source, mount.device),
        kind=mount.kind,
        access=_access(mount, planned.fstab),
        total_bytes=then(space, lambda one: one.total_bytes),
        free_bytes=then(space, lambda one: one.free_bytes),
        total_inodes=then(space, lambda one: one.total_inodes or uncounted),
        free_inodes=then(space, lambda one: one.free_inodes if one.total_inodes else uncounted),
        unmounted=unmounted,
        unmounted_by=by,
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


def _unmounted(source: Source, path: str, mounts: tuple[Mount, ...], planned: Planned) -> tuple[str, str]:
    """The planned mount point that holds the path, where nothing is mounted, and the file that plans it; "" for none, or where a link
    leads elsewhere.
    """
    there = {one.place for one in mounts}
    rows = (
        one for one in planned.fstab if one.place not in ("none", "swap") and one.kind != "swap" and not set(_OPTIONAL) & set(one.options)
    )
    for place, by in (*((one.place, _FSTAB) for one in rows), *planned.units.items()):
        if place == "/" or not holds(place, path):
            continue
        real = _resolved(source, place) if place not in there else ""
        if isinstance(real, str) and real == place:
            return place, by
    return "", ""
