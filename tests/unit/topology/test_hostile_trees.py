"""Whatever a tree of sysfs holds, topology is read, judged and told in bounded time; and nothing passes for it."""

import os

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.topology import report
from hostagent.engine import catalogue
from hostagent.engine.collect import collect
from hostagent.engine.evaluate import evaluate
from hostagent.engine.questions import live_backend
from hostagent.facts.topology import Nic, Topology
from hostagent.host.source import Source
from hostagent.profiles import profile
from hostagent.testing import host
from tests.cpu import within
from tests.trees import pcibus, topology
from tests.trees.pcibus import Place
from tests.trees.tree import Tree

CPUS, NODES, PCI = "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/bus/pci/devices"
LOADED = profile.load("default", site_file="", overlay={"topology": {"cpu_nodes_per_package": 1}})
CHECKS = [one for one in catalogue.load(LOADED.profile.catalogues) if one.id.startswith("topology.")]
#: What sysfs alone says; RDMA ports are asked in a worker, which has tests of its own.
KINDS = ("Topology", "Nic", "Gpu", "Platform")
BY_SYSFS = {one.id for one in CHECKS if {kind.__name__ for kind in one.inputs.kinds} <= set(KINDS)}
SCHEMA = jsonschema.Draft202012Validator(report.schema())

JUNK = st.sampled_from(
    ["", "\n", "-1", "0", "1", "0-3", "3-0", "0-65535", "0-4294967295", "0,0,0", "ffffffff,ffffffff", "10 20", "99999999999999999999", "x", "\0", "é",
     "Node 0 MemTotal: 1 kB", "Node 0 MemTotal: 99999999999999999999 kB", "performance", "32.0 GT/s PCIe", "Unknown", "63", "255"]
) | st.text(max_size=12)  # fmt: skip
NUMBERS = st.sampled_from(["0", "1", "2", "7", "255", "1023", "65536", "99999", "00"])
FILES = st.one_of(
    st.tuples(st.just(f"{NODES}/node"), NUMBERS, st.sampled_from(["/cpulist", "/cpumap", "/meminfo", "/distance", "/hugepages/hugepages-2048kB/nr_hugepages"])),
    st.tuples(
        st.just(f"{CPUS}/cpu"), NUMBERS, st.sampled_from(["/online", "/topology/physical_package_id", "/topology/package_cpus_list", "/topology/thread_siblings_list"])
    ),
    st.tuples(st.just(f"{CPUS}/"), st.sampled_from(["online", "smt/active", "cpufreq/policy0/scaling_governor", "cpufreq/policy9/affected_cpus"]), st.just("")),
    st.tuples(
        st.just(f"{PCI}/0000:0"), st.sampled_from("0123"),
        st.sampled_from([f":00.0/{name}" for name in ("class", "vendor", "numa_node", "local_cpulist", "max_link_width", "current_link_width", "max_link_speed")]),
    ),
).map("".join)  # fmt: skip
UNREAD = st.sampled_from(["denied", "error", "timeout", "not-supported"]).map(lambda why: Unread(why, "x"))
CLASSES = {f"{PCI}/0000:0{at}:00.0/class": text for at, text in enumerate(("0x020000\n", "0x020700\n", "0x030200\n", "0x060400\n"))}


def told(source):
    """Read, judge, and make the report's part."""
    facts, _ = collect(source, KINDS)
    judgements = evaluate(CHECKS, facts, LOADED.profile)
    part = report.write(facts)
    SCHEMA.validate(part)
    return facts, judgements, part


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(FILES, JUNK | UNREAD, max_size=25))
@within(10)
def test_any_files(files):
    facts, judgements, _ = told(host(CLASSES | files))
    assert isinstance(facts.of(Topology), Topology)
    assert not any(one.code == "crashed" for one in judgements)


@pytest.fixture
def tree(tmp_path):
    made = Tree(tmp_path / "host", kernel="6.8.0", driver="")
    topology.install(made, (topology.Node(0, "0-1", 0), topology.Node(3, "2-3", 1), topology.Node(200, "", 1, 0)), governor="performance")
    pcibus.nic(made, pcibus.CONNECTX_7, Place("0000:18:00.0", 3, "2-3"), above=("pci0000:16", "0000:16:01.0"), netdev="ens1", rdma="mlx5_0")
    return made


def read(tree):
    return told(Source(live_backend(str(tree.root), "host-root", workers=())))


def test_a_tree_as_it_should_be(tree):
    facts, judgements, part = read(tree)
    assert [(one.id, one.cpus) for one in facts.of(Topology).numa_nodes] == [(0, "0-1"), (3, "2-3"), (200, "")]
    assert [one["name"] for one in part["nics"]] == ["mlx5_0"]
    assert {one.outcome for one in judgements if one.id in BY_SYSFS} == {"pass", "skip"}
    assert {"topology.nic_width", "topology.fatal_errors"} <= BY_SYSFS


def _loop(path):
    path.symlink_to(path.name)


def _to_above(path):
    path.symlink_to("..")


def _fifo(path):
    os.mkfifo(path)


def _directory(path):
    path.mkdir()


def _large(path):
    path.write_bytes(b"0-3," * (1 << 19))


@pytest.mark.parametrize("instead", [_loop, _to_above, _fifo, _directory, _large])
@pytest.mark.parametrize(
    "path",
    [
        f"{NODES}/node0/cpulist", f"{NODES}/node0/meminfo", f"{NODES}/node3/distance", f"{CPUS}/online", f"{CPUS}/smt/active",
        f"{CPUS}/cpu0/topology/package_cpus_list", f"{CPUS}/cpu2/topology/physical_package_id", f"{CPUS}/cpufreq/policy0/scaling_governor",
        f"{PCI}/0000:18:00.0/numa_node", f"{PCI}/0000:18:00.0/max_link_width", f"{PCI}/0000:18:00.0/class",
    ],
)  # fmt: skip
def test_something_else_in_the_place_of_a_file(tree, path, instead):
    tree.remove(path)
    instead(tree.at(path))
    facts, judgements, part = read(tree)
    assert not any(one.code == "crashed" for one in judgements)
    assert "error" in str(part) or "error" in repr(facts.of(Topology)) or "error" in repr(facts.of(Nic))


@pytest.mark.parametrize("instead", [_loop, _to_above])
@pytest.mark.parametrize("path", [f"{NODES}/node0", NODES, f"{CPUS}/cpu0", f"{CPUS}/cpufreq", PCI, f"{PCI}/0000:18:00.0"])
def test_a_directory_that_leads_in_a_circle(tree, path, instead):
    tree.remove(path)
    instead(tree.at(path))
    _, judgements, _ = read(tree)
    assert not any(one.code == "crashed" for one in judgements)


def test_a_device_that_goes_while_we_look_is_no_nic(tree):
    tree.remove("/sys/devices/pci0000:16/0000:16:01.0/0000:18:00.0")
    facts, _, part = read(tree)
    assert (facts.of(Nic), facts.of(Topology).places, part["nics"]) == ((), (), [])
