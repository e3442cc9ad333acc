"""What hostagent says of itself and does with itself is right for the way in which it was installed: real pip, Ansible, systemd."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests import copies
from tests.real.conftest import need_module, need_real

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="a unit is for a copy that is root's")]
ROOT = Path(__file__).parents[2]
SHIM = "skills/tao-setup-nvidia-gpu-host/scripts/setup-nvidia-gpu-host.sh"
#: One operation by Ansible, as a part of a plan is carried out.
PLAYS = """
import json, os, sys
from hostagent.install import ansible
place = sys.argv[1]
with open(f"{place}-source", "w") as stream:
    stream.write("written")
write = {"write": {"path": "/x", "at": f"{place}-target", "source": f"{place}-source", "mode": 0o640}}
run = {"run": {"argv": ["true"], "enter": [], "timeout_s": 10}}
job = {"resolved": True, "refusals": [], "steps": [{"id": "x", "part": "runtime", "state": "to-do", "do": [write, run]}]}
print(ansible.play(place, job, ansible.environment({}), lambda _: None, lambda _: None))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return copies.wheel_in(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module", params=copies.WAYS)
def copy(request, wheel):
    with copies.place() as where:
        program = copies.install(request.param, where, wheel)
        yield request.param, program


def call(*argv, **more):
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    return subprocess.run(argv, env=environment, cwd="/", capture_output=True, text=True, timeout=120, check=False, **more)


def test_a_printed_unit_starts_this_copy_and_systemd_takes_it(copy, tmp_path):
    way, program = copy
    verify = need_real("systemd-analyze", "apt-get install systemd")
    with copies.place() as kept:
        profile = kept / "it's $x 100%.yaml"
        profile.write_text("# as the default one\n")
        given = ["--deadline", "20", "--listen", "", "--label-valid-until", "--profile", os.path.relpath(profile, "/")]
        done = call(program, "daemon", "--print-unit", *given)
    if f"{program}".startswith(("/tmp/", "/var/tmp/")):  # of a checkout that lies there: the others never do
        assert (way, done.returncode) == ("checkout", 2)
        assert "wanted a place outside of /tmp and /var/tmp" in done.stderr
        return
    assert (done.returncode, done.stderr) == (0, "")
    options = f"""--profile "{kept}/it's $$x 100%%.yaml" --deadline 20 --listen "" --label-valid-until"""
    assert f"\nExecStart={program} daemon --kubernetes off {options}\n" in done.stdout
    assert ("\nCacheDirectory=hostagent\n" in done.stdout) == (way == "pyz")
    unit = tmp_path / "hostagent.service"
    unit.write_text(done.stdout)
    judged = call(verify, "verify", unit)
    assert (judged.returncode, judged.stdout, judged.stderr) == (0, "", "")


def test_what_only_the_site_knows_is_said_and_the_variable_is_kept(wheel):
    with copies.place() as where:
        program = copies.install("package", where, wheel)
        given = ["--kubeconfig", "/etc/x", "--kubernetes-events", "--listen", "0.0.0.0:9476"]
        done = call("env", "HOSTAGENT_PROFILE=any", program, "daemon", "--print-unit", *given)
        assert done.returncode == 0
        assert done.stderr == (
            "Add a line IPAddressAllow= with the addresses of the clients of --listen 0.0.0.0:9476 and the API server of --kubeconfig: "
            "the unit reaches loopback alone.\n"
        )
        options = "--profile any --listen 0.0.0.0:9476 --kubeconfig /etc/x --kubernetes-events"
        assert f"\nExecStart={program} daemon {options}\n" in done.stdout


def test_a_written_shim_starts_this_copy_and_says_when_it_has_gone(copy, tmp_path):
    way, program = copy
    done = call(program, "setup", "--write-shim", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    shim = tmp_path / SHIM
    started = call("env", "-i", "bash", shim, "--help")
    assert (started.returncode, started.stderr) == (0, "")
    assert started.stdout.startswith("Usage: hostagent setup")
    if way not in copies.STAGED:
        return
    assert "site-packages" not in shim.read_text(), "a cache may vanish"
    program.rename(program.with_name("elsewhere"))
    try:
        gone = call("bash", shim, "--check-only")
    finally:
        program.with_name("elsewhere").rename(program)
    assert (gone.returncode, gone.stdout) == (1, "")
    assert gone.stderr == f"hostagent is not at {program} any more: install it again, then run 'hostagent setup --write-shim' again.\n"


def test_ansible_runs_from_the_modules_of_this_copy(copy, tmp_path):
    way, program = copy
    need_module("ansible_runner", "pip install -e '.[dev]'")
    text = PLAYS
    if way in copies.STAGED:
        site = program.with_name("build") / "site-packages"
        python = Path(sys.base_prefix, "bin/python3")
        text = f"""
import sys
sys.path.insert(0, {str(site)!r})
import hostagent_start
sys.path[1:1] = hostagent_start.places({str(site)!r})
from hostagent.core.installation import started_as
started_as({way!r}, {str(program)!r})
{PLAYS}"""
    else:
        python = program.with_name("python")
    (tmp_path / "run").mkdir()
    done = call(python, "-I", "-c", text, tmp_path / "run")
    assert done.stdout == "PlayResult(status='successful', failed=None)\n", done.stdout + done.stderr
    assert (tmp_path / "run-target").read_text() == "written"


@pytest.mark.parametrize(
    ("way", "step"), [("pyz", "Remove {above}: {program} unpacks itself again."), ("package", "Install the package hostagent again.")]
)
def test_a_copy_that_has_lost_ansible_says_what_helps(way, step, wheel, tmp_path):
    with copies.place() as where:
        program = copies.install(way, where, wheel)
        for one in where.glob("build/site-packages/_python/*/ansible*"):
            one.unlink()
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc/os-release").write_text("ID=debian\n")
        done = call(program, "install", "--yes", "--root", tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        helps = step.format(above=where / "build", program=program)
        assert done.stderr.splitlines()[-1] == f"This copy is damaged. {helps}"
        assert "found no Python module ansible and no ansible_runner" in done.stderr


def test_a_catalogue_is_not_added_to_a_copy_that_takes_none(copy, tmp_path):
    way, program = copy
    profile = tmp_path / "profile.yaml"
    profile.write_text('schema_version: "1.3"\nname: x\ncatalogues: [hostagent_checks, other_checks]\n')
    done = call(program, "check", "--profile", profile, "--from", ROOT / "tests/hosts/hgx-h100-ubuntu2404")
    wanted = "This copy takes no other modules: install hostagent and other_checks into one virtual environment"
    other = "Install it into the environment of hostagent"
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"{wanted if way in copies.STAGED else other}, or take it out of 'catalogues'."


@pytest.mark.parametrize("way", ["pyz", "venv"])
def test_no_unit_is_printed_of_a_copy_that_a_user_can_change(way, wheel):
    with copies.place() as where:
        program = copies.install(way, where, wheel)
        os.chown(program, 1000, 1000)
        done = call(program, "daemon", "--print-unit")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"refused a unit that runs {program} as root: found {program} of user 1000, wanted root's" in done.stderr
        assert "Traceback" not in done.stderr


def test_no_unit_is_printed_of_a_copy_that_it_would_not_see(wheel, tmp_path):
    with tempfile.TemporaryDirectory(dir="/tmp") as where:
        program = copies.install("pyz", Path(where), wheel)
        done = call(program, "daemon", "--print-unit")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"Error: found {program}, wanted a place outside of /tmp and /var/tmp")


def test_a_copy_that_nothing_installed_has_no_program(wheel):
    with copies.place() as where:
        copies.install("pyz", where, wheel)
        site = where / "build/site-packages"
        (own,) = site.glob("_python/*")
        text = f"import sys; sys.path[:0] = [{str(site)!r}, {str(own)!r}]; sys.argv = ['x', 'daemon', '--print-unit']"
        done = call(Path(sys.base_prefix, "bin/python3"), "-I", "-c", f"{text}; from hostagent.__main__ import main; main()")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("Error: found no program that starts this copy of hostagent.\nInstall hostagent as root")
