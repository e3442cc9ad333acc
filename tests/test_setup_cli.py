"""``hostagent setup`` as the callers of TAO's script meet it: arguments in order, exit codes, and which tools are asked."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.children import running, until
from tests.cpu import least

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
HOSTS = Path(__file__).parent / "hosts"
READY = str(HOSTS / "tao-kubernetes")
USAGE = "Usage: hostagent setup [--backend docker|local-docker|kubernetes|k8s]"
#: Nothing of this machine is changed by a look that is not by its own profile.
STATELESS = ("--profile", "default")
FOUND = ("GPU 0: NVIDIA H100", "595.58.03")


def run(*arguments, **environment):
    path = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
    argv = [sys.executable, "-m", "hostagent", "setup", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, env={**path, **environment})
    assert "Traceback" not in done.stderr, done.stderr
    return done


def tool(folder, name, text):
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--bogus",), 2, "Unknown argument: --bogus"),
        (("extra",), 2, "Unknown argument: extra"),
        (("",), 2, "Unknown argument: "),
        (("--",), 2, "Unknown argument: --"),
        (("-yy",), 2, "Unknown argument: -yy"),
        (("--yes=1",), 2, "Unknown argument: --yes=1"),
        (("--check",), 2, "Unknown argument: --check"),
        (("--backend=docker",), 2, "Unknown argument: --backend=docker"),
        (("--min-cuda-version=13.0", "--check-only"), 2, "Unknown argument: --min-cuda-version=13.0"),
        (("--bogus", "-h"), 2, "Unknown argument: --bogus"),
        (("--a\nb",), 2, "Unknown argument: --a\\nb"),
        (("--backend", "slurm"), 2, "Unsupported backend: slurm"),
        (("--backend", ""), 2, "Unsupported backend: "),
        (("--backend", "--install"), 2, "Unsupported backend: --install"),
        (
            ("--backend", "slurm", "--min-cuda-version", "x"),
            2,
            "Version requirements must contain only numeric dot-separated components: 'x'",
        ),
        (("--backend", "slurm", "--bogus"), 2, "Unknown argument: --bogus"),
        (("--backend",), 1, "found --backend without a value, wanted one behind it"),
        (("--min-driver-version",), 1, "found --min-driver-version without a value, wanted one behind it"),
        (("--exact", "--min-driver-version", "590"), 2, "found --exact and --min-driver-version, wanted one of them"),
        (("--requirements", ""), 2, "found --requirements '', wanted a file"),
        (("--requirements", "/nowhere"), 2, "cannot read /nowhere: no such file or directory"),
    ],
)
def test_a_mistake_is_told_on_standard_error_with_the_usage(arguments, code, said):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said)
    assert f"\n{USAGE}" in done.stderr


@pytest.mark.parametrize("arguments", [("-h",), ("--help", "--bogus"), ("--backend", "slurm", "-h"), ("--min-cuda-version", "x", "--help")])
def test_help_is_0_where_it_stands_before_a_mistake(arguments):
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(USAGE)


def test_flags_that_the_script_does_not_have_take_their_value_as_those_of_other_commands_do():
    assert run("--backend", "k8s", f"--from={READY}", "--profile=default").returncode == 0


def test_two_things_to_do_are_one_too_many():
    done = run("--install", "--write-shim", "/x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "found --install and --write-shim, wanted one of them" in done.stderr
    assert run("--install", "--check-only", "--from", READY, "--backend", "k8s").returncode == 0


@pytest.mark.parametrize("given", ["/nowhere", "pyproject.toml"])
def test_what_hostagent_cannot_do_is_1_but_for_usage(given, tmp_path):
    (tmp_path / "pyproject.toml").write_text("no snapshot")
    done = run("--from", str(tmp_path / given))
    assert (done.returncode, done.stdout) == (2 if given == "/nowhere" else 1, "")
    assert done.stderr


def test_without_a_standard_output_nothing_can_be_said():
    argv = [sys.executable, "-m", "hostagent", "setup", "--from", READY]
    done = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&-', "sh", *argv], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (1, "Error: there is no standard output.\n")


def test_the_tools_on_the_callers_path_speak_where_the_host_has_nothing(tmp_path):
    """This machine has neither GPU nor driver nor CUDA toolkit, or they count: then the lines are its own."""
    folder = tmp_path / "bin of\n'ours\""
    tool(folder, "nvidia-smi", f'[ "$1" = -L ] && echo "{FOUND[0]}" || echo {FOUND[1]}')
    tool(tmp_path / "cuda \"'13", "bin", "").unlink()
    tool(tmp_path / "cuda \"'13" / "bin", "nvcc", "echo release 13.1, V13.1.2")
    done = run("--backend", "k8s", PATH=str(folder), NVIDIA_CUDA_PATH=str(tmp_path / "cuda \"'13"))
    first, second, *_ = done.stdout.splitlines()
    if os.path.exists("/proc/driver/nvidia/version") or os.path.exists("/usr/local/cuda"):
        pytest.skip("this machine speaks for itself")
    assert (first, second) == ("OK: NVIDIA driver 595.58.03 >= 580", "OK: CUDA Toolkit 13.1 >= 13.0")


def test_no_tool_of_this_machine_speaks_for_a_snapshot(tmp_path):
    for name in ("nvidia-smi", "nvcc", "dpkg-query", "rpm", "nvidia-ctk", "docker", "kubectl", "sudo"):
        tool(tmp_path, name, f"touch {tmp_path}/asked; echo 999.9")
    for backend in ("docker", "kubernetes"):
        run("--from", READY, "--backend", backend, PATH=f"{tmp_path}:/usr/bin:/bin", NVIDIA_CUDA_PATH=str(tmp_path))
    assert not (tmp_path / "asked").exists()


def test_tools_that_hang_cost_five_seconds_in_all_and_none_is_left(tmp_path):
    for name in ("nvidia-smi", "nvcc", "dpkg-query", "rpm", "nvidia-ctk", "docker"):
        tool(tmp_path, name, "exec sleep 994")
    started = time.monotonic()
    done = run(PATH=f"{tmp_path}:/usr/bin:/bin")
    assert time.monotonic() - started < 5 + 7  # a whole check, on a machine that is busy
    assert done.returncode == 1
    assert "OK" not in done.stdout
    assert "no end in 5 s" in done.stdout
    assert until(lambda: not running("sleep", "994"))


def test_a_look_costs_at_most_half_more_than_a_check_tools_aside(tmp_path):
    environment = {"PATH": str(tmp_path), "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode")}
    best = least({"check": (HOSTAGENT, "check", *STATELESS), "setup": (HOSTAGENT, "setup", "--check-only", *STATELESS)}, environment)
    assert best["setup"] <= 1.5 * best["check"]


def test_a_models_file_counts_and_a_flag_wins_over_it(tmp_path):
    needed = {"runtime_requirements": {"gpu_host": {"min_driver_version": 999, "min_cuda_version": "1.5"}}}
    path = tmp_path / "skill info.json"
    path.write_text(json.dumps(needed))
    at = ("--from", READY, "--backend", "k8s", "--requirements", str(path), "--json")
    done = run(*at, TAO_MIN_CUDA_VERSION="14")
    assert (done.returncode, json.loads(done.stdout)["setup"]["minimums"]) == (1, {"driver": "999", "cuda": "1.5", "toolkit": "1.19.0"})
    assert run(*at, "--min-driver-version", "580").returncode == 0
    piped = subprocess.run(
        [sys.executable, "-m", "hostagent", "setup", "--from", READY, "--backend", "k8s", "--requirements", "-"],
        input=path.read_text(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert piped.stdout.startswith("MISSING: visible GPU with NVIDIA driver >= 999 (detected: ")


def test_sudo_starts_it_again_with_the_profile_that_the_variable_names(tmp_path):
    """sudo keeps no variable: without this one another driver could be installed than the one that was asked for."""
    sudo = tool(tmp_path, "sudo", "printf '%s\\n' \"$@\"")
    code = f"from hostagent.install.asroot import again; again({str(sudo)!r}, {{'TAO_X': '1'}}, ['setup', '--install'])"
    environment = {"HOSTAGENT_PROFILE": "/etc/x y.yaml", "PATH": "/usr/bin:/bin", "SECRET": "x"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60, env=environment)
    words = done.stdout.splitlines()
    assert {"HOSTAGENT_PROFILE=/etc/x y.yaml", "TAO_X=1"} < set(words)
    assert "SECRET=x" not in words
    assert words[-2:] == ["setup", "--install"]
