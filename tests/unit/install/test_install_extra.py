"""What is said where the extra is missing: the way in which this copy was installed, and never a project on a package index."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hostagent.core import installation
from hostagent.install import ourselves

ROOT = Path(__file__).parents[3]
#: A name that pip would look for on an index, in words for a person: hostagent alone, with an extra or with a version.
_FROM_INDEX = re.compile(r"\b(?:pip3?|pipx|uv)(?: tool)? (?:install|inject|add)\s+(?:-[-\w]+\s+)*['\"]?hostagent(?=['\"\[\s`=<>~]|$)")
_WITHOUT = """
import sys
names = ("ansible", "ansible_runner")
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in names else real(name, *more)
from hostagent.__main__ import main
sys.argv = ["hostagent", "install", "--yes", "--root", sys.argv[1]]
main()
"""


class Distribution:
    """As pip writes it."""

    files = ()

    def __init__(self, place, url="", **more):
        self._place, self._said = place, json.dumps({"url": url, **more}) if url else None

    def read_text(self, name):
        assert name == "direct_url.json"
        return self._said

    def locate_file(self, name):
        return self._place / name


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A copy in a virtual environment of its own, with a pip; `found` is what its metadata says."""
    place, source = tmp_path / "venv/lib/site-packages", tmp_path / "a source"
    for directory in (place / "hostagent", source / "hostagent", tmp_path / "venv/bin"):
        directory.mkdir(parents=True)
    (tmp_path / "venv/bin/pip").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.setattr(installation, "directory", lambda: str(place))

    def found(made):
        def distribution(name):
            assert name == "hostagent"
            if isinstance(made, Exception):
                raise made
            return made

        monkeypatch.setattr(importlib.metadata, "distribution", distribution)
        return ourselves.extra_step("install")

    found.place, found.source, found.venv = place, source, tmp_path / "venv"
    return found


def test_of_a_directory_it_is_pip_of_this_environment_with_that_directory(installed):
    said = installed(Distribution(installed.place, installed.source.as_uri(), dir_info={}))
    assert said == f"Install it: {installed.venv}/bin/pip install '{installed.source}[install]'"


@pytest.mark.parametrize("about", [{}, {"editable": True}], ids=["copy", "editable"])
def test_of_a_checkout_it_is_what_is_pinned_there(installed, monkeypatch, about):
    (installed.source / "requirements-install.txt").touch()
    if about:
        monkeypatch.setattr(installation, "directory", lambda: str(installed.source))
    said = installed(Distribution(installed.place, installed.source.as_uri(), dir_info=about))
    assert said == f"Install it: {installed.venv}/bin/pip install --require-hashes -r '{installed.source}/requirements-install.txt'"


def test_an_editable_copy_stays_editable(installed, monkeypatch):
    monkeypatch.setattr(installation, "directory", lambda: str(installed.source))
    said = installed(Distribution(installed.place, installed.source.as_uri(), dir_info={"editable": True}))
    assert said == f"Install it: {installed.venv}/bin/pip install -e '{installed.source}[install]'"


def test_of_a_wheel_and_of_a_repository_it_is_that_address(installed):
    wheel = installed.source / "hostagent-0.1.0-py3-none-any.whl"
    wheel.touch()
    assert installed(Distribution(installed.place, wheel.as_uri(), archive_info={})).endswith(f"install '{wheel}[install]'")
    url = "https://git.example/hostagent.git"
    said = installed(Distribution(installed.place, url, vcs_info={"vcs": "git", "commit_id": "abc"}))
    assert said.endswith(f"install 'hostagent[install] @ git+{url}@abc'")
    said = installed(Distribution(installed.place, "https://mirror.example/hostagent.whl", archive_info={}))
    assert said.endswith("install 'hostagent[install] @ https://mirror.example/hostagent.whl'")


def test_pipx_has_its_own_words(installed):
    (installed.venv / "pipx_metadata.json").touch()
    said = installed(Distribution(installed.place, installed.source.as_uri(), dir_info={}))
    assert said == f"Install it: pipx install --force '{installed.source}[install]'"


def test_an_environment_without_pip_is_named_with_the_source(installed):
    (installed.venv / "bin/pip").unlink()
    said = installed(Distribution(installed.place, installed.source.as_uri(), dir_info={}))
    assert said == f"Install the extra 'install' into {installed.venv} from {installed.source}"


@pytest.mark.parametrize(
    ("way", "program", "step"),
    [
        ("pyz", "/srv/hostagent.pyz", "Remove {above}: /srv/hostagent.pyz unpacks itself again"),
        ("package", "/usr/bin/hostagent", "Install the package hostagent again"),
    ],
)
def test_a_single_file_and_a_package_have_the_extra_and_without_it_are_damaged(installed, monkeypatch, way, program, step):
    monkeypatch.setattr(installation, "_started", [installation.Installation(way, program)])
    said = installed(Distribution(installed.place, installed.source.as_uri(), dir_info={}))
    assert said == f"This copy is damaged. {step.format(above=installed.place.parent)}"


@pytest.mark.parametrize(
    "made",
    [
        lambda installed: Distribution(installed.place),  # by a tool that writes no direct_url.json, or from an index
        lambda _: importlib.metadata.PackageNotFoundError("hostagent"),  # PYTHONPATH
        lambda installed: Distribution(installed.source, installed.source.as_uri(), dir_info={}),  # another copy's
        lambda installed: Distribution(installed.place, (installed.source / "gone").as_uri(), dir_info={}),
        lambda _: OSError("unreadable"),
    ],
    ids=["no address", "no metadata", "another copy", "gone", "unreadable"],
)
def test_where_it_is_not_known_that_is_said(made, installed):
    assert installed(made(installed)) == f"Install the extra 'install' into {installed.venv} from the source hostagent was installed from"


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user is refused before")
def test_a_missing_extra_is_one_sentence_and_the_command_of_this_very_copy(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=debian\n")
    done = subprocess.run([sys.executable, "-c", _WITHOUT, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "found no Python module ansible and no ansible_runner" in done.stderr
    assert "Traceback" not in done.stderr
    assert ourselves.extra_step("install") in done.stderr
    assert not _FROM_INDEX.search(done.stderr)


def test_no_file_sends_anybody_to_a_package_index_for_hostagent():
    """Its name there is not ours."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    skipped = ("tests/hosts/", "tests/nccl/", "tests/unit/install/test_install_extra.py")
    wrong = []
    for name in filter(None, listed):
        if name.startswith(skipped) or not (ROOT / name).is_file():
            continue
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        wrong += [f"{name}: {found[0]}" for found in _FROM_INDEX.finditer(text)]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("pip install 'hostagent[install]'", True),
        ("pip install hostagent", True),
        ("pipx install hostagent", True),
        ("pip install -U hostagent==1.0", True),
        ("/opt/hostagent/bin/pip install .", False),
        ("pip install '/srv/hostagent[install]'", False),
        ("/opt/hostagent/bin/pip install '.[install]'", False),
    ],
)
def test_the_search_finds_such_words(text, is_wrong):
    assert bool(_FROM_INDEX.search(text)) == is_wrong
