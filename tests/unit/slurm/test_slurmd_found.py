"""A slurmd that no unit of its own runs: one that another service started is one, also by the name that Debian gives the program."""

import pytest

from hostagent.engine.collection import InProcess
from hostagent.facts.host import Machine
from tests.trees import system
from tests.trees.staged import stage
from tests.trees.system import Daemon
from tests.trees.workers import slurm_dead

pytestmark = pytest.mark.alone


def found(root, program, **place):
    tree = slurm_dead(root)
    for path in (program, "/usr/sbin/slurmd"):
        tree.program(path)
    system.run(tree, Daemon(1400, ("/usr/sbin/slurmd", "-N", "n1", "-D"), **place))
    tree.link("/proc/1400/exe", program)
    with stage(tree) as backend:
        return [one.pid for one in InProcess(backend, ("Machine",)).collect().facts.of(Machine).daemons("slurmd")]


@pytest.mark.parametrize("program", ["/usr/sbin/slurmd", "/usr/sbin/slurmd-wlm"])
def test_one_that_another_service_started_runs(program, tmp_path):
    assert found(tmp_path / "host", program, unit="cloud-final.service") == [1400]


@pytest.mark.parametrize(
    ("program", "place"), [("/usr/bin/sleep", {"unit": "cloud-final.service"}), ("/usr/sbin/slurmd-wlm", {"uid": 1000})]
)
def test_another_program_of_that_name_or_one_of_a_session_does_not(program, place, tmp_path):
    assert found(tmp_path / "host", program, **place) == []
