"""A machine of its own: a real systemd with process number 1, booted by systemd-nspawn in a root that has hostagent at /usr/bin.

Its control groups are those of version 2 and its programs of BPF are loaded, so that a unit's rules on devices hold, as on a host.
"""

import contextlib
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.real.conftest import need_real
from tests.real.daemonrun import eventually

_SOURCE = Path(__file__).parents[2]
_INSIDE, _PYTHONS = "/opt/hostagent", "/opt/venv"
_HOSTAGENT = f"""#!/bin/sh
PYTHONPATH={_INSIDE}:{_INSIDE}/checks PYTHONDONTWRITEBYTECODE=1 exec {_PYTHONS}/bin/python -m hostagent "$@"
"""
#: nspawn takes these from its machines; on a host a service has them.
_RIGHTS = "CAP_BPF,CAP_PERFMON,CAP_SYSLOG,CAP_NET_ADMIN,CAP_SYS_RAWIO,CAP_IPC_LOCK,CAP_MKNOD,CAP_WAKE_ALARM,CAP_SYS_TIME"
_CALLS = "bpf perf_event_open landlock_create_ruleset landlock_add_rule landlock_restrict_self @clock"


class Machine:
    """Up within ``with machine.up()``. `binds`: what of this file system it sees where, read-only."""

    def __init__(self, root: Path, binds: Iterable[tuple[Path, str]] = ()) -> None:
        need_real("systemd-nspawn", "apt-get install systemd-container")
        self.root, self.name = root, f"hostagent-{os.getpid()}-{time.monotonic_ns():x}"
        own = ((_SOURCE, _INSIDE), (Path(sys.prefix), _PYTHONS), (Path(sys.base_prefix), sys.base_prefix))
        self._binds = (*own, *binds)
        self._first = 0
        program = root / "usr/local/bin/hostagent"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(_HOSTAGENT, encoding="utf-8")
        program.chmod(0o755)

    def unit(self, name: str, text: str) -> None:
        """A file of /etc/systemd/system."""
        path = self.root / "etc/systemd/system" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def entered(self, *argv: str) -> list[str]:
        return ["nsenter", f"--target={self._first}", *("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"), "--", *argv]

    def run(self, *argv: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """A program of the machine, as an administrator calls it."""
        done = subprocess.run(self.entered(*argv), capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0 or not check, f"{argv}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done

    def shown(self, unit: str, name: str) -> str:
        """A property of a unit."""
        return self.run("systemctl", "show", "--property", name, "--value", unit).stdout.strip()

    def inside(self, path: str) -> Path:
        """A file as the machine sees it, its /run and /dev too."""
        return Path(f"/proc/{self._first}/root{path}")

    def process(self, number: int) -> psutil.Process:
        """The process that has this number in the machine."""
        for one in psutil.Process(self._first).children(recursive=True):
            with contextlib.suppress(OSError, StopIteration):
                lines = Path(f"/proc/{one.pid}/status").read_text(encoding="utf-8").splitlines()
                if next(line for line in lines if line.startswith("NSpid:")).split()[-1] == str(number):
                    return one
        raise AssertionError(f"no process {number} in the machine")

    @contextmanager
    def up(self) -> Iterator[None]:
        groups = [place / self.name for place in _hierarchies()]
        for place in groups:
            place.mkdir()
        try:
            with subprocess.Popen(["unshare", "--mount", "sh", "-c", self._boot(groups)], **_QUIET) as spawn:
                try:
                    self._wait(spawn)
                    yield
                finally:
                    if self._first:
                        psutil.Process(self._first).kill()
                    else:
                        spawn.kill()
        finally:
            self._first = 0
            for place in groups:
                for folder, _, _ in os.walk(place, topdown=False):
                    eventually(lambda folder=folder: _removed(folder), 10)

    def _boot(self, groups: "list[Path]") -> str:
        options = (
            *("quiet", "boot", "private-network", "keep-unit", "register=no", "link-journal=no", "console=pipe"),
            *(f"machine={self.name}", f"directory={self.root}", f"capability={_RIGHTS}", f"system-call-filter={_CALLS}"),
            *(f"bind-ro={source}:{target}" for source, target in self._binds),
        )
        lines = [
            "set -e",
            *(f"echo $$ >{place}/cgroup.procs" for place in groups),
            "mkdir -p /run/systemd/nspawn",
            "mount -t tmpfs tmpfs /run/systemd/nspawn",  # else it looks there for what is left of others
            "export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1",
            shlex.join(["exec", "setpriv", "--pdeathsig", "KILL", "systemd-nspawn", *(f"--{one}" for one in options)]),
        ]
        return "\n".join(lines)

    def _wait(self, spawn: "subprocess.Popen[str]") -> None:
        def is_up() -> bool:
            assert spawn.poll() is None, spawn.stdout and spawn.stdout.read()
            self._first = 0
            with contextlib.suppress(psutil.NoSuchProcess):  # what nspawn starts before it
                children = psutil.Process(spawn.pid).children()
                self._first = children[0].pid if children and children[0].name() == "systemd" else 0
            return bool(self._first) and self.run("systemctl", "is-system-running", check=False).stdout.strip() == "running"

        eventually(is_up, 60)
        # A unit may get a /proc of its own, below which nspawn's made boot id does not lie.
        self.run("umount", "/proc/sys/kernel/random/boot_id")


_QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


def _hierarchies() -> "list[Path]":
    """Where control groups of version 2 are mounted, and systemd's own hierarchy of version 1 beside them."""
    found = [line.split() for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    return [Path(row[1]) for row in found if row[2] == "cgroup2" or (row[2] == "cgroup" and "name=systemd" in row[3].split(","))]


def _removed(folder: str) -> bool:
    """A group goes once its last process has."""
    with contextlib.suppress(FileNotFoundError):
        try:
            os.rmdir(folder)
        except OSError:
            return False
    return True
