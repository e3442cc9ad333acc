"""The wheel: what is in it, and that it works on a machine that has nothing else of ours."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import jsonschema
import pytest

from hostagent import __version__
from hostagent.cli.demo import HOSTS
from hostagent.cli.schemas import published
from hostagent.engine.catalogue import OURS, load

ROOT = Path(__file__).parent.parent
KNOWN = re.compile(
    r"hostagent(?:_checks)?/py\.typed"
    r"|hostagent/(?:[a-z_]+/)*[a-z_0-9]+\.py"
    r"|hostagent/profiles/(?:[a-z0-9.-]+\.json|default\.yaml)"
    r"|hostagent/_commit\.txt"
    r"|hostagent/_(?:playbooks|daemonset)/.+"
    r"|hostagent/_demo/[a-z-]+\.json"
    r"|hostagent_checks/(?:[a-z_]+/)?[a-z_0-9]+\.py"
    rf"|hostagent-{re.escape(__version__)}\.dist-info/(?:METADATA|WHEEL|RECORD|entry_points\.txt|licenses/LICENSE)"
)
STRAY = re.compile(r"(^|/)(tests?|__pycache__|\.(?!gitkeep$)[^/]+|node_modules|.*\.(pyc|orig|swp|log|retry))(/|$)")


def built(sources, target, folder):
    """Built by hatchling itself: no network, no isolation."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)], cwd=sources, check=False, timeout=120
    )
    assert done.returncode == 0
    (made,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return built(ROOT, "wheel", tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def fresh(wheel, tmp_path_factory):
    """A virtual environment that holds the wheel and what it depends on."""
    place = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", str(place / "venv")], check=True, timeout=120)
    pip = [str(place / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, str(wheel)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr

    def run(*argv):
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": str(place)}
        program = str(place / "venv/bin/hostagent")
        return subprocess.run([program, *argv], cwd=place, env=environment, capture_output=True, text=True, timeout=60, check=False)

    run.place = place
    return run


def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_holds_known_kinds_of_files_alone(wheel):
    assert [name for name in names(wheel) if not KNOWN.fullmatch(name) or STRAY.search(name)] == []


def test_the_wheel_holds_every_module_and_profile_and_both_trees(wheel):
    wanted = set()
    for folder, suffix in (("hostagent", ".py"), ("checks/hostagent_checks", ".py"), ("hostagent/profiles", ".json")):
        wanted |= {path.relative_to(ROOT).as_posix().removeprefix("checks/") for path in (ROOT / folder).rglob(f"*{suffix}")}
    for folder in ("playbooks", "daemonset"):
        tracked = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
        wanted |= {f"hostagent/_{name}" for name in tracked if not os.path.basename(name).startswith(".")}
    assert wanted <= set(names(wheel))


def test_the_wheel_says_what_it_needs(wheel):
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"hostagent-{__version__}.dist-info/METADATA").decode()
    needed = {
        re.match(r"[\w-]+", line)[0].lower()
        for line in re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE)
        if "extra ==" not in line
    }
    wanted = ("click", "pyyaml", "nvidia-ml-py", "psutil", "distro", "pyudev", "requests", "tomlkit", "tomli", "h2", "backports-zstd")
    assert needed == set(wanted)


def test_the_wheel_holds_each_host_that_demo_shows(wheel):
    assert sorted(name for name in names(wheel) if "/_demo/" in name) == sorted(f"hostagent/_demo/{name}.json" for name in HOSTS)


def test_an_installed_wheel_shows_a_recorded_host(fresh):
    done = fresh("demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nNOT READY  GPU 4 " in done.stdout


def test_an_installed_wheel_says_its_version(fresh):
    done = fresh("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"hostagent {__version__}")


def test_an_installed_wheel_names_the_commit_that_it_was_built_from(fresh):
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert asked.stdout.strip()[:12] in fresh("--version").stdout


def test_a_wheel_that_was_built_from_an_sdist_names_the_same_commit(wheel, tmp_path):
    with tarfile.open(built(ROOT, "sdist", tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    second = built(tmp_path / f"hostagent-{__version__}", "wheel", tmp_path)
    assert commit_in(second) == commit_in(wheel) != ""


def test_a_machine_without_git_names_the_commit_of_its_checkout(wheel, tmp_path, monkeypatch):
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{ROOT}", tmp_path / "src"], check=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_in(built(tmp_path / "src", "wheel", tmp_path)) == commit_in(wheel)


def commit_in(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return archive.read("hostagent/_commit.txt").decode().strip()


def test_an_installed_wheel_has_every_check(fresh):
    done = fresh("checks", "list", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert {row["id"] for row in json.loads(done.stdout)} == {one.id for one in load([OURS])}


def test_an_installed_wheel_judges_this_machine(fresh):
    done = fresh("check", "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    jsonschema.Draft202012Validator(published("report")).validate(document)
    assert done.returncode == (document["verdict"]["single_node"] not in ("ready", "degraded"))


@pytest.mark.parametrize("name", ["report", "profile", "snapshot"])
def test_an_installed_wheel_prints_its_schemas(fresh, name):
    assert json.loads(fresh("schema", name).stdout) == published(name)


def test_an_installed_wheel_runs_from_anywhere_without_the_checkout(fresh):
    program = "import hostagent, hostagent_checks; print(hostagent.__file__, hostagent_checks.__file__)"
    done = subprocess.run(
        [str(fresh.place / "venv/bin/python"), "-I", "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert all(path.startswith(str(fresh.place)) for path in done.stdout.split())


def test_the_wheel_starts_a_profile(fresh):
    started = fresh("profile", "init", "-o", "started.yaml")
    assert (started.returncode, started.stderr) == (0, "")
    assert fresh("profile", "validate", "started.yaml").stdout.startswith("started.yaml: valid")
