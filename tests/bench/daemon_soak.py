"""Measures the daemon at rest beside Debian's prometheus-node-exporter: half an hour over the simulated 8-GPU host, a pass and a scrape a
minute each. Prints one table, asserts nothing; root. ``make bench`` runs it, ``--minutes`` makes it shorter.

PSS and descriptors are those of both processes between two passes; what files others map, too, is a part of it that depends on those, so
that growth is that of the rest. Processor time includes all that the loop started; programs are what the kernel's proc connector says that
any of them executed after the tenth pass. Devices that come and go on this machine begin passes, too: their number is in the table.
"""

import argparse
import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import requests

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.real.conftest import CACHE  # noqa: E402
from tests.real.daemonrun import Daemon, eventually, port  # noqa: E402
from tests.real.executions import Executions  # noqa: E402
from tests.real.footprint import Footprint, of_daemon, of_process  # noqa: E402

PEER = "prometheus-node-exporter"
PSS_MIB, CPU_PERCENT = 56, 0.25
NODE = "soak"
_PASSES = re.compile(r"^hostagent_passes_total\{.*?\} (.*)$", re.MULTILINE)


class Row:
    """One program while it runs, looked at each minute."""

    def __init__(self, name: str, pid: int, look: "Callable[[], Footprint]", scrape: str) -> None:
        self.name, self.pid, self._look, self._scrape = name, pid, look, scrape
        self.seen: list[tuple[float, Footprint]] = []
        self.passes: list[int] = []
        self.programs: list[str] = []

    def look(self) -> None:
        text = ""
        with contextlib.suppress(requests.RequestException):
            text = requests.get(self._scrape, timeout=10).text
        self.passes.append(sum(int(float(count)) for count in _PASSES.findall(text)))
        self.seen.append((time.monotonic(), self._look()))

    @property
    def words(self) -> str:
        """Of what was seen after the tenth minute, or the first third of a shorter run."""
        rows = self.seen[min(10, len(self.seen) // 3) :]
        (began, first), (ended, last) = rows[0], rows[-1]
        share = 100 * (last.cpu_s - first.cpu_s) / (ended - began)
        pss = [one.pss_kib / 1024 for _, one in rows]
        growth = statistics.linear_regression([at / 3600 for at, _ in rows], [one.own_kib / 1024 for _, one in rows]).slope
        passes = str(self.passes[-1] - self.passes[-len(rows)]) if self.passes[-1] else ""
        return (
            f"{self.name:<36} {statistics.median(pss):>8.1f} {max(pss):>8.1f} {growth:>+10.2f} {share:>8.3f} {passes:>7} "
            f"{f'{first.descriptors} to {last.descriptors}':>12} {len(self.programs):>9}"
        )


def control_plane(folder: Path) -> Any:
    """A kubeconfig for a real API server with the daemon's rights; nothing where none was built."""
    if not (Path(CACHE) / "kubernetes-1.35" / "kube-apiserver").exists():
        return contextlib.nullcontext()
    from tests.real.cluster import started

    return started(folder)


@contextlib.contextmanager
def peer() -> "Iterator[Row | str]":
    """Installed where it is not; why there is none, where that does not work."""
    program = shutil.which(PEER) or _installed()
    if not program:
        yield f"no {PEER} here, and apt-get has none"
        return
    at = port()
    argv = ["setpriv", "--pdeathsig", "KILL", program, f"--web.listen-address=127.0.0.1:{at}"]
    running = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(2)
        yield Row(PEER, running.pid, lambda: of_process(running.pid), f"http://127.0.0.1:{at}/metrics")
    finally:
        running.kill()
        running.wait()


def _installed() -> "str | None":
    if shutil.which("apt-get") and os.geteuid() == 0:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        argv = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", PEER]
        subprocess.run(argv, env=quiet, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return shutil.which(PEER)


def measured(folder: Path, options: argparse.Namespace) -> "tuple[list[Row], str]":
    from tests.trees import hosts

    tree = folder / "tree"
    hosts.hgx_h100_here(tree)
    with control_plane(folder / "cluster") as cluster, peer() as other:
        told: tuple[object, ...] = ("--kubernetes", "off")
        if cluster:
            cluster.node(NODE)
            hours = 24 * 3600
            told = ("--kubeconfig", cluster.kubeconfig(folder / "kubeconfig", cluster.token(NODE, seconds=hours)), "--node-name", NODE)
        with Daemon(folder, "--host-root", tree, "--interval", options.interval, *told) as daemon:
            eventually(lambda: daemon.answers("/readyz"), 120)
            name = f"hostagent daemon{', telling Kubernetes' if cluster else ''}"
            own = Row(name, daemon.process.pid, lambda: of_daemon(daemon.process.pid), f"http://127.0.0.1:{daemon.port}/metrics")
            rows = [own, *([other] if isinstance(other, Row) else [])]
            watch(rows, options)
            assert daemon.end() == 0, daemon.said()
    return rows, "" if isinstance(other, Row) else other


def watch(rows: "list[Row]", options: argparse.Namespace) -> None:
    began, passes = time.monotonic(), int(options.minutes * 60 / options.interval)
    with contextlib.ExitStack() as held:
        for number in range(passes + 1):
            time.sleep(max(0.0, began + number * options.interval - time.monotonic()))
            for row in rows:
                row.look()
            if number == min(10, passes // 3):
                for row in rows:
                    held.enter_context(listening(row))


@contextlib.contextmanager
def listening(row: Row) -> "Iterator[None]":
    try:
        executions = Executions(row.pid)
    except OSError as error:
        row.programs = [f"(nobody tells: {error})"]
        yield
        return
    with executions:
        yield
    row.programs = [*executions.programs, *([f"(not all were heard: {executions.problem})"] if executions.problem else [])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--interval", type=float, default=60)
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("found no root, wanted it: the simulated host has device nodes, and the kernel tells root alone what is executed")
    for folder in ("hostagent", "checks"):  # as an installation does
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / folder)], check=True)
    with tempfile.TemporaryDirectory() as directory:
        rows, lacks = measured(Path(directory), options)
    print(f"{options.minutes:g} minutes, a pass and a scrape each {options.interval:g} s\n")
    print(f"{'':<36} {'PSS MiB':>8} {'at most':>8} {'MiB/hour':>10} {'CPU %':>8} {'passes':>7} {'descriptors':>12} {'programs':>9}")
    for row in rows:
        print(row.words)
    for row in rows:
        for program in row.programs[:10]:
            print(f"  {row.name} executed: {program}")
    print(f"\n{lacks}\n" if lacks else "", end="")
    print(f"\nhostagent daemon: wanted at most {PSS_MIB} MiB and {CPU_PERCENT} % of one core, no program, nothing that grows")


if __name__ == "__main__":
    main()
