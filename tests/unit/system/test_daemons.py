"""The table of daemons is the only place that knows their names."""

import ast
from pathlib import Path

import pytest

import hostagent
from hostagent.core.tables import daemons, nvlink_fabric
from hostagent.domains.system.read_services import read_services
from hostagent.host.processes import NAMES
from hostagent.testing import host
from tests.over import over

ROOT = Path(hostagent.__file__).parent
#: Words that name a kind, a place or a package too, and the names that a package manager's pid file may hold.
OTHER_MEANING = {"containerd", "docker", "crio", "kubelet", "k3s", "k0s", "rke2", "microk8s", *daemons.processes("packages")}


@over("path", sorted((*ROOT.glob("domains/*/read_*.py"), *ROOT.glob("host/*.py"), *ROOT.glob("sandbox/*.py"))), ids=lambda path: path.stem)
def test_no_reader_has_a_list_of_daemons_of_its_own(path):
    words = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert words & {*daemons.processes(), *daemons.units()} - OTHER_MEANING == set()


def test_every_process_that_a_check_looks_for_is_listed():
    assert {nvlink_fabric.MANAGER_PROCESS, nvlink_fabric.NVLSM_PROCESS, nvlink_fabric.IMEX_PROCESS} <= set(daemons.processes("nvidia"))


def test_a_name_is_looked_for_as_the_kernel_cuts_it():
    assert {"systemd-timesyn", "nvidia-persiste", "nv-fabricmanage", "containerd"} <= set(NAMES)
    assert max(map(len, NAMES)) == 15


def test_every_unit_of_the_table_is_read():
    read = read_services(host({"processes": []}), lambda _: None)
    assert {unit.name for unit in read.units} == set(daemons.units())
    assert {nvlink_fabric.MANAGER_UNIT, nvlink_fabric.IMEX_UNIT} <= set(daemons.units("nvidia"))


@pytest.mark.parametrize("name", daemons.processes("nvidia", "runtime", "kubelet", "slurm", "time"))
def test_every_daemon_that_a_check_may_ask_for_has_a_service(name):
    assert daemons.services_of(name)


def test_a_name_that_the_kernel_cuts_is_that_of_one_daemon():
    assert len(NAMES) == len(daemons.processes())


def test_no_process_stands_in_the_table_twice():
    names = daemons.processes()
    assert len(set(names)) == len(names)
