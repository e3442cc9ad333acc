"""``hostagent gate`` against reading and decoding the same files: ``python tests/bench/gate.py``.

Prints seconds of the processor and memory of the whole process for 1,000 and 10,000 summaries and for 1,000 full reports. Wanted: at most
0.3 s for 1,000 summaries, 2 s and 150 MiB for 10,000.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.bench.run import HOSTAGENT, sample  # noqa: E402

FLOOR = """
import json, os, sys
kept = []
for name in os.listdir(sys.argv[1]):
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        kept.append(json.loads(file.read()))
"""
_HOST = "tests/hosts/hgx-h100-ubuntu2404"


def summaries(folder: Path, count: int) -> None:
    """Those of the example fleet, each under a name of its own."""
    made = [json.loads(path.read_bytes()) for path in sorted((ROOT / "tests/fleet").glob("*.json"))]
    for number in range(count):
        name = f"node-{number:05}"
        (folder / f"{name}.json").write_text(json.dumps({**made[number % len(made)], "node": name}))


def reports(folder: Path, count: int) -> None:
    """Of one recorded host, valid for ever."""
    argv = [HOSTAGENT, "check", "--from", str(ROOT / _HOST), "--format", "json"]
    report = json.loads(subprocess.run(argv, capture_output=True, text=True, check=False).stdout)
    report["valid_until"] = 4102444800.0
    for number in range(count):
        report["host"]["node_name"] = name = f"node-{number:05}"
        (folder / f"{name}.json").write_text(json.dumps(report))


def row(name: str, folder: Path, rounds: int) -> None:
    size = statistics.median(path.stat().st_size for path in folder.iterdir())
    runs = {"floor": [sys.executable, "-c", FLOOR, str(folder)], "gate": gate(folder)}
    samples = {who: [] for who in runs}
    for _ in range(rounds):
        for who, argv in runs.items():
            samples[who].append(sample(argv))
    for who, rows in samples.items():
        cpu_s, rss = statistics.median(one.cpu_s for one in rows), max(one.rss_mib for one in rows)
        print(f"{name:<18} {size / 1000:>7.1f} kB each  {who:<6} {cpu_s:>7.2f} s  {rss:>7.1f} MiB")


def gate(folder: Path) -> list[str]:
    return [HOSTAGENT, "gate", "--nodes", "4", "--gpus-per-node", "8", "--reports", str(folder)]


def main() -> None:
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "hostagent")], check=True)
    rows = (("1,000 summaries", 1000, summaries, 5), ("10,000 summaries", 10_000, summaries, 5), ("1,000 reports", 1000, reports, 1))
    for name, count, make, rounds in rows:
        with tempfile.TemporaryDirectory() as made:
            make(Path(made), count)
            row(name, Path(made), rounds)
    print("\nwanted: 0.30 s for 1,000 summaries, 2.00 s and 150 MiB for 10,000")


if __name__ == "__main__":
    main()
