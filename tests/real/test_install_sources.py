"""apt itself judges what a plan does about sources that a host has already."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.installroots import clone, place

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="roots are root's to make")
SOURCES = "etc/apt/sources.list.d"
OWN = "Types: deb\nURIs: file:/srv/stub/toolkit/\nSuites: /\nSigned-By: /usr/share/keyrings/hostagent-toolkit.gpg\n"


@pytest.fixture
def root():
    with place() as where:
        yield clone("debian", where)


def hostagent(root, *words):
    argv = [
        sys.executable,
        "-m",
        "hostagent",
        *words,
        "--root",
        str(root.path),
        "--profile",
        str(root.profile(root.path.parent)),
        "--only",
        "toolkit",
    ]
    return subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(("options", "conflict"), [("", "Signed-By"), ("[trusted=yes] ", "Trusted")])
def test_an_old_list_that_apt_refuses_beside_ours_is_put_out_of_force(options, conflict, root):
    old = root.path / SOURCES / "libnvidia-container.list"
    old.write_text(f"# kept\ndeb {options}file:/srv/stub/toolkit/ /\n")
    own = root.path / SOURCES / "hostagent-toolkit.sources"
    own.write_text(OWN)
    refused = root.run("apt-get", "update", check=False)
    assert f"Conflicting values set for option {conflict}" in refused.stderr
    own.unlink()
    before = {path: path.read_bytes() for path in Path(root.path, SOURCES).iterdir()}
    planned = hostagent(root, "plan")
    assert planned.returncode == 0, planned.stdout
    assert "libnvidia-container.list" in planned.stdout
    assert {path: path.read_bytes() for path in Path(root.path, SOURCES).iterdir()} == before


def test_a_source_of_the_same_repository_that_apt_takes_is_used_as_it_is(root):
    root.use_repositories()
    planned = hostagent(root, "plan")
    assert planned.returncode == 0, planned.stdout
    assert "hostagent-toolkit.sources" not in planned.stdout
    assert "nvidia-container-toolkit       not installed -> 1.19.0-1" in planned.stdout
