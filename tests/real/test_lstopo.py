"""Nodes, sockets, cores, PCI and its place are those that hwloc's lstopo finds, and GPUs those of lspci, on every tree that we have."""

import os
import re
import subprocess
from xml.etree import ElementTree as ET

import pytest

from hostagent.domains.gpu.read_gpus import read_gpus
from hostagent.domains.topology.read_nics import read_nics
from hostagent.domains.topology.read_topology import read_topology
from hostagent.facts.cpulist import parse_cpulist
from hostagent.host import recording
from hostagent.host.source import Source
from tests.judged import live
from tests.real import test_lspci
from tests.real.conftest import need_real
from tests.trees.record import HOSTS, RECIPES, claimed

pytestmark = pytest.mark.alone

_PCI_BRIDGE = "1-1"
_OF_DEVICES = re.compile(r" /sys/(?:bus|class|devices)\b|^(?:rdma|network|pci_controls)\b")


def lstopo(tree):
    """The whole host as the real program reads its sysfs."""
    program = need_real("lstopo-no-graphics", "apt-get install hwloc-nox")
    argv = [program, "--input", str(tree), "--input-format", "fsroot", "--of", "xml", "--whole-io", "--filter", "all:all"]
    text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return ET.fromstring(text)


def cpus(one):
    """hwloc writes words of 32 bits, the highest first; one of zeros may be empty."""
    words = one.get("cpuset").split(",")
    bits = sum(int(word or "0", 16) << 32 * at for at, word in enumerate(reversed(words)))
    return {at for at in range(bits.bit_length()) if bits >> at & 1}


def places(one, near=None, root="", bridges=()):
    """(address, bridges above it, CPUs near it, names of its interfaces and RDMA devices) of each PCI function."""
    near = cpus(one) if one.get("cpuset") and one.get("type") != "NUMANode" else near
    for below in one.findall("object"):
        kind = below.get("type")
        if kind == "Bridge":
            is_pci = below.get("bridge_type") == _PCI_BRIDGE
            yield from places(below, near, root, (*bridges, below.get("pci_busid")) if is_pci else ())
        elif kind == "PCIDev":
            names = {row.get("name") for row in below.findall("object")}
            yield below.get("pci_busid"), bridges, near, names
        else:
            yield from places(below, near, root, bridges)


def found_in(tree):
    with live(tree) as backend:
        source = Source(backend)
        return read_topology(source, None), read_gpus(source, None), read_nics(source, None)


def assert_alike(tree):
    theirs = lstopo(tree)
    topology, gpus, nics = found_in(tree)
    nodes = {
        int(one.get("os_index")): (cpus(one), int(one.get("local_memory", "0")))
        for one in theirs.iter("object")
        if one.get("type") == "NUMANode"
    }
    assert {node.id: (set(parse_cpulist(node.cpus)), node.memory_bytes) for node in topology.numa_nodes} == nodes
    sockets = {int(one.get("os_index")): cpus(one) for one in theirs.iter("object") if one.get("type") == "Package"}
    assert {package.id: set(parse_cpulist(package.cpus)) for package in topology.packages} == sockets
    cores = {frozenset(cpus(one)) for one in theirs.iter("object") if one.get("type") == "Core"}
    assert {frozenset(parse_cpulist(core)) for core in topology.cores} == cores
    lies = {address: rest for address, *rest in places(theirs)}
    hangs = {place.pci: place.bridges for place in topology.places}
    here = [one for one in (*gpus, *nics) if one.pci in hangs]
    assert {one.pci for one in here} == set(hangs)
    for one in here:
        bridges, near, _ = lies[one.pci]
        assert hangs[one.pci] == bridges
        assert set(parse_cpulist(one.local_cpus)) == near, one.pci
    assert {nic.pci: {*nic.netdevs, *nic.rdma} for nic in nics} == {nic.pci: lies[nic.pci][2] for nic in nics}
    return len(nodes)


def has_the_devices_of_its_twin(name):
    """Whether all that our readers ask of devices is answered alike there."""
    twin = claimed(name).twin
    return bool(twin) and devices(name) == devices(twin)


def devices(name):
    answers = recording.load(str(HOSTS / name)).answers
    return {question: answer for question, answer in answers.items() if _OF_DEVICES.search(question)}


@pytest.mark.skipif(os.geteuid() != 0, reason="device nodes need root: run the tests as root")
@pytest.mark.parametrize("name", sorted(name for name, recipe in RECIPES.items() if recipe.kind != "image"))
def test_on_the_host(name, tmp_path):
    """One tree for both programs. A twin that differs in something else has been judged as its twin."""
    if has_the_devices_of_its_twin(name):
        assert RECIPES[claimed(name).twin].kind != "image"
        return
    RECIPES[name].build(tmp_path / "host")
    assert assert_alike(tmp_path / "host")
    assert test_lspci.assert_alike(tmp_path / "host"), "lspci found no function at all"
