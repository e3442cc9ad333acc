"""One directory that is to look like the root of a host."""

import contextlib
import os
import shutil
import stat
from calendar import timegm
from pathlib import Path
from typing import Any

#: When the packages of every host were installed, when it was booted, and when it is looked at.
INSTALLED_AT = timegm((2026, 11, 3, 9, 0, 0))
BOOTED_AT = timegm((2026, 11, 10, 6, 0, 0))
NOW = timegm((2026, 11, 20, 12, 0, 0))


class Tree:
    """Writes below `root`. Paths are those of the host; everything written is as old as `INSTALLED_AT` unless it says when."""

    def __init__(self, root: Path, *, kernel: str, driver: str, arch: str = "x86_64", flavour: str = "open") -> None:
        self.root = root
        self.kernel = kernel
        self.driver = driver  # version of all its parts; "" for none
        self.arch = arch
        self.flavour = flavour
        self.libraries = f"/usr/lib/{arch}-linux-gnu"
        #: What programs of the host would print, by how their command line begins; nothing in a tree can be run.
        self.programs: dict[tuple[str, ...], str] = {}
        #: Its NUMA nodes, see `tests.trees.topology`.
        self.nodes: tuple[Any, ...] = ()
        #: IPv4 addresses by interface, see `tests.trees.netdevs`.
        self.addresses: list[tuple[str, str]] = []
        #: Sizes and free space of volumes that differ from the others', by mount point, see `tests.trees.staged`.
        self.volumes: dict[str, dict[str, int]] = {}
        #: What netlink says: of Data Center Bridging by port, and the kinds of interfaces that sysfs does not tell.
        self.bridging: dict[str, dict[str, Any]] = {}
        self.kinds: dict[str, str] = {}
        #: What libibverbs says of ports, by name and number, see `tests.trees.rdma`.
        self.verbs: dict[tuple[str, int], dict[str, int]] = {}
        #: Where directories are, by path, see `at`.
        self._directories: dict[str, str] = {}
        self._made_before: set[str] = set()
        root.mkdir(parents=True, exist_ok=True)
        for name in ("etc", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "var/lib", "run", "proc", "sys", "dev", "tmp"):
            (root / name).mkdir(parents=True, exist_ok=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            self.link(f"/{name}", f"usr/{name}")
        self.link("/var/run", "/run")

    def at(self, path: str) -> Path:
        """Where `path` is; a part of it that is a link is followed inside the tree."""
        above, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            return Path(self._followed(path))
        return Path(f"{self._directory(above)}/{name}")

    def _directory(self, path: str) -> str:
        """Where a directory is: asked for once, until a link or something removed may change it."""
        if path not in self._directories:
            self._directories[path] = self._followed(path, whole=True)
        return self._directories[path]

    def _followed(self, path: str, *, whole: bool = False) -> str:
        root = found = str(self.root)
        parts = [part for part in path.split("/") if part]
        while parts:
            part = parts.pop(0)
            found = os.path.dirname(found) if part == ".." else f"{found}/{part}"
            if (parts or whole) and os.path.islink(found):
                target = os.readlink(found)
                found = root if target.startswith("/") else os.path.dirname(found)
                parts = [piece for piece in target.split("/") if piece] + parts
        return found

    def write(self, path: str, content: "str | bytes" = "", *, mode: int = 0o644, time: float = INSTALLED_AT) -> None:
        place = str(self._made(path))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            left = memoryview(content.encode() if isinstance(content, str) else content)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fchmod(descriptor, mode)
            os.utime(descriptor, (time, time))
        finally:
            os.close(descriptor)

    def program(self, path: str) -> None:
        """An executable that nobody runs: its header alone, of the host's architecture."""
        machine = {"x86_64": 62, "aarch64": 183}[self.arch]
        self.write(path, b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00" + machine.to_bytes(2, "little") + bytes(44), mode=0o755)

    def text(self, path: str) -> str:
        return self.at(path).read_text()

    def append(self, path: str, content: str, *, time: float = INSTALLED_AT) -> None:
        before = self.text(path) if self.at(path).exists() else ""
        self.write(path, before + content, time=time)

    def edit(self, path: str, old: str, new: str, *, time: float = INSTALLED_AT) -> None:
        """Replace `old`, which must be there."""
        before = self.text(path)
        if old not in before:
            raise ValueError(f"{path} has no {old!r}")
        self.write(path, before.replace(old, new), time=time)

    def touch(self, time: float, *paths: str) -> None:
        for path in paths:
            os.utime(self.at(path), (time, time))

    def link(self, path: str, target: str) -> None:
        place = self._made(path)
        place.unlink(missing_ok=True)
        place.symlink_to(target)
        self._directories.clear()

    def directory(self, path: str) -> None:
        self._made(f"{path}/x")

    def device(self, path: str, major: int, minor: int, mode: int = 0o666) -> None:
        """Needs CAP_MKNOD."""
        self._node(path, stat.S_IFCHR | mode, os.makedev(major, minor))

    def socket(self, path: str) -> None:
        self._node(path, stat.S_IFSOCK | 0o666, 0)

    def remove(self, path: str) -> None:
        """A file, a link or a whole directory, which must be there."""
        place = self.at(path)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()
        self._directories.clear()
        self._made_before.clear()

    def _node(self, path: str, kind: int, device: int) -> None:
        place = self._made(path)
        place.unlink(missing_ok=True)
        os.mknod(place, kind, device)
        place.chmod(stat.S_IMODE(kind))
        os.utime(place, (BOOTED_AT, BOOTED_AT))

    def _made(self, path: str) -> Path:
        place = self.at(path)
        above = os.path.dirname(place)
        if above not in self._made_before:
            os.makedirs(above, exist_ok=True)
            self._made_before.add(above)
        return place
