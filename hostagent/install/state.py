"""State of a host before a run, for a rollback: files, links and directories with mode and owner, and packages."""

# Left out because others write them while a run works: ld.so.cache, resolv.conf, mtab, adjtime, /etc/kubernetes, cni, rancher,
# NetworkManager, netplan, lvm's archives. Maintainer scripts change files that no plan names (passwd, alternatives, enabled
# units), so all of /etc is kept. Extended attributes and access lists are not.

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from hostagent.core.answers import MIB
from hostagent.core.unread import Unread, need
from hostagent.facts.installation import Installation
from hostagent.install.runs import Run, named
from hostagent.install.target import Target

#: What packages and programs of a run change besides the files of its plan.
TREE = "/etc"
#: Paths that others write during a run, or that are generated from other files.
_OTHERS = (
    *("/etc/ld.so.cache", "/etc/mtab", "/etc/resolv.conf", "/etc/adjtime", "/etc/.pwd.lock", "/etc/.updated"),
    *("/etc/kubernetes", "/etc/cni", "/etc/rancher", "/etc/NetworkManager", "/etc/netplan", "/etc/lvm/archive", "/etc/lvm/backup"),
)
#: Bytes of a file that is kept, and of all.
MAX_BYTES, _MAX_ALL_BYTES = 16 * MIB, 512 * MIB
#: A copy that is being made.
_NEW = "new"
Packages = dict[str, dict[str, Any]]


class Entry(NamedTuple):
    """What is at one path. `text`: a link's target; `digest`: SHA-256 of a file."""

    kind: str  # file, link, directory, other, none
    mode: int = 0
    uid: int = 0
    gid: int = 0
    text: str = ""
    digest: str = ""
    mtime_ns: int = 0

    def same(self, other: "Entry") -> bool:
        """Equal but for the time."""
        return self[:-1] == other[:-1]


Files = dict[str, Entry]


def entry_at(place: str) -> Entry:
    """What is at `place` of this process. Raises ``OSError``."""
    try:
        found = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return Entry("none")
    owner = (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid)
    if stat.S_ISLNK(found.st_mode):
        return Entry("link", *owner, os.readlink(place))
    if stat.S_ISDIR(found.st_mode):
        return Entry("directory", *owner)
    if not stat.S_ISREG(found.st_mode):
        return Entry("other", *owner)
    with open(place, "rb") as stream:
        return Entry(
            "file",
            *owner,
            "",
            hashlib.file_digest(stream, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(stream),
            found.st_mtime_ns,
        )


def _digest(stream: Any) -> str:
    made = hashlib.sha256()
    while piece := stream.read(MIB):
        made.update(piece)
    return made.hexdigest()


def files_of(target: Target, paths: Iterable[str], *, tree: bool = True) -> Files:
    """Everything below `TREE`, and what is at `paths` with the directories on the way that are not there yet."""
    found: Files = {}
    if tree:
        _walk(target.directory(TREE), TREE, found)
    for path in paths:
        while path not in found and path != "/":
            found[path] = entry_at(target.directory(os.path.dirname(path)) + "/" + os.path.basename(path))
            if found[path].kind != "none":
                break
            path = os.path.dirname(path)  # noqa: PLW2901  upwards
    return found


def _walk(place: str, path: str, found: Files) -> None:
    if path in _OTHERS:
        return
    found[path] = entry_at(place)
    if found[path].kind == "directory":
        for name in sorted(os.listdir(place)):
            _walk(f"{place}/{name}", f"{path}/{name}", found)


def keep(target: Target, files: Files, run: Run) -> tuple[str, ...]:
    """Copy all files into the run's folder. Returns the paths of those that are too large."""
    folder, total, large = f"{run.path}/copies", 0, list[str]()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for path, entry in files.items():
        copy = f"{folder}/{entry.digest}"
        if entry.kind != "file" or os.path.exists(copy):
            continue
        place = target.directory(os.path.dirname(path)) + "/" + os.path.basename(path)
        size = os.lstat(place).st_size
        if size > MAX_BYTES or total + size > _MAX_ALL_BYTES:
            large.append(path)
            continue
        total += size
        new = f"{folder}/{_NEW}"
        with named(new), open(place, "rb") as source, open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(source.read())
        os.rename(new, copy)  # whole under its name: where a run ends in the middle, the next takes no piece for the file
    return tuple(large)


def unchanged(target: Target, before: Files) -> Files:
    """Files that did not change: copies that a killed run dropped at its end are made again."""
    now = files_of(target, before)
    return {path: entry for path, entry in before.items() if entry.same(now.get(path, Entry("none")))}


def drop_copies(run: Run, needed: Iterable[str]) -> None:
    """Drop copies of files that did not change: their secrets are not stored twice."""
    kept = set(needed)
    folder = f"{run.path}/copies"
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name not in kept:
            os.unlink(f"{folder}/{name}")


def packages_of(installation: "Installation | Unread") -> Packages:
    """By ``name:arch``. Raises ``UnreadError``."""
    listed = need(need(installation).packages)
    return {f"{one.name}:{one.arch}": asdict(one) for one in listed}


def is_there(package: "Mapping[str, Any] | None") -> bool:
    """Whether it is installed, in any state but that of configuration files alone."""
    return package is not None and package["state"] not in ("config-files", "not-installed")


def as_json(files: Files) -> dict[str, list[Any]]:
    return {path: list(entry) for path, entry in files.items()}


def from_json(found: Mapping[str, Any]) -> Files:
    return {path: Entry(*entry) for path, entry in found.items()}
