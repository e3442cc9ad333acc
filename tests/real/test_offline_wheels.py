"""The wheels for a site without a network: with each Python that is here pip installs hostagent from their folder alone."""

import importlib.metadata
import json
import os
import subprocess
import sys

import pytest

from tests.real.test_pyz import MACHINE, PYTHONS, report, sources  # noqa: F401
from tests.recorded import HOSTS

pytestmark = pytest.mark.full


@pytest.fixture(scope="session")
def dist(sources, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("offline") / "dist"
    argv = [sys.executable, "-m", "release", "--arch", MACHINE, "--out", str(folder), "wheel", "wheels"]
    done = subprocess.run(argv, cwd=sources, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS)
def test_pip_needs_the_folder_alone(dist, tmp_path, python):
    subprocess.run([python, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=120)
    pip = [str(tmp_path / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--no-index", "--find-links", str(dist / "wheels")]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run([*pip, "hostagent[install]"], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    words = ["check", "--from", str(HOSTS / "hgx-h100-ubuntu2404/tape.json"), "--format", "json"]
    asked = subprocess.run([str(tmp_path / "venv/bin/hostagent"), *words], capture_output=True, text=True, timeout=60, check=False)
    code, found = report(asked)
    assert (code, found["verdict"]["single_node"]) == (0, "ready"), json.dumps(found["verdict"])


def test_the_sums_and_the_list_of_parts_cover_the_folder(dist):
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=dist, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (listed,) = dist.glob("*.spdx.json")
    known = {f"{one['name'].replace('-', '_')}-{one['versionInfo']}" for one in json.loads(listed.read_text())["packages"]}
    found = {"-".join(path.name.split("-")[:2]) for path in (dist / "wheels").glob("*.whl")}
    assert {*found, f"shiv-{importlib.metadata.version('shiv')}"} == known, "shiv is in the single files"
