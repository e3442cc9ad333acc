"""Measures how long a fault takes from the host to the condition of its node in a real API server: a line of the kernel log, a uevent, a
changed file. ``make bench`` runs it. Prints a table, asserts nothing; root, and what tests/real/install_kubernetes.sh built.

Each round has a daemon, a node and a state directory of its own, so that no condition flaps. A fault comes when the daemon may write again
(it begins with three writes and gets one more every 10 s), at any moment of its second.
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.real.conftest import CACHE  # noqa: E402
from tests.real.daemonrun import Daemon, eventually  # noqa: E402
from tests.real.hostfaults import FAULTS, Fault, happens, mended  # noqa: E402

WANTED_S = 2.0
_REST_S = 10.5
_NAMES = {"kernel-log": "a line of the kernel log", "uevent": "a uevent", "configuration": "a changed file"}


def status(cluster: Any, node: str, condition: str) -> str:
    found = cluster.get(node)["status"]["conditions"]
    return next((str(one["status"]) for one in found if one["type"] == f"hostagent.dev/{condition}"), "")


def one_round(cluster: Any, tree: Path, folder: Path, number: int) -> "Iterator[tuple[Fault, float]]":
    """Each fault and its seconds."""
    node = f"round-{number}"
    cluster.node(node)
    config = cluster.kubeconfig(folder / f"kubeconfig-{number}", cluster.token(node))
    state = folder / node
    state.mkdir()
    options = ("--host-root", tree, "--kubeconfig", config, "--node-name", node, "--interval", 3600)
    with mended(tree), Daemon(state, *options) as daemon:
        eventually(lambda: all(status(cluster, node, one.condition) == "True" for one in FAULTS), 120)
        for fault in FAULTS:
            time.sleep(_REST_S + random.random())
            began = time.monotonic()
            happens(fault, tree)
            eventually(lambda fault=fault: status(cluster, node, fault.condition) == "False", 60)  # type: ignore[misc]
            yield fault, time.monotonic() - began
        assert daemon.end() == 0, daemon.said()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    if os.geteuid() != 0 or not (Path(CACHE) / "kubernetes-1.35" / "kube-apiserver").exists():
        sys.exit("found no root or no API server; to enable this run as root: bash tests/real/install_kubernetes.sh")
    from tests.real.cluster import started
    from tests.trees import hosts

    taken: dict[Fault, list[float]] = {fault: [] for fault in FAULTS}
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        hosts.hgx_h100_here(folder / "tree")
        with started(folder / "cluster") as cluster:
            for number in range(options.rounds):
                for fault, seconds in one_round(cluster, folder / "tree", folder, number):
                    taken[fault].append(seconds)
    print(f"{'from this to the visible condition, s':<40} {'median':>8} {'at most':>8} {'of':>4}")
    for fault, seconds in taken.items():
        print(f"{_NAMES[fault.trigger]:<40} {statistics.median(seconds):>8.2f} {max(seconds):>8.2f} {len(seconds):>4}")
    print(f"\nwanted: medians of at most {WANTED_S:g} s")


if __name__ == "__main__":
    main()
