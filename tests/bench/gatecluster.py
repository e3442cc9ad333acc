"""Measures ``hostagent gate`` on a large cluster against ``kubectl get nodes -o name``: ``python tests/bench/gatecluster.py``.

The API server and etcd are real and on this machine. NODES (10000) GPU nodes of 25 kB have what an agent writes; one in ten cannot serve, for
one of six reasons. Pods hold all GPUs of half of the nodes, one on each, on every tenth of them eight.

placeable    a job of 4 nodes with 8 GPUs, as most are
nearly full  the same where all nodes but four of one class, the last by name, are full
refused      a job for which all nodes and all pods are read: a node more than there are free ones
--all        the job that is placeable, with every node read and judged

Medians of time and the most memory, of alternating rounds. Wanted, of 10,000 nodes: placeable in 1.5 s and 150 MiB, and half the time of
kubectl; the refusals in 30 s. ``--check`` exits 1 where that is missed.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.bench.fleetagents import Connection, gpu_node  # noqa: E402
from tests.bench.run import HOSTAGENT, Sample, sample  # noqa: E402
from tests.real.cluster import Cluster, program, started  # noqa: E402
from tests.real.conftest import CACHE  # noqa: E402
from tests.real.gatecluster import GPUS, Host, Taint, pod_spec  # noqa: E402

#: Wanted, of 10,000 nodes: seconds, MiB, part of kubectl's time, seconds.
PLACEABLE_S, RSS_MIB, OF_KUBECTL, REFUSED_S = 1.5, 150.0, 0.5, 30.0
_FLEET = 10_000
#: A small cluster runs while other tests do: so many times slower, and kubectl has little to do.
_BUSY = 4
_SPACE = "default"
#: The API server adds a taint to each new node, which a controller takes away: none runs here.
_FLAGS = ("--disable-admission-plugins=TaintNodesByCondition",)
_THREADS = 6


class Fleet:
    """What the cluster holds. `free`: names of the nodes that can serve and have all their GPUs, by class."""

    def __init__(self, nodes: int) -> None:
        self._draw, self._now = random.Random(38), time.time()
        self._names = [f"gpu-{number:05}" for number in range(nodes)]
        self.busy: dict[str, int] = {}
        self.free: dict[str, list[str]] = {}

    def nodes(self) -> Iterator[bytes]:
        """Documents; after them `busy` and `free` are known."""
        for number, name in enumerate(self._names):
            host = self._host(number, name)
            said, document = host.document(), gpu_node(name)
            document["metadata"]["labels"] |= said["metadata"]["labels"]
            document["metadata"]["annotations"] |= said["metadata"]["annotations"]
            document["spec"] |= said["spec"]
            conditions = [one for one in document["status"]["conditions"] if one["type"] != "Ready"]
            document["status"]["conditions"] = conditions + said["status"]["conditions"]
            document["status"]["nodeInfo"]["bootID"] = host.boot
            if number % 2:
                self.busy[name] = 8 if number % 20 == 1 else 1
            elif not host.flaws:
                self.free.setdefault(host.group(), []).append(name)
            yield json.dumps(document).encode()

    def _host(self, number: int, name: str) -> Host:
        host = Host(name, {"kubernetes.io/hostname": name}, self._now - self._draw.uniform(0, 300))
        if number % 3 == 0:
            host.inputs["mtu"] = "1500"
        if self._draw.random() < 0.1:
            host.flaws.append(flaw := self._draw.choice(["cordoned", "tainted", "silent", "not ready", "not ready for several", "booted"]))
            if flaw == "cordoned":
                host.is_cordoned = True
            elif flaw == "tainted":
                host.taints.append(Taint("example.com/maintenance"))
            elif flaw == "silent":
                host.heartbeat = "2026-01-01T00:00:00Z"
            elif flaw == "booted":
                host.boot = "b2"
            else:
                of = host.single if flaw == "not ready" else host.multi
                of.update(dict.fromkeys(of, "not_ready"))
        return host

    def pods(self) -> Iterator[bytes]:
        """Of the nodes that are busy from the start."""
        for name, count in self.busy.items():
            for number in range(count):
                yield pod(f"{name}-{number}", name, 8 // count)

    def fill(self) -> "Iterator[bytes]":
        """Pods for all that is free but the last four of the larger class."""
        kept = set(max(self.free.values(), key=len)[-4:])
        for names in self.free.values():
            for name in names:
                if name not in kept:
                    yield pod(f"{name}-later", name, 8)


def pod(name: str, node: str, gpus: int) -> bytes:
    """Bound, and of some 3 kB, as pods of training jobs are."""
    spec = pod_spec({GPUS: str(gpus), "cpu": "12", "memory": "100Gi"}, nodeName=node)
    spec["containers"][0]["env"] = [{"name": f"SETTING_{number:02}", "value": "x" * 40} for number in range(20)]
    return json.dumps({"metadata": {"name": name, "labels": {"example.com/job": "training"}}, "spec": spec}).encode()


def create(cluster: Cluster, path: str, documents: "Iterable[bytes]") -> int:
    """All of them, by some connections at once; how many they were."""
    left, guard, problems, made = iter(documents), threading.Lock(), list[str](), [0]

    def work() -> None:
        connection = Connection(cluster)
        while True:
            with guard:
                data = next(left, None)
            if data is None or problems:
                return
            code, text, _ = connection.ask("POST", path, data)
            made[0] += 1
            if code != 201:
                problems.append(text.decode(errors="replace"))

    running = [threading.Thread(target=work) for _ in range(_THREADS)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert not problems, problems[0]
    return made[0]


class Bench:
    """Runs of the gate and of kubectl, with the same kubeconfig."""

    def __init__(self, config: Path, rounds: int) -> None:
        self._config, self._rounds = str(config), rounds
        self.kubectl = [program("kubectl"), "--kubeconfig", self._config, "get", "nodes", "-o", "name"]

    def gate(self, nodes: int, *more: str) -> list[str]:
        return [HOSTAGENT, "gate", "--nodes", str(nodes), "--gpus-per-node", "8", "--kubeconfig", self._config, *more]

    def answer(self, argv: list[str]) -> Any:
        """As JSON: what is measured is looked at once."""
        done = subprocess.run([*argv, "--json"], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def measure(self, runs: "dict[str, list[str]]") -> "dict[str, Sample]":
        """Medians of the times, and the most memory; in the first round nothing is cached."""
        samples: dict[str, list[Sample]] = {name: [] for name in runs}
        for _ in range(self._rounds):
            for name, argv in runs.items():
                samples[name].append(sample(argv))
        found = {}
        for name, rows in samples.items():
            found[name] = Sample(
                statistics.median(one.wall_s for one in rows),
                statistics.median(one.cpu_s for one in rows),
                max(one.rss_mib for one in rows),
            )
            print(f"{name:<34}{found[name].wall_s:>8.2f} s {found[name].cpu_s:>8.2f} s {found[name].rss_mib:>8.1f} MiB", flush=True)
        return found


def run(cluster: Cluster, nodes: int, rounds: int) -> "list[tuple[str, float, float]]":
    """What was measured, and how much is wanted at most."""
    cluster.ask("DELETE", "/api/v1/nodes/probe")
    fleet, began = Fleet(nodes), time.monotonic()
    create(cluster, "/api/v1/nodes", fleet.nodes())
    pods = create(cluster, f"/api/v1/namespaces/{_SPACE}/pods", fleet.pods())
    size = len(json.dumps(cluster.get("gpu-00000"))) / 1000
    print(f"{nodes} nodes of {size:.0f} kB and {pods} pods made in {time.monotonic() - began:.0f} s", flush=True)
    bench = Bench(cluster.kubeconfig(Path(cluster.folder) / "bench.kubeconfig"), rounds)
    free = max(map(len, fleet.free.values()))
    placeable, refused = bench.gate(4), bench.gate(free + 1)
    answers = bench.answer(placeable), bench.answer(refused)
    assert [one["placeable"] for one in answers] == [True, False], answers
    assert answers[1]["examined"]["eligible"] == sum(map(len, fleet.free.values())), answers[1]["examined"]
    assert all(one["examined"]["nodes"] + one["examined"]["not_examined"] == nodes for one in answers), [one["examined"] for one in answers]
    print(f"\n{'':<34}{'time':>10} {'processor':>10} {'memory':>12}")
    found = bench.measure(
        {"kubectl get nodes -o name": bench.kubectl, "placeable": placeable, "refused": refused, "--all": bench.gate(4, "--all")}
    )
    create(cluster, f"/api/v1/namespaces/{_SPACE}/pods", fleet.fill())
    assert bench.answer(placeable)["placeable"]
    assert bench.answer(bench.gate(5))["examined"]["eligible"] == 4
    full = bench.measure({"nearly full": placeable, "nearly full, refused": bench.gate(5)})
    slower = 1 if nodes >= _FLEET else _BUSY
    least = found["kubectl get nodes -o name"].wall_s
    rows = [
        ("placeable, s", found["placeable"].wall_s, PLACEABLE_S * slower),
        ("placeable, MiB", found["placeable"].rss_mib, RSS_MIB),
        ("worst refusal, s", max(found["refused"].wall_s, full["nearly full, refused"].wall_s), REFUSED_S),
        ("worst refusal, MiB", max(found["refused"].rss_mib, full["nearly full, refused"].rss_mib), RSS_MIB),
    ]
    return rows + ([("placeable, part of kubectl's time", found["placeable"].wall_s / least, OF_KUBECTL)] if nodes >= _FLEET else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=_FLEET)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="exit 1 where a wanted value is missed")
    options = parser.parse_args()
    if not (Path(CACHE) / "kubernetes-1.35" / "kube-apiserver").exists():
        sys.exit("found no API server; to enable this run: bash tests/real/install_kubernetes.sh")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "hostagent")], check=True)
    with tempfile.TemporaryDirectory() as directory, started(Path(directory) / "cluster", flags=_FLAGS) as cluster:
        rows = run(cluster, options.nodes, options.rounds)
    print(f"\n{'':<46}{'measured':>10}{'at most':>10}")
    for title, value, most in rows:
        print(f"{title:<46}{value:>10.2f}{most:>10.2f}{'' if value <= most else '  missed'}")
    if options.check and (missed := [title for title, value, most in rows if value > most]):
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
