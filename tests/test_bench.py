"""The measuring of processes measures: nothing else runs it in the gate."""

import subprocess

from tests.bench import slurm
from tests.bench.run import processes


def test_programs_and_forks_of_a_run_are_counted():
    assert processes(["--version"]) == (0, 0)


def test_the_programs_of_slurm_are_measured_with_a_fresh_verdict_and_no_check(tmp_path):
    for name, argv in slurm.programs(tmp_path).items():
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), name
    assert (tmp_path / "calls").read_text() == "\n\n", "once by itself, once by health"
    assert not (tmp_path / "state/slurm/verdict.json").exists()
