"""The parts of README.md that a program wrote: ``python -m tests.readme`` writes them, tests/test_readme.py holds them."""

import importlib
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

from hostagent.catalogue import OURS, load

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
_OUTPUT = re.compile(r"(<!-- output: (.+?) -->\n)```\n.*?```\n", re.DOTALL)
_FAMILIES = re.compile(r"(<!-- families -->\n).*?(<!-- end -->\n)", re.DOTALL)


def rendered() -> str:
    """README.md with every written part as it should be today."""
    text = _OUTPUT.sub(lambda found: f"{found[1]}```\n{output(found[2])}```\n", README.read_text(encoding="utf-8"))
    return _FAMILIES.sub(lambda found: f"{found[1]}{families()}{found[2]}", text)


def output(command: str) -> str:
    """What a command of the README prints, without the run time, which is another each time."""
    argv = [str(Path(sys.executable).with_name("hostagent")), *shlex.split(command)[1:]]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT, env={"COLUMNS": "100"})
    shown = done.stdout
    if done.returncode not in (0, 1):  # 1 is a verdict
        raise SystemExit(f"Error: '{command}' ended with {done.returncode} and reached no verdict. It said:\n{done.stderr.strip()}")
    if "not-recorded" in shown:
        raise SystemExit(f"Error: '{command}' would print what its snapshot does not hold. Run 'make hosts', then 'make docs' again.")
    return re.sub(r"; \d+\.\d+ s$", "", shown, flags=re.MULTILINE)


def families() -> str:
    """One row a family: its first words, how many checks it has."""
    counts = Counter(one.id.partition(".")[0] for one in load([OURS]))
    rows = ["", "| family | checks | what |", "|---|---|---|"]
    for family, count in sorted(counts.items()):
        meaning = " ".join((importlib.import_module(f"{OURS}.{family}").__doc__ or "").split()).rstrip(".")
        rows.append(f"| `{family}` | {count} | {meaning} |")
    return "\n".join([*rows, f"| | {sum(counts.values())} | |", "", ""])


if __name__ == "__main__":
    README.write_text(rendered(), encoding="utf-8")
