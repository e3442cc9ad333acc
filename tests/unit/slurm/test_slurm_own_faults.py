"""Files of hostagent itself that are broken, in a copy of it: no prolog and no epilog fails of them, and none starts Slurm's commands."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hostagent.__main__ import slurm_exit_code
from tests.unit.slurm.nodestate import HEALTHY, SICK, daemon_says

ROOT = Path(__file__).parents[3]
#: Of the copy alone: the path of this checkout is on that of its environment.
START = """
import sys
copy, root = sys.argv[1:3]
del sys.argv[1:3]
sys.path[:] = [copy, f"{copy}/checks", *(one for one in sys.path if one not in (root, f"{root}/checks"))]
from hostagent.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy with the byte code of this one."""
    place = tmp_path_factory.mktemp("copy")
    for name in ("hostagent", "checks/hostagent_checks"):
        shutil.copytree(ROOT / name, place / name)
    return place


@pytest.fixture
def broken(copy, request):
    """Breaks a file or a folder of the copy, and mends it."""
    aside = []

    def broken(name, content=None):
        path = copy / name
        aside.append((path, shutil.move(path, copy / "aside")))
        if content is not None:
            path.write_text(content)

    yield broken
    for path, kept in aside:
        path.unlink(missing_ok=True)
        shutil.move(kept, path)


def run(copy, folder, program, *arguments, **environment):
    argv = [sys.executable, "-I", "-c", START, str(copy), str(ROOT), "slurm", program, "--node", "n1", "--state-dir", str(folder)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    return subprocess.run(
        [*argv, *map(str, arguments)], env={**kept, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


def cut(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    return f"{text[: len(text) // 2]}\n("


BROKEN = [
    ("hostagent/cli/run.py", cut("hostagent/cli/run.py")),
    ("hostagent/cli/__init__.py", ""),
    ("hostagent/cli/slurmprolog.py", cut("hostagent/cli/slurmprolog.py")),
    ("hostagent/slurm/programs/spool.py", cut("hostagent/slurm/programs/spool.py")),
    ("hostagent/engine/report/state.py", ""),
    ("hostagent/engine/evaluate.py", cut("hostagent/engine/evaluate.py")),
    ("hostagent/domains/gpu/read_gpus.py", cut("hostagent/domains/gpu/read_gpus.py")),
    ("hostagent/facts/gpu.py", None),
    ("hostagent/profiles/default.json", None),
    ("hostagent/profiles/default.json", "{"),
    ("checks/hostagent_checks", None),
    ("checks/hostagent_checks/gpu/xid.py", cut("checks/hostagent_checks/gpu/xid.py")),
]


def test_a_copy_that_is_whole_refuses_and_lets_in(copy, tmp_path):
    assert run(copy, tmp_path / "a", "prolog", "--from", HEALTHY).returncode == 0
    assert run(copy, tmp_path / "b", "prolog", "--from", SICK).returncode == 1


@pytest.mark.parametrize(("name", "content"), BROKEN)
def test_with_a_broken_file_the_prolog_lets_the_job_in_and_says_why(copy, broken, tmp_path, name, content):
    broken(name, content)
    done = run(copy, tmp_path, "prolog", "--from", SICK)
    assert (done.returncode, "hostagent itself failed" in done.stderr) == (0, True), done.stderr


@pytest.mark.parametrize(("name", "content"), [BROKEN[0], BROKEN[3], BROKEN[6], BROKEN[10]])
def test_where_the_site_wants_it_the_prolog_refuses_with_its_code(copy, broken, tmp_path, name, content):
    broken(name, content)
    assert run(copy, tmp_path, "prolog", "--from", SICK, "--on-own-fault", "refuse", "--refusal-code=100").returncode == 100


@pytest.mark.parametrize(
    ("name", "content"),
    [
        BROKEN[0],
        BROKEN[3],
        ("hostagent/slurm/programs/jobfaults.py", cut("hostagent/slurm/programs/jobfaults.py")),
        ("hostagent/profiles/default.json", None),
    ],
)
def test_with_a_broken_file_the_epilog_fails_no_job(copy, broken, tmp_path, name, content):
    broken(name, content)
    named = {"SLURM_JOB_ID": "17", "SLURM_JOB_START_TIME": "1000"}
    done = run(
        copy, tmp_path, "epilog", "--from", SICK, "--on-own-fault=refuse" if name.endswith("run.py") else "--refusal-code=1", **named
    )
    assert (done.returncode, "hostagent itself failed" in done.stderr) == (0, True), done.stderr


def test_an_unknown_option_is_a_mistake_of_usage_also_of_a_prolog(copy, tmp_path):
    assert run(copy, tmp_path, "prolog", "--nonsense").returncode == 2
    assert run(copy, tmp_path, "prolgo").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check"], None),
        (["slurm", "clean"], None),
        (["slurm"], None),
        ([], None),
        (["slurm", "health"], 0),
        (["slurm", "health", "--on-own-fault", "refuse"], 0),
        (["slurm", "epilog", "--on-own-fault", "refuse"], 0),
        (["slurm", "prolog"], 0),
        (["slurm", "prolog", "--on-own-fault"], 0),
        (["slurm", "prolog", "--on-own-fault", "refuse"], 1),
        (["slurm", "prolog", "--on-own-fault=refuse", "--refusal-code", "100"], 100),
        (["slurm", "prolog", "--on-own-fault=refuse", "--refusal-code", "0"], 1),
        (["slurm", "prolog", "--on-own-fault=refuse", "--refusal-code", "x"], 1),
        (["slurm", "prolog", "--on-own-fault=refuse", "--on-own-fault=allow"], 0),
    ],
)
def test_the_exit_code_of_a_hostagent_that_cannot_run_is_slurms_where_slurm_starts_it(arguments, code):
    assert slurm_exit_code(arguments, "a reason") == code


def test_neither_starts_a_command_of_slurm(copy, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("scontrol", "sinfo", "squeue"):
        (programs / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
        (programs / name).chmod(0o755)
    named = {"PATH": f"{programs}:{os.environ['PATH']}", "SLURM_JOB_START_TIME": "1000"}
    for number, place in enumerate((HEALTHY, SICK)):
        for program in ("prolog", "epilog"):  # of another job: its begin is that of Slurm
            named["SLURM_JOB_ID"] = f"{program == 'epilog':d}"
            done = run(copy, tmp_path / f"state{number}", program, "--from", place, "--bin-dir", programs, **named)
            assert done.returncode == number, done.stderr
    daemon_says(tmp_path / "daemon", "not_ready")
    assert run(copy, tmp_path / "daemon", "prolog", "--bin-dir", programs, **named).returncode == 1
    assert not (tmp_path / "started").exists()
