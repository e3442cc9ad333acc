"""Newer Slurms in roots of newer Debians, for `slurmrun`: what runs in them sees the tests' folders, this checkout and its Python at their own paths."""

import contextlib
import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real.conftest import need_real
from tests.real.slurmrun import Place

HOW = "bash tests/real/full_slurm_roots.sh"
_SOURCE = Path(__file__).parents[2]


class Root(Place):
    """Its mounts are those of the process `holder`, and go with it."""

    def __init__(self, holder: int, merged: Path) -> None:
        self._enter = ["/usr/bin/nsenter", f"--target={holder}", "--mount", "/usr/sbin/chroot", str(merged)]
        said = subprocess.run(self.command("/usr/sbin/slurmctld", "-V"), capture_output=True, text=True, check=True).stdout
        self.version = int(said.split()[1].split(".")[0])

    def command(self, *argv: str) -> list[str]:
        return [*self._enter, *argv]


@contextmanager
def root(suite: str, home: Path) -> Iterator[Root]:
    """Of a Debian suite. `home`: the folder of the tests, which both sides write."""
    key = hashlib.sha256(Path(__file__).with_name("full_slurm_roots.sh").read_bytes()).hexdigest()[:16]
    lower, scratch = need_real(f"slurm-roots-{key}/{suite}", HOW), home / "root"
    scratch.mkdir(parents=True)
    merged = scratch / "merged"
    seen = {str(one) for one in (_SOURCE, Path(sys.prefix), Path(sys.base_prefix))}
    lines = [
        "set -e",
        f"mount -t tmpfs tmpfs {scratch}",
        f"mkdir {scratch}/upper {scratch}/work {merged}",
        f"mount -t overlay -o lowerdir={lower},upperdir={scratch}/upper,workdir={scratch}/work overlay {merged}",
        f"echo 127.0.0.1 localhost {os.uname().nodename} >{merged}/etc/hosts",
        f"mount -t proc proc {merged}/proc",
        f"mount --rbind /dev {merged}/dev",
        *(f"mkdir -p {merged}{one} && mount --rbind {shlex.quote(one)} {merged}{one}" for one in (*sorted(seen), str(home))),
        "echo ready",
        "exec sleep infinity",
    ]
    argv = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation=private", "sh", "-c", "\n".join(lines)]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            yield Root(holder.pid, merged)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(holder.pid, 9)
