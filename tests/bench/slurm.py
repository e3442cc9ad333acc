"""The programs of Slurm with a fresh verdict against importing click: ``python tests/bench/slurm.py``.

They run before each job and every few minutes on every node. Wanted: the prolog at most 1.6 times ``import click``, the health program at
most 2.5 times, without Slurm's own commands: in their place stands a shell script, whose time is measured alone and taken off. Medians of
alternating rounds.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.bench.run import HOSTAGENT, sample  # noqa: E402

NODE = "n1"
ROUNDS = 21
PROLOG, HEALTH = "prolog, a fresh verdict", "health, a daemon's fresh verdict"
WANTED = {PROLOG: 1.6, HEALTH: 2.5}
#: A node in service as slurmctld prints it, with what hostagent has written of a ready one.
SHOWN = (
    "NodeName=n1 Arch=x86_64 CoresPerSocket=64 CPUAlloc=0 CPUTot=128 Gres=gpu:h100:8 NodeAddr=n1 NodeHostName=n1 Version=22.05.8 "
    "State=IDLE ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=gpu CapWatts=n/a CurrentWatts=0 "
    'Extra={"hostagent":1,"hostagent_multi":1,"hostagent_class":"1-6294ff8d4479","hostagent_coverage":"full"}'
)


def daemons(folder: Path) -> Path:
    """A state directory as a daemon keeps it of a ready host: that of a recording, with the present boot and time."""
    state = folder / "state"
    argv = [HOSTAGENT, "daemon", "--once", "--from", str(ROOT / "tests/hosts/hgx-h100-ubuntu2404"), "--state-dir", str(state)]
    subprocess.run(argv, capture_output=True, check=True)
    path = state / "state.json"
    now, boot_id = time.time(), Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    document = {**json.loads(path.read_text()), "boot_id": boot_id, "observed_at": now, "valid_until": now + 3600}
    document["conditions"] = [{**one, "reason": "Ready"} for one in document["conditions"]]
    path.write_text(json.dumps(document, indent=1))
    return state


def scontrol(folder: Path) -> Path:
    """In Slurm's place: says at once that the node is in service."""
    (folder / "node").write_text(f"{SHOWN}\n")
    program = folder / "scontrol"
    program.write_text(f'#!/bin/sh\nread -r line < {folder}/node\necho "$line"\necho >> {folder}/calls\n')
    program.chmod(0o755)
    return program


def programs(folder: Path) -> dict[str, list[str]]:
    state, program = daemons(folder), scontrol(folder)
    common = ["--node", NODE, "--state-dir", str(state), "--bin-dir", str(folder)]
    return {
        "import click": [sys.executable, "-c", "import click"],
        "scontrol's place": [str(program), "show", "node", "-o", NODE],
        PROLOG: [HOSTAGENT, "slurm", "prolog", *common],
        HEALTH: [HOSTAGENT, "slurm", "health", *common],
    }


def measured(runs: dict[str, list[str]], rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Seconds of each, by name."""
    walls: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, argv in runs.items():
            walls[name].append(sample(argv).wall_s)
    return walls


def main() -> None:
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "hostagent")], check=True)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        runs = programs(folder)
        walls = measured(runs)
        calls = len((folder / "calls").read_text()) / ROUNDS - 1
    medians = {name: statistics.median(found) for name, found in walls.items()}
    floor, shown_s = medians["import click"], medians["scontrol's place"]
    for name, seconds in medians.items():
        own_s = seconds - shown_s * calls if name == HEALTH else seconds
        wanted = f", wanted {WANTED[name]}" if name in WANTED else ""
        print(f"{name:<34} {seconds * 1000:>6.1f} ms  {own_s / floor:>5.2f} x click{wanted}")
    print(f"\ncommands of Slurm in one run of health: {calls:g}, not counted")


if __name__ == "__main__":
    main()
