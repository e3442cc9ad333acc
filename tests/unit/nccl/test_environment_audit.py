"""What ``hostagent nccl env`` emits passes our own audit on each host that it is for."""

import functools
from dataclasses import replace

import pytest

from hostagent.core.typed import plain
from hostagent.domains.nccl.environment import derive, variables_of
from hostagent.domains.nccl.node import parse_node
from hostagent.domains.nccl.preconditions import named as variables_named
from hostagent.engine import pipeline
from hostagent.engine.collection import Collected, InProcess
from hostagent.engine.report import Report
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.nccl import Nccl, NcclLibrary, NcclSetting
from hostagent.host.recording import ReplayBackend
from hostagent.profiles import profile
from tests.recorded import tape_of

#: InfiniBand, RoCE, a virtual machine with InfiniBand, EFA, bonds, and a host without RDMA.
HOSTS = ("hgx-h100-ubuntu2404", "hgx-h100-roce", "azure-nd-h100-v5", "p5-efa", "hgx-h100-roce-vlan-on-bond", "cloud-vm-1500")
VERSIONS = ((2, 18, 3), (2, 21, 5), (2, 27, 3), (2, 29, 7), (2, 32, 3))
#: What stands in /etc/nccl.conf before: nothing, and values that the job's own replace.
BEFORE = ((), (("NCCL_SOCKET_IFNAME", "^docker0"), ("NCCL_IB_HCA", "mlx5_1"), ("NCCL_NET", "Socket"), ("NCCL_IB_TC", "1")))


@functools.cache
def prepared(*only):
    return pipeline.prepare(profile.load("", site_file=""), only)


@functools.cache
def collected(host):
    reading = InProcess(ReplayBackend(tape_of(host)), prepared().kinds, replayed=True)
    return reading, reading.collect()


def nccl(version, before, emitted=()):
    given = {name for name, _ in emitted}
    settings = [NcclSetting(name, value, True, "environment", 0, True) for name, value in emitted]
    settings += [NcclSetting(name, value, True, "/etc/nccl.conf", line, name not in given) for line, (name, value) in enumerate(before, 1)]
    library = NcclLibrary("/opt/nccl/libnccl.so.2", "LD_LIBRARY_PATH", ".".join(map(str, version)), "12.4")
    return Nccl((library,), (), tuple(settings), has_environment=bool(emitted), files=())


def renamed(values):
    """The same host with other names of its HCAs."""
    ports = tuple(replace(one, device=f"ib_{one.device}", name=f"ib_{one.name}") for one in values["RdmaPort"])
    nics = tuple(replace(one, rdma=tuple(f"ib_{name}" for name in one.rdma)) for one in values["Nic"])
    return {**values, "RdmaPort": ports, "Nic": nics}


def judged(host, fact, *only, is_renamed=False):
    reading, found = collected(host)
    values = {**(renamed(found.facts._values) if is_renamed else found.facts._values), "Nccl": fact}
    return pipeline.judge(Collected(HostFacts(values, found.facts.kind), {}), reading, prepared(*only))


def named(report: Report, name: str):
    return parse_node(plain(replace(report, host=replace(report.host, hostname=name))))


def complaints(host, version, before, emitted, **more):
    """What our checks say about the variables, having judged some."""
    audit = judged(host, nccl(version, before, emitted), "nccl", **more)
    assert any(one.outcome == "pass" for one in audit.findings)
    wrong = [one for one in audit.findings if one.outcome in ("fail", "warn") and one.severity != "info"]
    names = [name for name, _ in emitted]
    return [(one.id, one.message) for one in wrong if variables_named(one) & {*names}]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("host", HOSTS)
def test_what_is_emitted_passes_our_own_audit(host, version):
    for before in BEFORE:
        report = judged(host, nccl(version, before))
        found = derive([named(report, "node1"), named(report, "node2")], version)
        assert found.emitted, found.refusals
        emitted = [(one.name, one.value) for one in variables_of(found, "node1")]
        assert emitted
        assert complaints(host, version, before, emitted) == []


@pytest.mark.parametrize("host", ["hgx-h100-roce", "azure-nd-h100-v5"])
def test_what_is_each_nodes_own_passes_there(host):
    version = (2, 27, 3)
    both = [named(judged(host, nccl(version, ()), is_renamed=flag), f"node{flag:d}") for flag in (False, True)]
    found = derive(both, version)
    assert [one.node for one in found.by_node] == ["node0", "node1"], found.refusals
    for flag in (False, True):
        own = [(one.name, one.value) for one in variables_of(found, f"node{flag:d}")]
        other = [(one.name, one.value) for one in variables_of(found, f"node{not flag:d}")]
        assert complaints(host, version, (), own, is_renamed=flag) == []
        assert complaints(host, version, (), other, is_renamed=flag) != []
