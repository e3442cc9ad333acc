"""Measures what a second run costs where nothing is to do, against ``check`` of the same root: CPU seconds, medians of alternating rounds.

Needs root and what tests/real/install.sh installs: ``sudo make bench``. Prints a ratio, asserts nothing.
"""

import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.real.installing import Host
from tests.real.installroots import clone, place

ROUNDS = 7
WANTED = 1.5
ONLY = ("--only", "toolkit", "--only", "runtime")


def cpu_s(host: Host, *words: str) -> float:
    before = os.times()
    done = host.call(*words)
    after = os.times()
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    with place() as where:
        host = Host(clone("debian", where))
        done = host.install(*ONLY)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        commands = {"check": ("check", "--kernel", host.root.kernel), "second run": ("install", "--yes", *ONLY)}
        rounds = [{name: cpu_s(host, *words) for name, words in commands.items()} for _ in range(ROUNDS)]
    check, second = (statistics.median(one[name] for one in rounds) for name in commands)
    print(f"second run / check: {second / check:.2f} ({second * 1000:.0f} ms / {check * 1000:.0f} ms of CPU), wanted at most {WANTED:.2f}")


if __name__ == "__main__":
    main()
