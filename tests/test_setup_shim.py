"""hostagent in the place of TAO's script, as its callers call it: real bash, the preflight of the page, and this machine."""

import json
import os
import subprocess

import pytest

from hostagent.setup.shimtext import FOLDERS, KEPT, NAME
from tests.tao_page import READY, preflight
from tests.test_setup_cli import READY as HOST
from tests.test_setup_cli import run, tool

OK = {"docker": "OK: Docker NVIDIA runtime configured", "kubernetes": "OK: Kubernetes reports nvidia.com/gpu allocatable"}
LACKING = "MISSING: visible GPU with NVIDIA driver >= 580 (detected: none)"


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    place = tmp_path_factory.mktemp("a 'bank'\nof \"skills\"")
    done = run("--write-shim", str(place))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{place}/{folder}/{NAME}".replace("\n", "\\n") for folder in FOLDERS]
    return str(place)


@pytest.mark.parametrize("backend", OK)
def test_the_callers_preflight_goes_on_where_the_recorded_host_is_ready(backend, bank):
    done = preflight(bank, backend)
    assert (done.returncode, done.stderr) == (0, "")
    assert OK[backend] in done.stdout.splitlines()
    assert "MISSING" not in done.stdout


def test_the_callers_preflight_stops_where_something_is_missing(bank):
    done = preflight(bank, "docker", host=READY["kubernetes"])
    assert done.returncode == 1
    assert "MISSING: Docker is not installed." in done.stdout.splitlines()


def test_a_managed_node_may_skip_it(bank):
    done = preflight(bank, "kubernetes", host="/nowhere", TAO_K8S_SKIP_NODE_RUNTIME_CHECK="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


#: As TAO's skills name a place, and that of the bank: by a variable of two, else it is where they are started.
CHOSEN = {
    "${TAO_SKILL_BANK_PATH:-${TAO_SKILL_BANK_ROOT:-$PWD}}/skills/platform": ("TAO_SKILL_BANK_PATH", "TAO_SKILL_BANK_ROOT", "PWD"),
    "${TAO_SKILL_BANK_ROOT:-$PWD}/platform": ("TAO_SKILL_BANK_ROOT", "PWD"),
    "./skills": ("PWD",),
}


@pytest.mark.parametrize(("place", "name"), [(place, name) for place, names in CHOSEN.items() for name in names])
def test_a_skill_finds_it_however_the_bank_is_named(place, name, bank):
    script = f"{place}/tao-setup-nvidia-gpu-host/scripts/{NAME}"
    lines = (
        f'bash "{script}" --backend kubernetes --check-only --from "{HOST}" || {{ echo "MISSING: not ready"; exit 1; }}; echo "It goes on."'
    )
    where, known = (bank, {}) if name == "PWD" else ("/", {name: bank})
    done = subprocess.run(["/bin/bash", "-c", lines], capture_output=True, text=True, check=False, cwd=where, env=known)
    assert (done.returncode, done.stderr) == (0, "")
    assert OK["kubernetes"] in done.stdout.splitlines()
    assert done.stdout.endswith("It goes on.\n")


def test_the_variables_of_the_callers_arrive(bank):
    done = preflight(bank, "docker", TAO_MIN_DRIVER_VERSION="595")
    assert done.returncode == 1
    assert done.stdout.startswith("MISSING: visible GPU with NVIDIA driver >= 595 (detected: 580.178.04)\n")
    exact = preflight(bank, "docker", NVIDIA_DRIVER_BRANCH="580")
    assert exact.stdout.startswith("OK: NVIDIA driver branch 580\n")


@pytest.mark.skipif(os.path.exists("/proc/driver/nvidia/version"), reason="this machine has a driver")
@pytest.mark.parametrize("backend", OK)
def test_on_this_machine_what_it_lacks_is_missing(backend, bank, tmp_path):
    (tmp_path / "bash").symlink_to("/bin/bash")
    done = preflight(bank, backend, host="-", PATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[0] == LACKING


def test_no_tool_of_this_machine_speaks_for_a_snapshot_through_the_shim(bank, tmp_path):
    for name in ("nvidia-smi", "nvcc", "dpkg-query", "rpm", "nvidia-ctk", "docker", "kubectl"):
        tool(tmp_path / "tools", name, f"touch {tmp_path}/asked")
    (tmp_path / "tools/bash").symlink_to("/bin/bash")
    done = preflight(bank, "docker", host="tests/hosts/no-gpu-vm", PATH=str(tmp_path / "tools"))
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == LACKING
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--backend", "slurm"), 2, "Unsupported backend: slurm"),
        (("--backend",), 1, "--backend"),
        (("a b\nc",), 2, "Unknown argument: a b\\nc"),
    ],
)
def test_mistakes_are_the_scripts_through_the_shim_too(words, code, said, bank):
    done = _shim(bank, *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_the_report_comes_through_whole(bank):
    done = _shim(bank, "--backend", "k8s", "--json", "--from", HOST)
    assert json.loads(done.stdout)["setup"]["exit"] == done.returncode == 0


def test_exact_versions_are_asked_for_where_the_shim_was_written_so(tmp_path):
    assert run("--write-shim", str(tmp_path), "--exact").returncode == 0
    done = _shim(str(tmp_path), "--backend", "kubernetes", "--from", HOST)
    assert done.returncode == 1  # the host has 1.19.1
    assert done.stdout.splitlines()[2] == "MISSING: NVIDIA Container Toolkit 1.19.0"


def test_the_script_of_before_is_named_kept_and_put_back(tmp_path):
    theirs = tmp_path / FOLDERS[2] / NAME
    theirs.parent.mkdir(parents=True)
    theirs.write_text("#!/bin/bash\n")
    written = run("--write-shim", str(tmp_path))
    assert (written.returncode, written.stderr) == (0, f"The script that was there is {KEPT} next to {theirs}.\n")
    removed = run("--remove-shim", str(tmp_path))
    assert (removed.returncode, removed.stderr) == (0, "")
    assert removed.stdout.splitlines()[2] == f"{theirs}: the script before it is back"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [theirs]
    again = run("--remove-shim", str(tmp_path))
    assert (again.returncode, again.stdout, again.stderr) == (0, "", f"Found no script of hostagent below {tmp_path}.\n")


@pytest.mark.parametrize("flag", ["--write-shim", "--remove-shim"])
def test_a_bank_that_is_not_there_is_1_with_a_sentence(flag, tmp_path):
    done = run(flag, str(tmp_path / "bank"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: cannot open {tmp_path}/bank: no such file or directory, wanted the root of a skill bank.\n")
    assert run(flag, "").returncode == 2
    assert list(tmp_path.iterdir()) == []


def _shim(bank, *words):
    return subprocess.run(
        ["/usr/bin/env", "-i", "/bin/bash", f"{bank}/{FOLDERS[1]}/{NAME}", *words], capture_output=True, text=True, check=False, cwd="/"
    )
