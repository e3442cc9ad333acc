"""The files of a kubelet's configuration: where they are, what is in them, when they changed."""

from typing import NamedTuple

from hostagent.core.parsing import Allowance
from hostagent.core.unread import NOT_APPLICABLE, NOT_THERE, Unread, UnreadError, need, then
from hostagent.domains.kubelet.read_command import environment_files
from hostagent.domains.kubelet.read_processes import KubeletUnit
from hostagent.domains.kubelet.retention import CONFIG
from hostagent.domains.system.read_services import DIRECTORIES
from hostagent.domains.system.unit_file import parse_unit
from hostagent.host.source import Source

#: Files of one kubelet: more than any real configuration has.
_MAX_FILES, _MAX_BYTES, _MAX_DEPTH, _MAX_ENTRIES = 100, 256 * 1024, 8, 1000
_SUFFIX = ".conf"


class Places(NamedTuple):
    """Paths that the flags name."""

    config: str
    config_dir: str
    root: str


def places(flags: "dict[str, str]", distribution: str) -> Places:
    """The paths that the flags name, "" for none; the kubelet's root is always somewhere."""
    root = flags.get("--root-dir", "") or _ROOTS.get(distribution, "/var/lib/kubelet")
    return Places(flags.get("--config", ""), flags.get("--config-dir", ""), root)


_ROOTS = {"k0s": "/var/lib/k0s/kubelet", "microk8s": "/var/snap/microk8s/common/var/lib/kubelet"}


class Files:
    """Reads them within bounds; every method raises ``UnreadError`` beyond."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._count = Allowance("files of a kubelet's configuration", _MAX_FILES)
        self._entries = Allowance("entries in a kubelet's directories", _MAX_ENTRIES)
        self._size = Allowance("bytes of a kubelet's configuration", _MAX_BYTES)

    def read(self, path: str) -> "bytes | Unread":
        self._count.take(1)
        data = self._source.read(path, keep=CONFIG)
        self._size.take(0 if isinstance(data, Unread) else len(data))
        return data

    def all(self, config: str, config_dir: str) -> "tuple[tuple[str, bytes | Unread], ...]":
        """The file, then its drop-ins in merge order. A missing one is absent in its place."""
        paths = [*([config] if config else ()), *(self.drop_ins(config_dir) if config_dir else ())]
        return tuple((path, self.read(path)) for path in paths)

    def drop_ins(self, directory: str) -> "list[str]":
        """Files that end in .conf, by name, each directory in its place; a link to a directory is not walked (Go, filepath.WalkDir).

        A missing directory is listed itself: the kubelet stops at it.
        """
        if not directory.endswith("/") and self._is_link(directory):
            return [directory] if _is_drop_in(directory) else []
        directory = directory.rstrip("/") or "/"
        names = self._source.listdir(directory)
        if isinstance(names, Unread) and names.why == "absent":
            return [directory]
        return self._below(directory, need(names), _MAX_DEPTH)

    def _below(self, directory: str, names: "tuple[str, ...]", depth: int) -> "list[str]":
        found: list[str] = []
        for name in sorted(names):
            path = f"{directory}/{name}"
            self._entries.take(1)
            kind = then(self._source.stat(path), lambda one: one.kind)
            if isinstance(kind, Unread) and kind.why not in NOT_THERE:
                raise UnreadError(kind)
            if depth and not isinstance(kind, Unread) and kind == "dir" and not self._is_link(path):
                found += self._below(path, need(self._source.listdir(path)), depth - 1)
            elif _is_drop_in(name):
                found.append(path)
        return found

    def _is_link(self, path: str) -> bool:
        target = self._source.readlink(path)
        if isinstance(target, Unread) and target.why not in NOT_THERE:
            raise UnreadError(target)
        return not isinstance(target, Unread)


def _is_drop_in(name: str) -> bool:
    return name.endswith(_SUFFIX)


def unit_files(source: Source, name: str) -> "tuple[str, ...]":
    """The unit's own file, the first that systemd finds, and its drop-ins; raises ``UnreadError``."""
    own: list[str] = []
    drop_ins: list[str] = []
    seen: set[str] = set()
    for directory in DIRECTORIES:
        real = source.realpath(directory)
        if isinstance(real, Unread):
            if real.why not in NOT_THERE:
                raise UnreadError(real)
            continue
        if real in seen:
            continue
        seen.add(real)
        names = need(source.listdir(directory, absent=()))
        if f"{name}.service" in names and not own:
            own.append(f"{directory}/{name}.service")
        folder = f"{name}.service.d"
        if folder in names:
            drop_ins += [
                f"{directory}/{folder}/{file}"
                for file in need(source.listdir(f"{directory}/{folder}", absent=()))
                if file.endswith(".conf")
            ]
    return (*own, *drop_ins[:_MAX_FILES])


def newest_mtime(source: Source, found: KubeletUnit, config_files: "tuple[str, ...]") -> "float | Unread":
    """Seconds since the epoch, of the configuration's files, the unit's and those of its variables."""
    try:
        text = then(found.unit, lambda one: one.text)
        if isinstance(text, Unread) and text.why not in NOT_APPLICABLE:
            return text
        variables = () if isinstance(text, Unread) else environment_files(parse_unit(text))
        times = [_mtime(source, path) for path in (*config_files, *unit_files(source, found.name), *variables)]
    except UnreadError as error:
        return error.unread
    return max((one for one in times if one is not None), default=Unread("absent", "no file configures it"))


def _mtime(source: Source, path: str) -> "float | None":
    stat = source.stat(path)
    return None if isinstance(stat, Unread) and stat.why in NOT_THERE else need(stat).mtime
