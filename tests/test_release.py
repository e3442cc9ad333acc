"""How a release is put together: which wheels, where their files go, the sums and the list of parts."""

import ast
import email.message
import hashlib
import importlib.metadata
import json
import re
import zipfile

import pytest
from packaging.requirements import Requirement
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from release import sbom, stage, sums, wheels
from release.__main__ import main
from release.hostagent_start import _is_for
from release.sources import Commit
from release.wheels import ARCHES, PINNED, PYTHONS, ROOT, Pin, Target, Wheel, parse_pins, pins_for

PINS = parse_pins(PINNED.read_text(encoding="utf-8"))
TARGETS = [Target(minor, arch) for minor in PYTHONS for arch in ARCHES]
COMMIT = Commit("0123456789abcdef", 1_700_000_000, is_clean=True)


def versions(minor):
    return {one.name: one.version for one in pins_for(Target(minor, "x86_64"), PINS)}


def test_markers_are_those_of_the_target_whatever_python_builds():
    assert len({versions(minor)["ansible-core"] for minor in (10, 11, 12)}) == 3
    assert versions(12)["ansible-core"] == versions(14)["ansible-core"]
    assert ["tomli" in versions(minor) for minor in (10, 11)] == [True, False]
    assert ["backports-zstd" in versions(minor) for minor in (13, 14)] == [True, False]


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: f"{one.python}-{one.arch}")
def test_each_python_and_machine_has_one_pin_of_everything_that_another_needs(target):
    names = {one.name for one in pins_for(target, PINS)}
    assert {canonicalize_name(name) for name in ("click", "PyYAML", "ansible-runner", "psutil", "requests", "h2")} <= names
    assert not names & wheels.BUILD_TOOLS


def test_two_pins_of_one_project_for_one_python_are_refused():
    text = "click==1 \\\n    --hash=sha256:0a\nclick==2 ; python_version >= '3.12' \\\n    --hash=sha256:0b\n"
    with pytest.raises(SystemExit, match=r"found two pins of click for Python 3\.12, wanted one"):
        pins_for(Target(12, "x86_64"), parse_pins(text))
    assert [one.version for one in pins_for(Target(11, "x86_64"), parse_pins(text))] == ["1"]


def made_wheel(folder, name="click", version="1.0", requires="", files=()):
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nLicense-Expression: MIT\n{requires}\n"
        archive.writestr(f"{name}-{version}.dist-info/METADATA", metadata)
        for file in files:
            archive.writestr(file, "x = 1\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Wheel(Pin(Requirement(f"{name}=={version}"), frozenset({digest})), path, digest)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache with one wheel, pinned by the only line of the requirements; pip would fail at once."""
    monkeypatch.setenv("HOSTAGENT_DIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    one = made_wheel(tmp_path)
    (tmp_path / "pins.txt").write_text(f"click==1.0 \\\n    --hash=sha256:{one.sha256}\n")
    monkeypatch.setattr(wheels, "PINNED", tmp_path / "pins.txt")
    target = Target(12, "x86_64")
    (tmp_path / "cache" / one.sha256).mkdir(parents=True)
    one.path.rename(tmp_path / "cache" / one.sha256 / one.path.name)
    lists = tmp_path / "cache/lists"
    lists.mkdir()
    key = wheels._key(target, pins_for(target, parse_pins((tmp_path / "pins.txt").read_text())))
    (lists / f"{key}.json").write_text(json.dumps({"click": [one.path.name, one.sha256]}))
    return tmp_path / "cache" / one.sha256 / one.path.name


def test_a_wheel_that_was_fetched_is_not_fetched_again(kept):
    assert [one.path for one in wheels.wheels(Target(12, "x86_64"))] == [kept]


def test_a_kept_wheel_that_was_changed_is_not_used(kept):
    kept.write_bytes(b"something else")
    with pytest.raises(SystemExit, match=r"pip did not get the wheels for Python 3\.12 on x86_64"):
        wheels.wheels(Target(12, "x86_64"))


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: f"{one.python}-{one.arch}")
def test_each_chosen_wheel_runs_on_its_python_and_machine(target):
    version, tags = (3, target.minor), set()
    tags |= {
        *cpython_tags(version, [f"cp3{target.minor}"], target.platforms()),
        *compatible_tags(version, f"cp3{target.minor}", target.platforms()),
    }
    found = wheels.wheels(target)
    assert [one.path.name for one in found if not tags & parse_wheel_filename(one.path.name)[3]] == []
    assert {"yaml": True, "zstd": target.minor < 14} == {
        "yaml": any(f"cp3{target.minor}-cp3{target.minor}-manylinux" in one.path.name for one in found if one.pin.name == "pyyaml"),
        "zstd": any(one.pin.name == "backports-zstd" for one in found),
    }


@pytest.mark.parametrize("target", TARGETS[::2], ids=lambda one: one.python)
def test_nothing_is_left_out_that_something_needs(target):
    """Of what is not staged, Ansible's vaults alone ask for cryptography, and that for the rest."""
    by_name = {one.pin.name: one for one in wheels.wheels(target)}
    environment = {**target.environment(), "extra": ""}
    needed = {}
    for one in by_name.values():
        for line in sbom._metadata(one.path).get_all("Requires-Dist", []):
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate(environment):
                needed.setdefault(canonicalize_name(requirement.name), set()).add(one.pin.name)
    assert needed.keys() <= by_name.keys()
    assert needed["cryptography"] == {"ansible-core"}
    assert needed["cffi"] == {"cryptography"}
    assert needed["pycparser"] == {"cffi"}


def test_files_that_differ_between_pythons_lie_apart():
    same, old, new = {"b.py": b"1"}, {"a.py": b"1"}, {"a.py": b"2"}
    projects = {"a": {10: old, 11: new, 12: new, 13: new, 14: new}, "b": {minor: {**same, f"b.{minor}.so": b"x"} for minor in PYTHONS}}
    assert sorted(stage.merged(projects)) == [
        "_python/3.10/a.py", "_python/3.11+/a.py", "b.10.so", "b.11.so", "b.12.so", "b.13.so", "b.14.so", "b.py",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "fits"),
    [("3.10", {10}), ("3.11+", {11, 12, 13, 14, 15}), ("3.12+", {12, 13, 14, 15}), ("3.1", set()), ("3.9+", {10, 11, 12, 13, 14, 15})],
)
def test_a_directory_serves_its_pythons(name, fits):
    assert {minor for minor in range(10, 16) if _is_for(name, (3, minor))} == fits


def test_old_pythons_can_read_the_first_file():
    ast.parse((ROOT / "release/pyz_main.py").read_text(encoding="utf-8"), feature_version=(3, 6))


def test_a_directory_that_is_not_of_an_earlier_run_is_not_replaced(tmp_path):
    (tmp_path / sums.NAME).write_text("of something else\n")
    with pytest.raises(SystemExit, match="wanted a new or empty directory"):
        main(["--unclean", "--out", str(tmp_path)])
    assert (tmp_path / sums.NAME).exists()


def test_the_sums_name_every_file(tmp_path):
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels/b.whl").write_bytes(b"b")
    (tmp_path / "a.pyz").write_bytes(b"a")
    sums.write(tmp_path)
    lines = sums.write(tmp_path).read_text().splitlines()
    assert lines == [f"{hashlib.sha256(name.encode()).hexdigest()}  {path}" for name, path in (("a", "a.pyz"), ("b", "wheels/b.whl"))]


def test_the_list_of_parts_is_whole(tmp_path):
    parts = [made_wheel(tmp_path, "click", "1.0"), made_wheel(tmp_path, "h2", "2.0"), made_wheel(tmp_path, "h2", "2.0")]
    artefacts = {"hostagent-x86_64.pyz": parts[0].path}
    made = sbom.document("0.1.0", COMMIT, parts, artefacts)
    assert made == sbom.document("0.1.0", COMMIT, reversed(parts), artefacts)
    assert (made["spdxVersion"], made["creationInfo"]["created"]) == ("SPDX-2.3", "2023-11-14T22:13:20Z")
    shiv = importlib.metadata.version("shiv")  # it unpacks the single files
    wanted = [("hostagent", "0.1.0"), ("click", "1.0"), ("h2", "2.0"), ("shiv", shiv)]
    assert [(one["name"], one["versionInfo"]) for one in made["packages"]] == wanted
    ids = ["SPDXRef-DOCUMENT", *(one["SPDXID"] for kind in ("packages", "files") for one in made[kind])]
    assert len(ids) == len({*ids})
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in ids)
    assert {one[name] for one in made["relationships"] for name in ("spdxElementId", "relatedSpdxElement")} == {*ids}


def test_each_part_has_a_licence_that_is_known():
    parts = {one.path: one for target in TARGETS for one in wheels.wheels(target)}
    assert [path.name for path in parts if sbom.licence(sbom._metadata(path)) == "NOASSERTION"] == []


def test_a_licence_that_is_not_known_is_not_guessed():
    said = email.message.Message()
    said["Name"], said["License"] = "x", "BSD, see the file"
    assert sbom.licence(said) == "NOASSERTION"


def test_the_commit_of_changed_files_is_marked():
    assert COMMIT.shown == COMMIT.name
    assert Commit(COMMIT.name, 1, is_clean=False).shown == "012345+edits"
