"""hostagent in a root that is `/` to it: live, in namespaces of its own, with the kernel's own proc and sysfs, below which made devices lie.

What is made: PCI functions, kernel modules (rmmod and modprobe change files), systemd's manager (systemctl tells of success). What is
real: everything else. The machine stays up between calls, as a host does: /run, /dev/shm and what was left to work survive a call.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.real.installing import Host
from tests.real.installroots import ENVIRONMENT, Root
from tests.trees.pcibus import function
from tests.trees.tree import Tree

_SOURCE = Path(__file__).parents[2]
_H100, _VENDOR, _DISPLAY = 0x2330, 0x10DE, 0x030200
_INIT = """import os, sys, time
print("up", flush=True)
while True:
    try:
        os.wait()
    except ChildProcessError:
        time.sleep(0.05)
"""
#: Tells whether nobody else could have asked the driver meanwhile.
_RMMOD = """#!/bin/sh
nsenter --target=1 --mount flock -n /run/hostagent/nvidia.lock true && echo free >>/run/rmmod || echo locked >>/run/rmmod
[ -d "/sys/module/$1" ] || { echo "rmmod: ERROR: Module $1 is not currently loaded" >&2; exit 1; }
rm -r "/sys/module/$1"
"""
_MODPROBE = """#!/bin/sh
case $1 in nvidia|nvidia-*) ;; *) exec /usr/lib/made/modprobe "$@" ;; esac
version=$(modinfo -k "$(uname -r)" -F version nvidia) || exit 1
name=/sys/module/$(echo "$1" | tr - _)
mkdir -p "$name" && echo "$version" >"$name/version" && echo live >"$name/initstate" && echo 0 >"$name/refcnt"
modinfo -k "$(uname -r)" -F srcversion nvidia >"$name/srcversion"
"""
_SYSTEMCTL = """#!/bin/sh
case $1 in --root=/) exec /usr/lib/made/systemctl "$@" ;; esac
echo "$@" >>/run/systemctl
"""


class Live(Host):
    """A host that is up within ``with host.up()``. Its first process has the root as its own; beside it one works as in a container."""

    def __init__(self, root: Root, more: str = "") -> None:
        super().__init__(root, more=more)
        self.made = Tree(root.path.parent / "made", kernel=root.kernel, driver="")
        self.boots = 1
        self.from_container = False  # hostagent as a container runs it, to which the host's root is a directory
        self._first = self._beside = 0
        for name in ("system", "virtual"):
            self.made.directory(f"/sys/devices/{name}")
        for name in ("bus/pci/devices", "bus/pci/drivers", "module"):
            self.made.directory(f"/sys/{name}")
        self.inside = root.path / "root/profile.yaml"
        self.inside.write_text(self.profile.read_text(encoding="utf-8"), encoding="utf-8")
        for name, text in {"usr/sbin/rmmod": _RMMOD, "usr/sbin/modprobe": _MODPROBE, "usr/bin/systemctl": _SYSTEMCTL}.items():
            _stand_in(root.path / name, text)

    def gpu(self, address: str = "0000:1a:00.0", *, device: int = _H100, driver: str = "") -> None:
        function(self.made, address, _VENDOR, device, _DISPLAY, driver=driver)

    def module(self, name: str, version: str, *, users: int = 0) -> None:
        """A module that the kernel has loaded."""
        for file, text in {"version": version, "initstate": "live", "refcnt": str(users), "srcversion": "0" * 23}.items():
            self.made.write(f"/sys/module/{name}/{file}", f"{text}\n")

    def loaded(self) -> dict[str, str]:
        every = (self.made.root / "sys/module").iterdir()
        return {one.name: (one / "version").read_text().strip() for one in every if (one / "version").exists()}  # what is built in has none

    def enter(self, *argv: str) -> list[str]:
        """As a program of the host."""
        return self._entered(self._first, *argv)

    def _entered(self, process: int, *argv: str) -> list[str]:
        where = ("nsenter", f"--target={process}", "--mount", "--pid", "--")
        given = (f"PYTHONPATH={_SOURCE}:{_SOURCE}/checks", "PYTHONDONTWRITEBYTECODE=1", "HOME=/root", "PATH=/usr/sbin:/usr/bin")
        return [*where, "env", *given, *argv]

    def command(self, name: str, *words: str) -> list[str]:
        """`--site` among the words: no profile is named."""
        path = self.profile if self.from_container else "/root/profile.yaml"
        profile = () if name == "rollback" or "--site" in words else ("--profile", str(path))
        rest = (*profile, *(one for one in words if one != "--site"))
        program = (sys.executable, "-m", "hostagent", name)
        if self.from_container:
            return self._entered(self._beside, *program, "--host-root", str(self.root.path), *rest)
        return self.enter(*program, *rest)

    def state_of(self, run: str) -> str:
        lines = (self.root.path / f"var/lib/hostagent/runs/{run}/journal.jsonl").read_text(encoding="utf-8").splitlines()
        return str(json.loads(lines[-1])["event"])

    def sh(self, line: str) -> str:
        """What a line of shell prints on the host."""
        done = subprocess.run(self.enter("sh", "-ec", line), capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def up(self) -> Iterator[None]:
        """From power on until power off."""
        starts = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", self._boot()]
        with subprocess.Popen(starts, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT) as machine:
            said = machine.stdout.readline() if machine.stdout else ""
            assert said == "up\n", said + (machine.stdout.read() if machine.stdout else "")
            first = psutil.Process(machine.pid).children()[0]
            self._first, self._beside = first.pid, first.children()[0].pid
            try:
                yield
            finally:
                psutil.Process(self._first).kill()
        self.boots += 1

    def _boot(self) -> str:
        root, made = shlex.quote(str(self.root.path)), self.made.root
        boot = self.root.path.parent / "boot_id"
        boot.write_text(f"00000000-0000-4000-8000-{self.boots:012d}\n", encoding="utf-8")
        lines = ["set -e", f"mount --bind {root} {root}", f"cd {root}", "mount -t proc proc proc", "mount --bind /sys sys"]
        for path in (Path(sys.base_prefix), Path(sys.prefix), _SOURCE, self.root.stubs.keys.home):
            (self.root.path / str(path).lstrip("/")).mkdir(parents=True, exist_ok=True)
            lines += [f"mount --bind {path} ./{path}", f"mount -o remount,bind,ro ./{path}"]
        lines += [f"mount --bind {made}/sys/devices sys/devices"]
        lines += [f"mount --rbind /sys/devices/{name} sys/devices/{name}" for name in ("system", "virtual")]
        lines += [f"mount --bind {made}/sys/{name} sys/{name}" for name in ("bus/pci", "module")]
        lines += [f"mount --bind {boot} proc/sys/kernel/random/boot_id", "mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts"]
        lines += ["mkdir -p dev/shm", "mount -t tmpfs tmpfs dev/shm", "mount -t tmpfs -o mode=755 tmpfs run"]
        inside = f"cd {root} && pivot_root . . && umount -l . && cd / && exec {sys.executable} -c {shlex.quote(_INIT)}"
        lines += ["sleep 1000000 &", f"exec unshare --mount sh -c {shlex.quote(inside)}"]
        return "\n".join(lines)


def _stand_in(path: Path, text: str) -> None:
    """A program in the place of another, which is kept for it."""
    kept = path.parents[2] / "usr/lib/made" / path.name
    kept.parent.mkdir(exist_ok=True)
    shutil.move(path, kept)
    if kept.is_symlink():
        target = os.readlink(kept)
        kept.unlink()
        kept.symlink_to(f"/usr/bin/{os.path.basename(target)}")
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def until(done: object, seconds: float = 60) -> None:
    """Wait for `done()`."""
    ends = time.monotonic() + seconds
    while not done():  # type: ignore[operator]
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.05)
