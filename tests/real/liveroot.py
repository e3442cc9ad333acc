"""hostagent in a root that is `/` to it: live, in namespaces of its own, with the kernel's own proc and sysfs, below which made devices lie.

What is made: PCI functions, kernel modules and device nodes (null devices). What is real: everything else.
"""

import os
import shlex
import sys
from pathlib import Path

from tests.real.installing import Host
from tests.real.installroots import Root
from tests.trees.pcibus import function
from tests.trees.tree import Tree

_SOURCE = Path(__file__).parents[2]
_H100, _VENDOR, _DISPLAY = 0x2330, 0x10DE, 0x030200


class Live(Host):
    """`function`s and `modules` are added before the first call."""

    def __init__(self, root: Root, install: str = "", more: str = "") -> None:
        super().__init__(root, install, more)
        self.made = Tree(root.path.parent / "made", kernel=root.kernel, driver="")
        for name in ("system", "virtual"):
            self.made.directory(f"/sys/devices/{name}")
        for name in ("bus/pci/devices", "bus/pci/drivers", "module"):
            self.made.directory(f"/sys/{name}")
        inside = root.path / "root/profile.yaml"
        inside.write_text(self.profile.read_text(encoding="utf-8"), encoding="utf-8")
        self._shared = (Path(sys.base_prefix), Path(sys.prefix), _SOURCE, root.stubs.keys.home)

    def gpu(self, address: str = "0000:1a:00.0", *, device: int = _H100, driver: str = "") -> None:
        function(self.made, address, _VENDOR, device, _DISPLAY, driver=driver)

    def module(self, name: str, version: str, *, users: int = 0) -> None:
        """A module that the kernel has loaded."""
        for file, text in {"version": version, "initstate": "live", "refcnt": str(users), "srcversion": "0" * 23}.items():
            self.made.write(f"/sys/module/{name}/{file}", f"{text}\n")

    def node(self, path: str) -> None:
        os.mknod(self.root.path / path.lstrip("/"), 0o20666, os.makedev(1, 3))

    def command(self, name: str, *words: str) -> list[str]:
        profile = () if name == "rollback" else ("--profile", "/root/profile.yaml")
        return self.entered(sys.executable, "-m", "hostagent", name, *profile, *words)

    def entered(self, *argv: str) -> list[str]:
        root, made = self.root.path, self.made.root
        lines = [
            "set -e",
            f"mount --bind {root} {root}",
            f"cd {shlex.quote(str(root))}",
            "mount -t proc proc proc",
            "mount --bind /sys sys",
        ]
        for path in self._shared:
            (root / str(path).lstrip("/")).mkdir(parents=True, exist_ok=True)
            lines.append(f"mount --rbind {path} ./{path}")
        lines += [f"mount --bind {made}/sys/devices sys/devices"]
        lines += [f"mount --rbind /sys/devices/{name} sys/devices/{name}" for name in ("system", "virtual")]
        lines += [f"mount --bind {made}/sys/{name} sys/{name}" for name in ("bus/pci", "module")]
        lines += ["mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts", "mount -t tmpfs tmpfs run"]
        lines += [
            f"cd / && exec chroot {shlex.quote(str(root))} env PATH=/usr/sbin:/usr/bin PYTHONPATH={_SOURCE}:{_SOURCE}/checks PYTHONDONTWRITEBYTECODE=1 {shlex.join(argv)}"
        ]
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", "\n".join(lines)]
