"""The guide of the gate: its example runs, and it explains every code that a node can have."""

import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree as ET

from hostagent.gate.answer import CODES
from tests import fleet_page
from tests.fleet_hosts import FOLDER, summaries

TEXT = fleet_page._TEXT.read_text(encoding="utf-8")


def test_the_example_in_python_places_the_job_of_the_guide(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "reports")
    (program,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert (done.stdout, done.stderr) == ("gpu-01 gpu-02 gpu-03 gpu-04\n", "")


def test_each_code_is_explained_but_those_of_backends_to_come():
    assert tuple(fleet_page._CODES) == CODES[: CODES.index("NoSummary")]


def test_the_picture_has_a_tile_for_each_node():
    found = ET.fromstring(fleet_page.picture())
    names = [one.text.partition(":")[0] for one in found.iter("{http://www.w3.org/2000/svg}title")]
    assert sorted(names[1:]) == sorted(summaries())
