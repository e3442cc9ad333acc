"""The parts of README.md and docs/reference.md that a program wrote: ``python -m tests.readme`` writes them, tests/test_readme.py holds them."""

import importlib
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

from hostagent.engine.catalogue import OURS, load

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs/reference.md")
OUTPUT = re.compile(r"(<!-- output: (.+?) -->\n)```\n.*?```\n", re.DOTALL)
#: What other programs print, held by tests of their own.
SHOWN = re.compile(r"<!-- shown: (\S+) -->\n```\n(.*?)```\n", re.DOTALL)
_FAMILIES = re.compile(r"(<!-- families -->\n).*?(<!-- end -->\n)", re.DOTALL)


def rendered(page: Path) -> str:
    """`page` with every written part as it should be today."""
    text = OUTPUT.sub(lambda found: f"{found[1]}```\n{output(found[2])}```\n", page.read_text(encoding="utf-8"))
    return _FAMILIES.sub(lambda found: f"{found[1]}{families()}{found[2]}", text)


def output(command: str) -> str:
    """What a command prints, without the run time, which differs each time."""
    search = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
    argv = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT, env={"COLUMNS": "100", **search})
    shown = done.stdout
    if done.returncode not in (0, 1):  # 1 is a verdict
        raise SystemExit(f"Error: '{command}' ended with {done.returncode} and reached no verdict. It said:\n{done.stderr.strip()}")
    if "snapshot does not know" in shown:
        raise SystemExit(f"Error: '{command}' would print what its snapshot does not hold. Run 'make hosts', then 'make docs' again.")
    return re.sub(r" \(\d+\.\d+ s\)\.", ".", shown)


def families() -> str:
    """One row per family: its name, how many checks it has, what they look at."""
    counts = Counter(one.id.partition(".")[0] for one in load([OURS]))
    rows = ["", "| family | checks | what |", "|---|---|---|"]
    for family, count in sorted(counts.items()):
        meaning = " ".join((importlib.import_module(f"{OURS}.{family}").__doc__ or "").split()).rstrip(".")
        rows.append(f"| `{family}` | {count} | {meaning} |")
    return "\n".join([*rows, f"| | {sum(counts.values())} | |", "", ""])


if __name__ == "__main__":
    for one in PAGES:
        one.write_text(rendered(one), encoding="utf-8")
