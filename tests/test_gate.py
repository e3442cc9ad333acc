"""The gate says the same every time, and on the oldest Python too."""

import os
import re
import subprocess
from pathlib import Path

from hypothesis import settings

ROOT = Path(__file__).parent.parent
TESTS = [path for path in (ROOT / "tests").rglob("*.py") if path.name not in ("conftest.py", Path(__file__).name)]


def test_the_gate_draws_the_same_examples_every_time():
    gate = settings.get_profile("gate")
    assert (gate.derandomize, gate.database, gate.deadline) == (True, None, None)
    fuzz = settings.get_profile("fuzz")
    assert (fuzz.derandomize, fuzz.deadline) == (False, None)


def test_no_run_but_fuzzing_draws_others(request):
    assert settings().derandomize is (request.config.getoption("--hypothesis-profile") != "fuzz")


def test_no_property_has_a_draw_or_a_wall_clock_of_its_own():
    own = re.compile(r"@seed\b|\bsettings\([^)]*\b(?:derandomize|database|deadline)=(?!None)")
    assert [str(path) for path in TESTS if own.search(path.read_text(encoding="utf-8"))] == []


def test_a_python_that_is_not_there_is_named_and_no_success():
    done = subprocess.run(["bash", ROOT / "tests/pythons.sh", "3.99"], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert (done.returncode, "NOT TESTED" in done.stderr, "missing 3.99" in done.stdout) == (1, True, True)


def test_the_gate_runs_on_the_floor():
    (floor,) = re.findall(r'requires-python = ">=(\S+)"', (ROOT / "pyproject.toml").read_text())
    assert re.search(rf"^bash tests/pythons\.sh .* {re.escape(floor)}$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
