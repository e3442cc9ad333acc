"""Measures a cluster of many nodes: what their agents write, the controller, and the API server. ``make bench-fleet`` runs it.

The agents are virtual (tests/bench/fleetagents.py), the controller is the product's own process with its own account's rights, the API
server and etcd are real. Each phase lasts SECONDS, or what it needs:

steady     heartbeats of 300 s +-20 %, and one node in 500 turns to not ready and back.
roll-out   agents restart at the pace of all in 10 minutes: with SECONDS=120 a fifth of them. Each is away 5 to 15 s; one in 100 comes back with
           not ready.
failing    one node in ten fails at one moment. One in eight of them notices by an event: the hosts at one leaf switch whose links go down.
           Half a second to gather events and a pass of 1 to 3 s. All others notice by their next pass, which may begin at any moment of the
           interval (60 s, or SECONDS if that is less), +-10 %.
restart    all agents end at one moment and begin again within 100 s (--restart; SECONDS - 20, at least 20, if that is less): of 10,000 so 100 a second.
           kube-controller-manager makes 20 pods a second by default (--kube-api-qps), 100 where it is set for large clusters. First pass
           1 to 3 s; nodes that were not ready are ready now, which a second pass confirms 5 s later.

A transition is lost if after a phase the node's conditions and labels are not what its agent published last.
``--check`` exits 1 where a wanted value is missed.
"""

import argparse
import http.client
import json
import math
import os
import random
import re
import ssl
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.bench.fleetagents import INTERVAL_S, Connection, Turn, VirtualAgent, VirtualAgents, make_nodes  # noqa: E402
from tests.real.cluster import AS_ADMIN, MERGE, SERVER, Cluster  # noqa: E402
from tests.real.conftest import CACHE  # noqa: E402
from tests.real.controllerrun import PREFIX, Controller, config  # noqa: E402
from tests.real.daemonrun import eventually  # noqa: E402
from tests.real.readinessrules import KEYS  # noqa: E402

#: Wanted, of 10,000 nodes: MiB, part of a core, seconds, writes a second.
RSS_MIB, CPU, IN_CHARGE_S, FULL_READ_S, STEADY, BURST, TAINT_S = 150.0, 0.05, 30.0, 90.0, 40.0, 170.0, 5.0
_FLEET = 10_000
#: A small fleet runs in the gate, beside other tests: the API server may be so many times slower.
_BUSY = 3
_ROLL_OUT_S, _RESTART_S = 600.0, 100.0
_FAILING, _BY_EVENT = 10, 8
#: Seconds after a phase in which all that was published is to be written; and writes a second that a small machine can take.
_SETTLE_S, _SLOWEST = 60.0, 50.0
_NAME = re.compile(rb'"metadata":\{"name":"([^"]+)"')
_MARK = f'"{PREFIX}/tainted":"'.encode()


class Taints:
    """Watches the metadata of all nodes: when the controller marked a node as tainted, and when it took the mark away."""

    def __init__(self, cluster: Cluster) -> None:
        self.marked: set[str] = set()
        self.seen: list[Turn] = []
        self._cluster = cluster
        self._version = cluster.admin("GET", "/api/v1/nodes?limit=1")["metadata"]["resourceVersion"]
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        address = urlsplit(self._cluster.url)
        context = ssl.create_default_context(cafile=self._cluster.ca)
        line = http.client.HTTPSConnection(str(address.hostname), address.port, context=context)
        accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        path = f"/api/v1/nodes?watch=1&resourceVersion={self._version}&timeoutSeconds=36000"
        line.request("GET", path, headers={**AS_ADMIN, "Accept": accept})
        for event in line.getresponse():
            found, now = _NAME.search(event), time.monotonic()
            name = found[1].decode() if found else ""
            if (_MARK in event) != (name in self.marked):
                self.marked ^= {name}
                self.seen.append(Turn(name, now, name not in self.marked))


class Usage(NamedTuple):
    """CPU seconds, resident MiB, and the most that were resident, of a process."""

    cpu_s: float
    rss_mib: float
    peak_mib: float


def usage(pid: int) -> Usage:
    """Of a running process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    rows = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    rss_mib, peak_mib = (int(rows[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return Usage((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), rss_mib, peak_mib)


class Measured(NamedTuple):
    """One phase. ``cpu`` and ``server_cpu``: of a core; ``to_taint_s``: the longest time from a verdict to its taint, or back."""

    name: str
    seconds: float
    writes: int
    highest: int
    failed: int
    p50_ms: float
    p99_ms: float
    offered: int
    lost: int
    wait_s: float
    added: int
    removed: int
    wrong: int
    to_taint_s: float
    cpu: float
    rss_mib: float
    peak_mib: float
    server_cpu: float
    server_rss_mib: float

    @property
    def rate(self) -> float:
        """Writes a second."""
        return self.writes / self.seconds


class Bench:
    """One run."""

    def __init__(self, cluster: Cluster, nodes: int, seconds: float, restart_s: float) -> None:
        """`restart_s`: within which all agents begin again."""
        self.cluster, self.seconds, self._restart_s = cluster, seconds, restart_s
        self.names = [f"gpu-{number:05}" for number in range(nodes)]
        self.agents = VirtualAgents(cluster, self.names)
        self._draw = random.Random(34)
        self._server = cluster.parts[SERVER].process.pid

    def fill(self) -> None:
        """Nodes, and the first verdict of each; the last one, by name, is not ready."""
        began = time.monotonic()
        make_nodes(self.cluster, self.names)
        print(
            f"{len(self.names)} nodes of {len(json.dumps(self.cluster.get(self.names[0]))) / 1000:.0f} kB made in {time.monotonic() - began:.0f} s"
        )
        began, self.agents.is_filling = time.monotonic(), True
        for name in self.names:
            self.agents.start(self.agents.by_name[name], is_ready=name != self.names[-1])
        eventually(lambda: not self.agents.waiting(), 60 + len(self.names) / 30)
        self.agents.is_filling = False
        print(f"first verdict of each written in {time.monotonic() - began:.0f} s")

    def begin(self, controller: Controller) -> "tuple[float, float]":
        """Seconds until the controller is in charge, and until its first full read is done: only that read finds that the taints which the
        last node is marked with were taken off by hand.
        """
        began, last = time.monotonic(), self.names[-1]
        counted = lambda: controller.metric("hostagent_controller_nodes") == len(self.names)  # noqa: E731
        in_charge_s = eventually(lambda: controller.metric("hostagent_controller_is_leader") == 1 and counted(), 300)

        def has_taints() -> bool:
            time.sleep(0.2)
            return {one["key"] for one in self.cluster.taints(last)} >= set(KEYS)

        eventually(has_taints, 600)
        return in_charge_s, time.monotonic() - began

    def mark_last(self) -> None:
        """As an earlier controller left it, without the taints: they were removed by hand."""
        annotations = {
            f"{PREFIX}/tainted": ",".join(KEYS),
            f"{PREFIX}/why": "closed since 2026-11-01T00:00:00Z: Ready is False (GpuXid)",
        }
        self.cluster.admin("PATCH", f"/api/v1/nodes/{self.names[-1]}", {"metadata": {"annotations": annotations}}, kind=MERGE)

    def phase(self, name: str, plan: Callable[[float], float], controller: Controller, taints: Taints) -> Measured:
        """`plan` schedules what happens from a monotonic time on; how many seconds that needs."""
        agents, counts = self.agents, self._taint_counts(controller)
        first_write, first_turn, first_verdict = len(agents.writes), len(agents.turns), len(agents.verdicts)
        agents.longest_wait_s = 0.0
        before, server_before, began = usage(controller.process.pid), usage(self._server), time.monotonic()
        seconds = max(self.seconds, plan(began))
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        took_s = time.monotonic() - began
        after, server_after = usage(controller.process.pid), usage(self._server)
        writes = [one for one in agents.writes[first_write:] if one.at < began + took_s]
        lost, wrong = self._lost(taints)
        new = self._taint_counts(controller)
        took = sorted(one.took_s for one in writes) or [0.0]
        highest = max(Counter(int(one.at - one.took_s - began) for one in writes).values(), default=0)
        return Measured(
            name, took_s, len(writes), highest, sum(bool(one.problem) for one in writes),
            took[len(took) // 2] * 1000, took[len(took) * 99 // 100] * 1000, len(agents.turns) - first_turn, lost,
            agents.longest_wait_s, new[0] - counts[0], new[1] - counts[1], wrong, self._to_taint_s(first_verdict, taints),
            (after.cpu_s - before.cpu_s) / took_s, after.rss_mib, after.peak_mib, (server_after.cpu_s - server_before.cpu_s) / took_s, server_after.rss_mib,
        )  # fmt: skip

    def phases(self, controller: Controller, taints: Taints) -> Iterator[Measured]:
        """All four, one after the other."""
        for name, plan in (("steady", self._steady), ("roll-out", self._roll_out), ("failing", self._fail), ("restart", self._restart)):
            yield self.phase(name, plan, controller, taints)

    # -- what happens in the phases; each gives the seconds that it needs

    def _some(self, count: int, *, is_ready: bool = True) -> "list[VirtualAgent]":
        chosen = [one for one in self.agents.by_name.values() if one.is_ready == is_ready and one.node != self.names[-1]]
        return self._draw.sample(chosen, min(count, len(chosen)))

    def _judge(self, when: float, agent: VirtualAgent, *, is_ready: bool) -> None:
        self.agents.at(when, lambda: self.agents.judge(agent, is_ready=is_ready))

    def _steady(self, began: float) -> float:
        for one in self._some(max(4, len(self.names) // 500)):
            fails = began + self._draw.uniform(0, self.seconds / 2)
            self._judge(fails, one, is_ready=False)
            self._judge(fails + self._draw.uniform(self.seconds / 8, self.seconds / 3), one, is_ready=True)
        return self.seconds

    def _roll_out(self, began: float) -> float:
        count = round(len(self.names) * min(1.0, self.seconds / _ROLL_OUT_S))
        for number, one in enumerate(self._some(count)):
            ends = began + number * _ROLL_OUT_S / len(self.names)
            self.agents.at(ends, lambda one=one: self.agents.stop(one))  # type: ignore[misc]
            is_ready = number % 100 != 1
            begins = ends + self._draw.uniform(5, 15)
            self.agents.at(begins, lambda one=one, is_ready=is_ready: self.agents.start(one, is_ready=is_ready))  # type: ignore[misc]
        return self.seconds

    def _fail(self, began: float) -> float:
        interval_s = min(INTERVAL_S, self.seconds)
        for number, one in enumerate(self._some(len(self.names) // _FAILING)):
            draw = self._draw.uniform
            until_pass_s = 0.5 if number % _BY_EVENT == 0 else draw(0, interval_s * draw(0.9, 1.1))
            self._judge(began + until_pass_s + draw(1, 3), one, is_ready=False)
        return interval_s * 1.1 + 10

    def _restart(self, began: float) -> float:
        within_s = self._restart_s
        for number, one in enumerate(self._draw.sample(list(self.agents.by_name.values()), len(self.names))):
            self.agents.stop(one)
            begins = began + number / len(self.names) * within_s + self._draw.uniform(1, 3)
            self.agents.at(begins, lambda one=one: self.agents.start(one))  # type: ignore[misc]
            if not one.is_ready:
                self._judge(begins + 5, one, is_ready=True)
        return within_s + 15

    # -- what came of it

    def _lost(self, taints: Taints) -> "tuple[int, int]":
        """Once all was written and the controller has seen it: nodes without what their agents published last, and with wrong taints."""
        ends = time.monotonic() + _SETTLE_S + len(self.names) / _SLOWEST
        while time.monotonic() < ends and (self.agents.waiting() or self._unsettled(taints)):
            time.sleep(0.5)
        lost, wrong, connection, following = 0, 0, Connection(self.cluster), ""
        while True:
            _, text, _ = connection.ask("GET", f"/api/v1/nodes?limit=250{f'&continue={following}' if following else ''}")
            page = json.loads(text)
            for node in page["items"]:
                agent = self.agents.by_name[node["metadata"]["name"]]
                lost += not _is_as_published(node, agent)
                keys = {one["key"] for one in node["spec"].get("taints", ())}
                wrong += (not agent.is_ready) != all(key in keys for key in KEYS) or (agent.is_ready and any(key in keys for key in KEYS))
            following = page["metadata"].get("continue", "")
            if not following:
                return lost, wrong

    def _unsettled(self, taints: Taints) -> bool:
        closed = {one.node for one in self.agents.by_name.values() if not one.is_ready}
        return closed != taints.marked

    def _to_taint_s(self, first: int, taints: Taints) -> float:
        """The longest of the verdicts from number `first` on; infinite where one never came to that, though no other followed it soon."""
        seen: dict[str, list[Turn]] = {}
        for one in taints.seen:
            seen.setdefault(one.node, []).append(one)
        times, later = [0.0], dict[str, float]()
        for verdict in reversed(self.agents.verdicts[first:]):
            next_at, later[verdict.node] = later.get(verdict.node, math.inf), verdict.at
            ends = (one.at for one in seen.get(verdict.node, ()) if one.is_ready == verdict.is_ready and one.at > verdict.at - 1)
            took_s = next(ends, math.inf) - verdict.at
            if took_s < math.inf or next_at - verdict.at > TAINT_S:
                times.append(took_s)
        return max(times)

    @staticmethod
    def _taint_counts(controller: Controller) -> "tuple[int, int]":
        metric = "hostagent_controller_taints_total"
        return int(controller.metric(metric, action="add") or 0), int(controller.metric(metric, action="remove") or 0)


def _is_as_published(node: "dict[str, Any]", agent: VirtualAgent) -> bool:
    words, metadata = agent.words, node["metadata"]
    if words is None:
        return False
    conditions = {one["type"]: (one["status"], one["reason"], one["message"]) for one in node["status"]["conditions"]}
    return (
        all(conditions.get(f"{PREFIX}/{one.type}") == (one.status, one.reason, one.message) for one in words.conditions)
        and all(metadata["labels"].get(f"{PREFIX}/{name}") == value for name, value in words.labels.items())
        and all(metadata["annotations"].get(f"{PREFIX}/{name}") == value for name, value in words.annotations.items())
    )


def allowed(per_second: float, nodes: int, seconds: float) -> float:
    """Of 10,000 nodes `per_second`: of fewer nodes as many less, and what chance adds to a small number (three times its deviation)."""
    if nodes >= _FLEET:
        return per_second
    expected = per_second * nodes / _FLEET * seconds
    return (expected + 3 * math.sqrt(expected)) / seconds


def bursts(nodes: int, found: "list[Measured]", restart_s: float) -> "list[tuple[str, float, float]]":
    """Of each phase what was measured, and how much is allowed. All agents that begin again in less than 100 s write so much more a second."""
    hurry = {"restart": max(1.0, _RESTART_S / restart_s)}
    return [
        (f"writes in the highest second, {one.name}", one.highest, allowed(BURST * hurry.get(one.name, 1.0), nodes, 1)) for one in found
    ]


def report(nodes: int, start: "tuple[float, float]", found: "list[Measured]", restart_s: float) -> "list[str]":
    """Prints the tables; the wanted values that were missed."""
    rows: list[tuple[str, Callable[[Measured], str]]] = [
        ("seconds", lambda one: f"{one.seconds:.0f}"),
        ("writes/s, mean", lambda one: f"{one.rate:.1f}"),
        ("writes in the highest second", lambda one: f"{one.highest}"),
        ("writes that failed", lambda one: f"{one.failed}"),
        ("PATCH p50, ms", lambda one: f"{one.p50_ms:.1f}"),
        ("PATCH p99, ms", lambda one: f"{one.p99_ms:.1f}"),
        ("transitions offered", lambda one: f"{one.offered}"),
        ("transitions lost", lambda one: f"{one.lost}"),
        ("longest from pass to node, s", lambda one: f"{one.wait_s:.2f}"),
        ("taints set", lambda one: f"{one.added}"),
        ("taints removed", lambda one: f"{one.removed}"),
        ("nodes with wrong taints afterwards", lambda one: f"{one.wrong}"),
        ("longest from verdict to taint, s", lambda one: f"{one.to_taint_s:.2f}"),
        ("controller, % of a core", lambda one: f"{one.cpu * 100:.1f}"),
        ("controller, RSS MiB", lambda one: f"{one.rss_mib:.0f}"),
        ("API server, % of a core", lambda one: f"{one.server_cpu * 100:.0f}"),
        ("API server, RSS MiB", lambda one: f"{one.server_rss_mib:.0f}"),
    ]
    print(f"\n{'':<34}" + "".join(f"{one.name:>10}" for one in found))
    for title, text in rows:
        print(f"{title:<34}" + "".join(f"{text(one):>10}" for one in found))
    steady = found[0]
    wanted = [
        ("seconds until in charge", start[0], IN_CHARGE_S),
        ("seconds until the first full read is done", start[1], FULL_READ_S),
        ("controller, most RSS since it began, MiB", max(one.peak_mib for one in found), RSS_MIB),
        *((f"controller, % of a core, {one.name}", one.cpu * 100, CPU * 100) for one in found),
        ("writes/s, steady", steady.rate, allowed(STEADY, nodes, steady.seconds)),
        *bursts(nodes, found, restart_s),
        ("transitions lost", sum(one.lost for one in found), 0),
        ("nodes with wrong taints", sum(one.wrong for one in found), 0),
        ("longest from verdict to taint, s", max(one.to_taint_s for one in found), TAINT_S if nodes >= _FLEET else _BUSY * TAINT_S),
    ]
    print(f"\n{'':<46}{'measured':>10}{'at most':>10}")
    for title, value, most in wanted:
        print(f"{title:<46}{value:>10.2f}{most:>10.2f}{'' if value <= most else '  missed'}")
    return [title for title, value, most in wanted if value > most]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=_FLEET)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--check", action="store_true", help="exit 1 where a wanted value is missed")
    parser.add_argument("--restart", type=float, help="seconds within which all agents begin again, see above")
    options = parser.parse_args()
    restart_s = options.restart or min(_RESTART_S, max(20.0, options.seconds - 20))
    if not (Path(CACHE) / "kubernetes-1.35" / "kube-apiserver").exists():
        sys.exit("found no API server; to enable this run: bash tests/real/install_kubernetes.sh")
    from tests.real.cluster import started

    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        with started(folder / "cluster") as cluster:
            cluster.ask("DELETE", "/api/v1/nodes/probe")
            bench = Bench(cluster, options.nodes, options.seconds, restart_s)
            with bench.agents.run():
                bench.fill()
                bench.mark_last()
                taints = Taints(cluster)
                taints.marked.add(bench.names[-1])
                with Controller(folder / "controller", "--kubeconfig", config(cluster, folder / "account")) as controller:
                    start = bench.begin(controller)
                    print(f"controller in charge after {start[0]:.1f} s, first full read done after {start[1]:.1f} s", flush=True)
                    missed = report(options.nodes, start, list(bench.phases(controller, taints)), restart_s)
                    if missed:
                        print(*(line for line in controller.said().splitlines() if "event=warning" in line), sep="\n", file=sys.stderr)
    if options.check and missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
