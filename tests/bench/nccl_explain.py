"""``hostagent nccl explain`` of a job of 1,024 ranks against looking at each line: ``python tests/bench/nccl_explain.py [MB]``.

Prints seconds of the processor and memory of both, and how many times as long it takes: wanted at most 2.2 times, and 200 MiB.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.bench.run import HOSTAGENT, sample  # noqa: E402
from tests.nccl_logs import large  # noqa: E402

FLOOR = 'import sys\nwith open(sys.argv[1], "rb") as file:\n    for line in file:\n        b"NCCL" in line\n'
ROUNDS = 5


def main(megabytes: int) -> None:
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "hostagent")], check=True)
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "job.log")
        with open(log, "wb") as stream:
            stream.writelines(large(megabytes * 1_000_000))
        runs = {"each line": [sys.executable, "-c", FLOOR, log], "explain": [HOSTAGENT, "nccl", "explain", log]}
        samples = {name: [sample(argv) for _ in range(ROUNDS)] for name, argv in runs.items()}
    cpu_s = {name: statistics.median(one.cpu_s for one in rows) for name, rows in samples.items()}
    for name, rows in samples.items():
        print(f"{name:<10} {cpu_s[name]:6.2f} s  {max(one.rss_mib for one in rows):6.1f} MiB  {megabytes / cpu_s[name]:6.0f} MB/s")
    print(f"\n{cpu_s['explain'] / cpu_s['each line']:.2f} times as long, wanted at most 2.20")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
