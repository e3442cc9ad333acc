"""A root of which one directory is on a file system of its own that fills up: mounts that only this host's hostagent sees."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real.installing import Host
from tests.real.installroots import Root

MIB = 1 << 20
#: What is in the directory comes along; where a file is named, a program that writes it fills the new file system.
_MOUNT = """set -e
mount -t tmpfs -o "$3" tmpfs "$2"
cp -a "$1/." "$2"
chmod --reference "$1" "$2"
if [ -n "$4" ]; then : >"$2/ballast"; : >>"$4"; mount --bind "$2/ballast" "$4"; fi
mount --move "$2" "$1"
echo mounted
exec cat
"""


class FullHost(Host):
    """`path` is the directory, as the host sees it."""

    def __init__(self, root: Root, directory: str, holder: int, **more: str) -> None:
        super().__init__(root, **more)
        self._holder = holder
        self.seen = Path(f"/proc/{holder}/root{root.path}")
        self.path = self.seen / directory

    def command(self, name: str, *words: str) -> list[str]:
        return ["nsenter", f"--mount=/proc/{self._holder}/ns/mnt", "--", *super().command(name, *words)]

    @property
    def ballast(self) -> Path:
        return self.path / "ballast"

    def fill(self) -> None:
        """To the last byte."""
        with open(self.ballast, "wb", buffering=0) as stream:
            for size in (MIB, 4096, 1):
                try:
                    while stream.write(b"\0" * size):
                        pass
                except OSError:
                    continue


@contextmanager
def full(root: Root, directory: str, options: str, filled_by: str = "", **more: str) -> Iterator[FullHost]:
    """`options` of the tmpfs, `filled_by` a path in the root."""
    with tempfile.TemporaryDirectory() as place:
        words = ["unshare", "--mount", "sh", "-c", _MOUNT, "sh", str(root.path / directory), place, options]
        words.append(str(root.path / filled_by) if filled_by else "")
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdin
            assert holder.stdout
            try:
                assert holder.stdout.readline() == "mounted\n"
                yield FullHost(root, directory, holder.pid, **more)
            finally:
                holder.stdin.close()


def used(path: Path) -> int:
    """Bytes that a copy takes in memory: whole pages."""
    files = (Path(above, name).lstat().st_size for above, _, names in os.walk(path) for name in names)
    return sum((size + 4095) // 4096 * 4096 for size in files)
