"""Starts the real kubelet on a made machine, in mount and network namespaces of its own: nothing of this machine is written."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.config.model import Machine, MachineNode
from tests.real.conftest import need_real

HOW = "tests/real/install_kubelet.sh"
INSIDE = Path(__file__).parent / "kubelet_inside.py"
HOME = "/var/lib/k"
SECONDS = 60  # a busy machine
GIB = 1 << 30


class Made(NamedTuple):
    """A machine: `nodes` NUMA nodes, each of so many CPUs (two a core), so much memory and so many huge pages of 2 MiB."""

    nodes: int = 2
    cpus: int = 4
    memory: int = 8 * GIB
    hugepages: int = 4

    def facts(self, cpu_state=None, memory_state=None):
        absent = Unread("absent", "no such file")
        nodes = tuple(MachineNode(number, self.memory, ((2 << 20, self.hugepages), (1 << 30, 0))) for number in range(self.nodes))
        last = self.nodes * self.cpus - 1
        cores = tuple(f"{first}-{first + 1}" for first in range(0, last, 2))
        return Machine(
            nodes, f"0-{last}", cores, absent if cpu_state is None else cpu_state, absent if memory_state is None else memory_state
        )

    def write(self, folder):
        _put(
            folder / "meminfo",
            f"MemTotal: {self.nodes * self.memory // 1024} kB\nMemFree: 1 kB\nMemAvailable: 1 kB\nSwapTotal: 0 kB\nHugepagesize: 2048 kB\n",
        )
        for part, last in (("node", self.nodes - 1), ("cpu", self.nodes * self.cpus - 1)):
            for name in ("online", "possible", "present"):
                _put(folder / part / name, f"0-{last}\n" if last else "0\n")
        for node in range(self.nodes):
            self._node(folder, node)
        return folder

    def _node(self, folder, node):
        here, first = folder / "node" / f"node{node}", node * self.cpus
        _put(here / "meminfo", f"Node {node} MemTotal: {self.memory // 1024} kB\nNode {node} MemFree: 1 kB\n")
        _put(here / "distance", " ".join("10" if other == node else "20" for other in range(self.nodes)) + "\n")
        _put(here / "cpulist", f"{first}-{first + self.cpus - 1}\n")
        for size, pages in (("2048", self.hugepages), ("1048576", 0)):
            _put(here / f"hugepages/hugepages-{size}kB/nr_hugepages", f"{pages}\n")
        for cpu in range(first, first + self.cpus):
            for place in (here, folder / "cpu"):
                topology = place / f"cpu{cpu}" / "topology"
                _put(topology / "core_id", f"{cpu // 2}\n")
                _put(topology / "physical_package_id", f"{node}\n")
                _put(topology / "thread_siblings_list", f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}\n")
                _put(place / f"cpu{cpu}" / "online", "1\n")


class Answer(NamedTuple):
    """What became of a kubelet. `configz` is None where it did not stay."""

    configz: dict | None
    log: str
    written: dict[str, str]  # its state files


#: The key and certificate that the first kubelet made: to make one takes longer than all else.
_KEY: dict[str, str] = {}


def _put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def need_kubelet():
    """Paths of the programs; skips, or fails, where one is missing."""
    if os.geteuid() != 0:
        pytest.skip("mounts need root: run the tests as root")
    need_real("unshare", "apt-get install util-linux")
    return {name: need_real(f"kubelet-1.35/{name}", HOW) for name in ("kubelet", "runtime")}


def run_kubelet(folder, machine, flags, files, environment=None):
    """`machine`: a folder that `Made.write` filled. `files`: text, bytes or ("link", target) by path below `HOME` or /var/lib."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    case = {
        **need_kubelet(), "machine": str(machine), "flags": list(flags), "environment": environment or {}, "seconds": SECONDS,
        "files": {path: _as_json(value) for path, value in {**_KEY, **files}.items()},
    }  # fmt: skip
    (folder / "case.json").write_text(json.dumps(case))
    words = ["unshare", "--mount", "--net", "--propagation", "private", sys.executable, "-I", "-S", str(INSIDE), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result, log = json.loads((folder / "result.json").read_text()), (folder / "log").read_text(errors="replace")
    shutil.rmtree(folder)
    assert result["done"], f"neither started nor ended within {SECONDS} s:\n{log[-2000:]}"
    _KEY.update({f"/var/lib/kubelet/{name}": text for name, text in result["written"].items() if name.startswith("pki/")})
    return Answer(result["configz"] if result["exit"] is None else None, log, result["written"])


def _as_json(value):
    if isinstance(value, tuple):
        return list(value)
    return value.decode("latin-1") if isinstance(value, bytes) else value.encode().decode("latin-1")
