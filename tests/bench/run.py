"""Measures the product against a peer and a floor in one run: ``make bench``.

Peer: one trivial check of gpucm (``health_checks check-storage disk-usage``), from PyPI. Floor: ``import click``.
Medians over alternating rounds, so that a busy machine hits all commands alike. Prints a table, asserts nothing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.real.conftest import CACHE  # noqa: E402

PEER = "gpucm==0.0.2"
HOST = ROOT / "tests/hosts/hgx-h100-ubuntu2404"
HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
RUN_ONCE = """
import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]
started = time.perf_counter()
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet), 0)
wall = time.perf_counter() - started
print(os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
"""
COUNT_PROCESSES = """
import os, sys
counted = {"programs": 0, "forks": 0}
def hook(event, arguments):
    if event == "subprocess.Popen": counted["programs"] += 1
    if event == "os.fork": counted["forks"] += 1
sys.addaudithook(hook)
from hostagent.cli.run import run
try:
    run(sys.argv[2:])
finally:
    with open(os.environ["COUNTED"], "w") as stream:
        stream.write(f"{counted['programs']} {counted['forks']}")
"""


class Sample(NamedTuple):
    """One run: seconds, seconds, MiB."""

    wall_s: float
    cpu_s: float
    rss_mib: float


def sample(argv: list[str]) -> Sample:
    """Run once, from a bare interpreter: the kernel counts the memory of whoever starts a program as that program's."""
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", RUN_ONCE, *argv], capture_output=True, text=True, check=True)
    code, *figures = ran.stdout.split()
    if code not in ("0", "1"):
        raise SystemExit(f"{' '.join(argv)} ended with {code}")
    return Sample(*map(float, figures))


def peer() -> list[str]:
    """The peer's check, installed once in an environment of its own outside the tree."""
    home = Path(CACHE) / PEER
    program = home / "bin/health_checks"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(home / "bin/pip"), "install", "--quiet", PEER], check=True)
        subprocess.run([str(home / "bin/python"), "-m", "compileall", "-q", str(home / "lib")], check=False)
    thresholds = ["--usage-critical-threshold", "99", "--usage-warning-threshold", "98"]
    return [str(program), "check-storage", "disk-usage", "cluster", "app", "--log-folder", tempfile.mkdtemp(), "-v", "/", *thresholds]


def worker_rss_mib(argv: list[str]) -> float:
    """Peak memory of the worker process: what the kernel says of the child while it lives, looked at every half millisecond."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        try:
            for child in psutil.Process(process.pid).children():
                peak = max(peak, child.memory_info().rss / 1024**2)
        except psutil.Error:
            break
        time.sleep(0.0005)
    process.wait()
    return peak


def processes(arguments: list[str]) -> tuple[int, int]:
    """Programs started and forks made by one run."""
    with tempfile.NamedTemporaryFile() as counted:
        environment = {**os.environ, "COUNTED": counted.name}
        subprocess.run(
            [sys.executable, "-c", COUNT_PROCESSES, "hostagent", *arguments],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        programs, forks = Path(counted.name).read_text(encoding="ascii").split()
    return int(programs), int(forks)


#: A pod that is rejected: the kubelet's own search among 34 NUMA nodes does not end, ours looks for what would admit it, too.
POD = "gpus=8,cpus=16,memory=51Gi"

#: A pass over a host with many RDMA devices, and what it may cost: MiB, and KiB of its snapshot.
HCAS = "hostagent check, replayed 16-HCA host"
HCAS_MIB, HCAS_KIB = 35, 400
STRICT = (
    "topologyManagerPolicy: restricted",
    'topologyManagerPolicyOptions: {max-allowable-numa-nodes: "34", prefer-closest-numa-nodes: "true"}',
    "cpuManagerPolicy: static",
    'kubeReserved: {cpu: "2"}',
)


def many_nodes(directory: str) -> Path:
    """A recorded host whose GPUs' memory makes 32 NUMA nodes more than its two sockets, and whose kubelet is strict."""
    from hostagent import snapshot
    from hostagent.engine.collection import InProcess
    from hostagent.host import recording
    from tests.trees import kubelethost, topology
    from tests.trees.staged import stage

    more = tuple(topology.Node(at, "", -1, 0) for at in range(2, 34))
    tree = kubelethost.build(Path(directory) / "many", *STRICT, numa=(*kubelethost.nodes(2, cpus=256, memory_gib=2048), *more))
    recorded = Path(directory) / "many.json"
    with stage(tree) as backend:
        recorded.write_text(recording.dumps(snapshot.record(InProcess(backend), b"k" * 32)), encoding="utf-8")
    return recorded


def many_hcas(directory: str) -> Path:
    """A recorded host with 256 CPUs, eight GPUs and 16 RDMA devices: a rail for each GPU, and storage."""
    from hostagent import snapshot
    from hostagent.engine.collection import InProcess
    from hostagent.host import recording
    from tests.trees import hosts, netdevs, pcibus, rails, rdma
    from tests.trees.staged import stage
    from tests.trees.tree import Tree

    def nics(tree: Tree) -> None:
        rails.roce(tree, hosts.PLACES)
        rails.others(tree, hosts.CPUS)
        for number, bus in enumerate(range(0xE8, 0xEE)):
            above = ("pci0000:e7", f"0000:e7:{number + 1:02x}.0")
            netdev = netdevs.Netdev(f"enp{bus}s0np0", 9000, addresses=(f"10.21.{number}.17/24",))
            hca = rdma.Hca(f"mlx5_{number + 10}", "Ethernet", rdma.EDR)
            pcibus.nic(
                tree, rails.CONNECTX_6_DX, pcibus.Place(f"0000:{bus:02x}:00.0", 1, hosts.CPUS[1]), above=above, netdev=netdev, rdma=hca
            )
        rdma.stack(tree)

    recorded = Path(directory) / "hcas.json"
    with stage(hosts.hgx(Path(directory) / "hcas", nics)) as backend:
        recorded.write_text(recording.dumps(snapshot.record(InProcess(backend), b"k" * 32)), encoding="utf-8")
    return recorded


def commands(tree: Path | None, many: Path, hcas: Path) -> dict[str, list[str]]:
    """What is measured, by the name in the table."""
    python = sys.executable
    fabric = [HOSTAGENT, "check", "--profile", "default", "--from", str(hcas)]
    measured = {
        "python -c 'import click'": [python, "-c", "import click"],
        "gpucm, one disk check": peer(),
        "hostagent status": [HOSTAGENT, "status"],
        "hostagent check, this machine": [HOSTAGENT, "check", "--profile", "default"],
        "hostagent check, replayed 8-GPU host": [HOSTAGENT, "check", "--profile", "default", "--from", str(HOST)],
    }
    measured["the same, --skip topology,kubelet"] = [*measured["hostagent check, replayed 8-GPU host"], "--skip", "topology,kubelet"]
    measured[HCAS] = fabric
    measured["the same, --skip rdma,network"] = [*fabric, "--skip", "rdma,network"]
    measured["the same, --skip nccl"] = [*fabric, "--skip", "nccl"]
    measured["hostagent topology, 34 NUMA nodes"] = [HOSTAGENT, "topology", "--profile", "any", "--from", str(many)]
    measured["the same, --pod"] = [*measured["hostagent topology, 34 NUMA nodes"], "--pod", POD]
    if tree:
        measured["hostagent check, stub-NVML 8-GPU host"] = [HOSTAGENT, "check", "--profile", "default", "--host-root", str(tree)]
    return measured


def stub_host(directory: str) -> Path | None:
    """The tree the recorded 8-GPU host was recorded from, with the stub NVML library: needs root for its device nodes."""
    if os.geteuid() != 0:
        return None
    from tests.trees.record import RECIPES

    tree = Path(directory) / "host"
    RECIPES[HOST.name].build(tree)
    return tree


def main() -> None:
    for folder in ("hostagent", "checks"):  # as an installation does
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / folder)], check=True)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="write the figures there too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        hcas = many_hcas(directory)
        kib = hcas.stat().st_size / 1024
        measured = commands(stub_host(directory), many_nodes(directory), hcas)
        samples: dict[str, list[Sample]] = {name: [] for name in measured}
        for argv in measured.values():
            sample(argv)  # warm the page cache and the .pyc files
        for _ in range(options.rounds):
            for name, argv in measured.items():
                samples[name].append(sample(argv))
        medians = {name: Sample(*(statistics.median(column) for column in zip(*rows, strict=True))) for name, rows in samples.items()}
        extra = {name: processes(argv[1:]) for name, argv in measured.items() if argv[0] == HOSTAGENT}
        worker = {name: worker_rss_mib(argv) for name, argv in measured.items() if "check" in argv}
    report(medians, extra, worker, options.rounds)
    print(f"\n{HCAS}: {medians[HCAS].rss_mib:.1f} MiB, wanted at most {HCAS_MIB}; its snapshot {kib:.0f} KiB, wanted at most {HCAS_KIB}")
    if options.json:
        options.json.write_text(json.dumps({name: one._asdict() for name, one in medians.items()}, indent=1), encoding="ascii")


def report(medians: dict[str, Sample], extra: dict[str, tuple[int, int]], worker: dict[str, float], rounds: int) -> None:
    floor, one_check = medians["python -c 'import click'"], medians["gpucm, one disk check"]
    print(f"medians of {rounds} rounds\n")
    print(
        f"{'command':<40} {'wall ms':>8} {'cpu ms':>7} {'MiB':>6} {'x click':>8} {'x gpucm':>8} {'programs':>9} {'forks':>6} {'worker MiB':>11}"
    )
    for name, one in medians.items():
        programs, forks = extra.get(name, ("", ""))
        beside = f"{worker[name]:.1f}" if name in worker else ""
        print(
            f"{name:<40} {one.wall_s * 1000:>8.0f} {one.cpu_s * 1000:>7.0f} {one.rss_mib:>6.1f} "
            f"{one.wall_s / floor.wall_s:>8.2f} {one.wall_s / one_check.wall_s:>8.2f} {programs:>9} {forks:>6} {beside:>11}"
        )
    ratios = (
        ("hostagent check, replayed 8-GPU host", "gpucm, one disk check", 0.36),
        ("hostagent check, replayed 8-GPU host", "the same, --skip topology,kubelet", 1.2),
        (HCAS, "gpucm, one disk check", 0.42),
        (HCAS, "the same, --skip rdma,network", 1.2),
        (HCAS, "the same, --skip nccl", 1.08),
        ("the same, --pod", "hostagent topology, 34 NUMA nodes", 1.5),
    )
    for name, other, wanted in ratios:
        if name in medians and other in medians:
            print(f"\n{name} / {other}: {medians[name].wall_s / medians[other].wall_s:.2f}, wanted at most {wanted:.2f}")


if __name__ == "__main__":
    main()
