"""The guide of the gate: its example runs, and it explains every code that a node can have."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from hostagent.gate.answer import CODES
from hostagent.gate.text import ADVICE
from tests import fleet_page
from tests.fleet_hosts import FOLDER, summaries

TEXT = fleet_page._TEXT.read_text(encoding="utf-8")


def test_the_example_in_python_places_the_job_of_the_guide(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "reports")
    (tmp_path / "reports/gpu-00.json").touch()  # of a node that did not answer
    (program,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert (done.stdout, done.stderr) == ("gpu-01 gpu-02 gpu-03 gpu-04\n", "")


@pytest.mark.parametrize(("reports", "code", "printed"), [(FOLDER, 0, "jq -r .nodes"), ("empty", 0, "jq -r .refused"), ("nowhere", 2, "")])
def test_the_example_of_a_script_prints_no_earlier_answer(tmp_path, reports, code, printed):
    (script,) = re.findall(r"## In a script\n\n```\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "empty").mkdir()
    (tmp_path / "reports").symlink_to(reports)
    (tmp_path / "answer.json").write_text("of an earlier run")
    (tmp_path / "jq").write_text('#!/bin/sh\necho jq "$@"\n')
    (tmp_path / "jq").chmod(0o755)
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60, env={**os.environ, "PATH": path}
    )
    assert (done.returncode, done.stdout[: len(printed) or None]) == (code, printed)


def test_each_code_of_the_gate_is_explained_with_what_to_do():
    assert tuple(ADVICE) == CODES
    assert "| `Product` | Its GPUs are of another product. | Give the whole name of a product" in fleet_page.codes()


def test_the_picture_has_a_tile_for_each_node():
    found = ET.fromstring(fleet_page.picture())
    names = [one.text.partition(":")[0] for one in found.iter("{http://www.w3.org/2000/svg}title")]
    assert sorted(names[1:]) == sorted(summaries())
