"""What a change of the host needs to know, held against dpkg-query, apt-mark, dnf, lsof and fuser."""

import json
import os
import subprocess
import sys

import pytest

from hostagent.engine.collect import collect
from hostagent.engine.questions import live_backend
from hostagent.facts.installation import Installation
from hostagent.host.source import Source
from tests.real.conftest import need_real

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces: run the tests as root")


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60, env={**os.environ, "LC_ALL": "C"}).stdout


@ROOT
def test_gpu_users_are_those_of_lsof_and_fuser_and_more():
    """Both look for a device number or a path of their own; a node of a container has the number of the host's, a deleted one no path."""
    for program in ("lsof", "fuser"):
        need_real(program, "apt-get install lsof psmisc")
    argv = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-m", "tests.real.installation_inside"]
    completed = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert completed.returncode == 0, completed.stderr
    found = json.loads(completed.stdout)
    python = os.path.basename(os.path.realpath(sys.executable))
    assert found["ours"] == {
        "one": [python, "/dev/nvidia0"],
        "two": [python, "/dev/nvidia1"],
        "deleted": [python, "/dev/nvidia1"],
        "own root": [python, "/dev/nvidia0"],
        "own mounts": [python, "/dev/nvidia0"],
    }
    for judge in ("lsof", "fuser"):
        assert set(found[judge]) <= set(found["ours"]), judge
        assert {"one", "two", "deleted"} <= set(found[judge]), judge


def test_packages_holds_and_marks_of_this_machine_are_those_of_dpkg_and_apt():
    for program in ("dpkg-query", "apt-mark"):
        need_real(program, "run it on Debian or Ubuntu")
    packages = collect(Source(live_backend()), ["Installation"])[0].of(Installation).packages
    listed = run("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Architecture}\t${db:Status-Status}\n").splitlines()
    assert sorted(f"{one.name}\t{one.version}\t{one.arch}\t{one.state.split()[0]}" for one in packages) == sorted(listed)
    installed = [one for one in packages if one.state == "installed"]
    assert {one.name for one in installed if one.held} == {name.partition(":")[0] for name in run("apt-mark", "showhold").split()}
    assert {one.name for one in installed if one.automatic} == {name.partition(":")[0] for name in run("apt-mark", "showauto").split()}


STANZA = "Package: {}\nStatus: {} ok installed\nMaintainer: T <t@t>\nArchitecture: {}\nVersion: 1\nMulti-Arch: same\nDescription: x\n\n"
MARK = "Package: {}\nArchitecture: {}\nAuto-Installed: {}\n\n"


def test_marks_of_several_architectures_are_those_of_apt(tmp_path):
    """apt marks a package for all architectures under the host's own, and one of two architectures apart."""
    need_real("apt-mark", "run it on Debian or Ubuntu")
    packages = [("a", "amd64"), ("a", "i386"), ("b", "all"), ("c", "amd64"), ("d", "all"), ("e", "i386")]
    marks = [("a", "i386", 1), ("b", "amd64", 1), ("c", "i386", 1), ("e", "i386", 0), ("gone", "amd64", 1)]
    for name in ("var/lib/dpkg/updates", "var/lib/apt/lists/partial", "etc/apt", "var/cache/apt"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(
        "".join(STANZA.format(name, "hold" if name == "c" else "install", arch) for name, arch in packages)
    )
    (tmp_path / "var/lib/apt/extended_states").write_text("".join(MARK.format(*mark) for mark in marks))
    options = [f"-oDir={tmp_path}", f"-oDir::State::status={tmp_path}/var/lib/dpkg/status", "-oAPT::Architecture=amd64"]
    options += ["-oAPT::Architectures::=amd64", "-oAPT::Architectures::=i386"]
    ours = collect(Source(live_backend(str(tmp_path), "image")), ["Installation"])[0].of(Installation).packages
    for question, words in (("showauto", [one for one in ours if one.automatic]), ("showhold", [one for one in ours if one.held])):
        said = {word if ":" in word else f"{word}:amd64" for word in run("apt-mark", *options, question).split()}
        assert {f"{one.name}:{'amd64' if one.arch == 'all' else one.arch}" for one in words} == said, question
