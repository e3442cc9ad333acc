"""The ways between GPUs and rails, and the bridges where PCIe could turn what they exchange."""

from dataclasses import fields

import pytest

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.network.gpu_path import GpuPaths, Way, control, turns, ways
from hostagent.domains.network.rails import Rails
from hostagent.facts.gpu import Gpu
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic, PciControl, PciPlace, Topology
from hostagent.profiles.profile import load

NAMED = load("default", site_file="/nonexistent", overlay={"rdma": {"hcas": "^=none"}}).profile
UNKNOWN = Unread("not-recorded", "not named")


def made(kind, **given):
    return kind(**{field.name: UNKNOWN for field in fields(kind)} | given)


def place(pci, *bridges, root="pci0000:16"):
    return PciPlace(pci, root, bridges)


#: A switch with two GPUs and a card; a second switch below the first, with another card.
PLACES = (
    place("g0", "root", "up", "d0"),
    place("g1", "root", "up", "d1"),
    place("n0", "root", "up", "d2"),
    place("n1", "root", "up", "d3", "up2", "d4"),
    place("far", "other", root="pci0000:64"),
)


def gpu(pci, **given):
    return made(Gpu, pci=pci, **{"device_id": "0x2330", "bound_to": "nvidia", "numa_node": 0, **given})


def port(number, pci, virtual_of=""):
    return made(RdmaPort, name=f"mlx5_{number}:1", device=f"mlx5_{number}", number=1, pci=pci, virtual_of=virtual_of)


def host(gpus, cards, places=PLACES, **more):
    nics = tuple(made(Nic, pci=pci, virtual_of="", numa_node=1) for pci in cards)
    ports = more.pop("ports", tuple(port(number, pci) for number, pci in enumerate(cards)))
    topology = made(Topology, places=places, **more)
    return Rails(ports, nics, tuple(gpus), topology, made(Platform, virtual=""), NAMED)


def test_the_nearest_card_is_the_one_with_the_fewest_switches_between():
    assert ways(host([gpu("g0")], ["n0", "n1", "far"])) == (Way("g0", "PIX", ("n0",)),)
    assert ways(host([gpu("g0")], ["n1", "far"])) == (Way("g0", "PXB", ("n1",)),)
    assert ways(host([gpu("g0")], ["far"])) == (Way("g0", "SYS", ("far",)),)


def test_a_port_of_a_virtual_function_is_where_its_card_is():
    assert ways(host([gpu("g0")], ["n0"], ports=(port(0, "vf", "n0"),))) == (Way("g0", "PIX", ("n0",)),)


@pytest.mark.parametrize("given", [{"bound_to": "vfio-pci"}, {"device_id": "0x2e12"}, {"name": "NVIDIA GeForce RTX 4090"}])
def test_gpus_of_virtual_machines_and_those_that_let_no_card_in_have_no_way(given):
    assert ways(host([gpu("g0", **given), gpu("g1")], ["n0"])) == (Way("g1", "PIX", ("n0",)),)


def test_a_host_without_rails_has_no_ways():
    assert ways(host([gpu("g0")], [])) == ()


def test_a_way_that_is_not_known_is_a_gap_each_time_it_is_asked_for():
    wanted = host([gpu("g0", numa_node=UNKNOWN)], ["far"])
    for _ in range(2):
        with pytest.raises(UnreadError):
            ways(wanted)


def test_the_ways_of_a_host_are_looked_for_once():
    rails = host([gpu("g0"), gpu("g1", bound_to="vfio-pci")], ["n0"])
    paths = GpuPaths(rails.topology, rails.platform, rails.gpus, rails)
    assert paths.ways == (Way("g0", "PIX", ("n0",)),)
    assert paths.ways is paths.ways
    assert [one.pci for one in paths.gpus_of_jobs] == ["g0"]


def test_traffic_turns_at_the_ports_of_the_switch_above_both():
    topology = made(Topology, places=PLACES)
    assert turns(topology, Way("g0", "PIX", ("n0",))) == ("d0", "d2")
    assert turns(topology, Way("g0", "PXB", ("n1",))) == ("d0", "d3")
    assert turns(topology, Way("g0", "PXB", ("n0", "n1"))) == ("d0", "d2", "d3")


def test_how_a_function_is_set_up_that_nobody_read_is_a_gap():
    topology = made(Topology, controls=(made(PciControl, pci="n0"),))
    assert control(topology, "n0").pci == "n0"
    with pytest.raises(UnreadError):
        control(topology, "n1")
