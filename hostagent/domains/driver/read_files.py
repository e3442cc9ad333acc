"""Complete contents of files that a plan may change, on a live host only: a recording has only the parts that checks read."""

# `Installation.folders` are directories in which every file was read: a path in one of them without an entry is absent, a
# path elsewhere is not-recorded. In a snapshot `ConfigFile.text` is not-recorded, "a snapshot has no whole PATH".

from collections.abc import Iterator

from hostagent.core.answers import KIB
from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import NOTHING
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.runtime.read_places import PLACES
from hostagent.facts.installation import ConfigFile
from hostagent.facts.runtime import Runtime
from hostagent.host.source import Source

#: Directories in which every file is read.
FOLDERS = (
    "/etc/apt/apt.conf.d",
    "/etc/apt/preferences.d",
    "/etc/apt/sources.list.d",
    "/etc/containerd/conf.d",
    "/etc/crio/crio.conf.d",
    "/etc/dnf/plugins",
    "/etc/modprobe.d",
    "/etc/modules-load.d",
    "/etc/tdnf/locks.d",
    "/etc/yum.repos.d",
    "/etc/zypp/repos.d",
)
_RANCHER = tuple(f"/var/lib/rancher/{one}/agent/etc/containerd" for one in ("k3s", "rke2"))
_FILES = (
    *(place.config for place in PLACES),
    *(f"{folder}/{name}" for folder in _RANCHER for name in ("config.toml.tmpl", "config-v3.toml.tmpl")),
    *("/etc/apt/preferences", "/etc/apt/sources.list", "/etc/dnf/versionlock.toml", "/etc/zypp/locks"),
    *("/etc/nvidia-container-runtime/config.toml", "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env"),
    *(f"/etc/systemd/system/nvidia-cdi-refresh.{kind}" for kind in ("path", "service")),
)
#: Of one file, as its programs limit it, and of all files; no real configuration has more.
_LARGEST, _MOST_BYTES, _MOST_FILES = 256 * KIB, 2048 * KIB, 1000


@stops_at_unread
def read_files(source: Source, runtimes: "tuple[Runtime, ...] | Unread") -> tuple[ConfigFile, ...]:
    """Files that exist or cannot be read, sorted by path."""
    paths = sorted(set(_paths(source, runtimes)))
    if len(paths) > _MOST_FILES:
        raise UnreadError(Unread("error", f"found {len(paths)} files that a plan may change, wanted at most {_MOST_FILES}"))
    budget = _MOST_BYTES
    files = []
    for path in paths:
        one, size = _file(source, path, budget)
        budget -= size
        files += [one] if one is not None else []
    return tuple(files)


def _paths(source: Source, runtimes: "tuple[Runtime, ...] | Unread") -> Iterator[str]:
    yield from _FILES
    for folder in FOLDERS:
        yield from (f"{folder}/{name}" for name in need(source.listdir(folder, absent=())))
    for one in () if isinstance(runtimes, Unread) else runtimes:
        if not isinstance(one.config_files, Unread):
            yield from one.config_files


def _file(source: Source, path: str, budget: int) -> "tuple[ConfigFile | None, int]":
    """The file (None if it is another kind), and how many bytes of it were read."""
    stat = source.stat(path)
    if isinstance(stat, Unread):
        return ConfigFile(path, stat, stat, stat, stat), 0
    if stat.kind == "dir":
        return None, 0
    if stat.size > min(budget, _LARGEST):
        return ConfigFile(path, Unread("error", f"{path} has {stat.size} bytes, more than is read"), stat.mode, stat.uid, stat.gid), 0
    return ConfigFile(path, _text(source, path), stat.mode, stat.uid, stat.gid), stat.size


def _text(source: Source, path: str) -> "str | Unread":
    data = source.read(path, keep=NOTHING)
    if isinstance(data, Unread):
        return Unread("not-recorded", f"a snapshot has no whole {path}", data.question) if data.why == "not-recorded" else data
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Unread("error", f"{path} is no UTF-8 text")
