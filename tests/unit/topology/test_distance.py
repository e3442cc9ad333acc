"""How near GPUs and NICs are to each other: the words of nvidia-smi topo, from places on PCI."""

import json
from dataclasses import fields

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.topology import report
from hostagent.domains.topology.distance import NEAREST_FIRST, classes, rails
from hostagent.facts.gpu import FabricInfo, Gpu, NvLink
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Rdma
from hostagent.facts.topology import Nic, NumaNode, PciPlace, Topology

NOT_NAMED = Unread("not-recorded", "not named")


def made(kind, **given):
    return kind(**{field.name: NOT_NAMED for field in fields(kind)} | given)


def gpu(pci, numa_node=0, device_id="0x2330", **given):
    return made(Gpu, pci=pci, numa_node=numa_node, device_id=device_id, **({"nvlinks": ()} | given))


def nic(pci, numa_node=0, rdma=("mlx5_0",), virtual_of=""):
    return made(Nic, pci=pci, numa_node=numa_node, rdma=rdma, virtual_of=virtual_of)


def host(*places, nodes=2):
    numa = tuple(NumaNode(number, str(number), 1, (), ()) for number in range(nodes))
    return made(Topology, numa_nodes=numa, places=tuple(PciPlace(pci, root, tuple(bridges)) for pci, root, bridges in places))


METAL, GUEST = made(Platform, virtual=""), made(Platform, virtual="vm")
G, N = "0000:1b:00.0", "0000:18:00.0"
PORT, UP, DOWN, OTHER_DOWN = "0000:16:01.0", "0000:17:00.0", "0000:19:00.0", "0000:19:01.0"


def distance(gpu_bridges, nic_bridges, *, roots=("pci0000:16", "pci0000:16"), numa=(0, 0), platform=METAL, nodes=2, device_id="0x2330"):
    topology = host((G, roots[0], gpu_bridges), (N, roots[1], nic_bridges), nodes=nodes)
    return classes(topology, (gpu(G, numa[0], device_id),), (nic(N, numa[1]),), platform).gpu_nic[G][N]


@pytest.mark.parametrize(
    ("gpu_bridges", "nic_bridges", "word"),
    [
        ([PORT, UP, DOWN], [PORT, UP, OTHER_DOWN], "PIX"),  # one switch
        ([PORT], [PORT], "PIX"),  # two functions below one port
        ([PORT, UP, DOWN], [PORT, UP, DOWN], "PIX"),
        ([PORT, UP, DOWN, "0000:1a:00.0", "0000:1c:00.0"], [PORT, UP, OTHER_DOWN], "PXB"),  # a switch below a switch
        ([PORT, UP, DOWN, "0000:1a:00.0", "0000:1c:00.0"], [PORT, UP, DOWN, "0000:1a:00.0", "0000:1c:01.0"], "PIX"),
        ([PORT, UP, DOWN, "0000:1a:00.0", "0000:1c:00.0"], [PORT, UP, OTHER_DOWN, "0000:2a:00.0", "0000:2c:00.0"], "PXB"),
        ([PORT, UP, DOWN], ["0000:16:03.0", "0000:27:00.0", "0000:28:00.0"], "PHB"),  # two switches below one host bridge
        ([PORT], ["0000:16:03.0"], "PHB"),
        ([], [], "PHB"),
    ],
)
def test_below_one_host_bridge(gpu_bridges, nic_bridges, word):
    assert distance(gpu_bridges, nic_bridges) == word


def test_over_host_bridges():
    roots = ("pci0000:16", "pci0000:97")
    assert distance([PORT], ["0000:97:01.0"], roots=roots) == "NODE"
    assert distance([PORT], ["0000:97:01.0"], roots=roots, numa=(0, 1)) == "SYS"
    assert distance([PORT], ["0000:97:01.0"], roots=roots, numa=(-1, -1), nodes=1) == "NODE"
    assert distance([PORT], ["0000:97:01.0"], roots=roots, numa=(-1, 0)).why == "not-supported"


def test_the_nic_at_the_cpu_of_a_grace_hopper():
    roots = ("pci0009:00", "pci0000:00")
    assert distance(["0009:00:00.0"], ["0000:00:00.0"], roots=roots, device_id="0x2342") == "P2C"
    assert distance(["0009:00:00.0"], ["0000:00:00.0"], roots=roots, numa=(0, 1), device_id="0x2342") == "SYS"
    assert distance([PORT, UP, DOWN], [PORT, UP, OTHER_DOWN], device_id="0x2342") == "PIX"


def test_a_virtual_machine_is_unknown_and_never_far():
    roots = ("pci0000:00", "pci0000:80")
    for bridges, others in (([], []), ([PORT], [PORT]), ([PORT], ["0000:00:03.0"])):
        assert distance(bridges, others, platform=GUEST).why == "not-supported"
    assert distance([PORT], ["0000:80:01.0"], roots=roots, numa=(0, 1), platform=GUEST).why == "not-supported"
    assert distance([PORT, UP, DOWN], [PORT, UP, OTHER_DOWN], platform=GUEST) == "PIX"  # a switch is shown on purpose
    denied = Unread("denied", "x")
    assert distance([], [], platform=denied) == denied
    assert distance([], [], platform=made(Platform, virtual=denied)) == denied


def test_what_is_unread_makes_its_pairs_unread():
    lost = Unread("denied", "x")
    found = classes(lost, (gpu(G),), (nic(N),), METAL)
    assert (found.gpu_nic, found.gpu_gpu) == ({G: {N: lost}}, {G: {G: "LOC"}})
    found = classes(host((G, "pci0000:16", [])), (gpu(G),), (nic(N),), METAL)
    assert found.gpu_nic[G][N].why == "absent"


def linked(pci, number, **given):
    return gpu(pci, nvlinks=tuple(NvLink(at, True, 0) for at in range(number)), **given)


def test_gpus_of_one_fabric():
    fabric = FabricInfo("completed", 0, 0, "c", ())
    found = classes(host(), (linked(G, 18, fabric=fabric), linked("0000:43:00.0", 17, fabric=fabric)), (), METAL)
    assert found.gpu_gpu[G] == {G: "LOC", "0000:43:00.0": "NV17"}


def test_gpus_on_a_board_with_switches_that_say_nothing_of_a_fabric():
    eight = tuple(linked(f"0000:{bus}0:00.0", 12, device_id="0x20b2") for bus in range(1, 9))
    assert classes(host(), eight, (), GUEST).gpu_gpu["0000:10:00.0"]["0000:80:00.0"] == "NV12"
    assert classes(host(), eight[:4], (), METAL).gpu_gpu["0000:10:00.0"]["0000:20:00.0"].why == "not-supported"


def test_two_gpus_with_a_bridge():
    pair = (linked(G, 4, device_id="0x2230"), linked("0000:43:00.0", 4, device_id="0x2230"))
    assert classes(host(), pair, (), METAL).gpu_gpu[G]["0000:43:00.0"] == "NV4"


def test_gpus_without_links_that_are_up_are_as_near_as_pci_says():
    down = tuple(gpu(pci, nvlinks=(NvLink(0, False, 0),)) for pci in (G, N))
    topology = host((G, "pci0000:16", [PORT, UP, DOWN]), (N, "pci0000:16", [PORT, UP, OTHER_DOWN]))
    assert classes(topology, down, (), METAL).gpu_gpu[G][N] == "PIX"
    unread = tuple(gpu(pci, nvlinks=NOT_NAMED) for pci in (G, N))
    assert classes(topology, unread, (), METAL).gpu_gpu[G][N] == "PIX"


def test_rails_are_the_nearest_nics_with_an_rdma_device():
    topology = host(
        (G, "pci0000:16", [PORT, UP, DOWN]), (N, "pci0000:16", [PORT, "0000:16:02.0"]), ("0000:19:00.0", "pci0000:16", [PORT, UP, OTHER_DOWN]),
        ("0000:20:00.0", "pci0000:16", ["0000:16:05.0"]), ("0000:20:00.1", "pci0000:16", ["0000:16:05.0"]),
    )  # fmt: skip
    nics = (nic("0000:19:00.0", rdma=()), nic("0000:20:00.0"), nic("0000:20:00.1"), nic("0000:20:00.2", virtual_of="0000:20:00.0"))
    (rail,) = rails(classes(topology, (gpu(G),), nics, METAL), nics)
    assert rail == (G, ("0000:20:00.0", "0000:20:00.1"), "PHB")
    without = tuple(nic(one.pci, rdma=()) for one in nics[:3])
    assert rails(classes(topology, (gpu(G),), without, METAL), without)[0] == (G, ("0000:19:00.0",), "PIX")


def test_a_function_that_manages_switches_is_in_no_rail():
    topology = host(
        (G, "pci0000:16", [PORT, UP, DOWN]), ("0000:19:00.0", "pci0000:16", [PORT, UP, OTHER_DOWN]), ("0000:20:00.0", "pci0000:18", [])
    )
    nics = (nic("0000:19:00.0", rdma=("mlx5_4",)), nic("0000:20:00.0", rdma=("mlx5_5",)))
    distances = classes(topology, (gpu(G),), nics, METAL)
    assert rails(distances, nics)[0].nics == ("0000:19:00.0",)
    assert rails(distances, nics, ("mlx5_4",))[0].nics == ("0000:20:00.0",)
    facts = {Topology: topology, Gpu: (gpu(G),), Nic: nics, Platform: METAL, Rdma: made(Rdma, managers=("mlx5_4",))}
    assert report.write(HostFacts(facts))["rails"][0]["nics"] == ["0000:20:00.0"]


def test_a_rail_is_unread_where_a_class_is_and_absent_without_nics():
    (rail,) = rails(classes(host(), (gpu(G),), (nic(N),), METAL), (nic(N),))
    assert (rail.nics.why, rail.distance.why) == ("absent", "absent")
    assert rails(classes(host(), (gpu(G),), (), METAL), ())[0].nics.why == "absent"


def test_every_class_has_its_place_in_the_order():
    assert NEAREST_FIRST == ("LOC", "PIX", "PXB", "P2C", "PHB", "NODE", "SYS")


def test_the_report_names_gpus_by_nvml_s_index_and_nics_by_their_rdma_device():
    gpus = (gpu(G, index=1), gpu("0000:43:00.0", index=0))
    nics = (nic(N), made(Nic, pci="0000:38:00.0", rdma=(), netdevs=("eno1",), virtual_of=""), made(Nic, pci="0000:39:00.0", virtual_of=""))
    told = report.write(HostFacts({Topology: host(), Gpu: gpus, Nic: nics, Platform: METAL}))
    assert [one["name"] for one in told["gpus"]] == ["GPU1", "GPU0"]
    assert [one["name"] for one in told["nics"]] == ["mlx5_0", "eno1", "0000:39:00.0"]
    unindexed = report.write(HostFacts({Topology: host(), Gpu: (gpu(G), gpus[1]), Nic: nics, Platform: METAL}))
    assert [one["name"] for one in unindexed["gpus"]] == ["GPU0", "GPU1"]
    json.dumps(told)


def test_the_report_counts_what_lies_on_each_node():
    given = {Topology: host(), Gpu: (gpu(G, on_pci=True, bound_to="nvidia", vga=False),), Nic: (nic(N, 1),), Platform: METAL}
    assert report.write(HostFacts(given))["capacity"]["unread"] == "not-recorded"
    told = report.write(HostFacts({**given, Kubelet: made(Kubelet, state="absent")}))["capacity"]
    assert (told["cpus_per_numa"], told["nics_per_numa"]) == ({"0": 1, "1": 1}, {"0": 0, "1": 1})
