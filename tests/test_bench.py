"""The measuring of processes measures: nothing else runs it in the gate."""

from tests.bench.run import processes


def test_programs_and_forks_of_a_run_are_counted():
    assert processes(["--version"]) == (0, 0)
