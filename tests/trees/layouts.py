"""Hosts that lie otherwise: NPS4 with eight NUMA nodes, one socket, a virtual machine whose tree says nothing of the machine below it."""

from dataclasses import replace
from pathlib import Path

from tests.trees import containers, driver, gpus, packages, pcibus, rdma, topology
from tests.trees.claim import BOARD, claims
from tests.trees.gpuhosts import L40S
from tests.trees.hosts import DRIVER, KERNEL, driver_of_cuda_repository, hgx_h100, persist, toolkit, ubuntu
from tests.trees.pcibus import Place
from tests.trees.tree import Tree

#: Two processors of 64 cores, each of them four nodes.
_NPS4 = tuple(topology.Node(number, f"{number * 16}-{number * 16 + 15}", number // 4, 188) for number in range(8))
_EPYC = (topology.Node(0, "0-31", 0, 376),)
_NARROW = "0000:9a:00.0"
_GUEST = (topology.Node(0, "0-31", 0, 220), topology.Node(1, "32-63", 1, 220))


def _host(root: Path, name: str, nodes: tuple[topology.Node, ...], *, governor: str = "") -> Tree:
    """A host with NVIDIA's driver and Docker; GPUs and NICs are the caller's."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER)
    ubuntu(tree, name)
    driver_of_cuda_repository(tree)
    topology.install(tree, nodes, governor=governor)
    driver.load_driver(tree)
    persist(tree)
    toolkit(tree)
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "docker-ce": "5:28.5.2-1~ubuntu.24.04~noble"})
    containers.install_docker(tree, {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}, "default-runtime": "nvidia"})
    return tree


def _port(place: Place) -> tuple[str, ...]:
    """A root port of its own, on the host bridge one bus below."""
    bus = int(place.pci[5:7], 16) - 1
    return f"pci0000:{bus:02x}", f"0000:{bus:02x}:01.1"


@claims(source="AMD, Tuning Guide for EPYC 9004, section NUMA nodes per socket")
def epyc_nps4(root: Path) -> Tree:
    """Two EPYC with four NUMA nodes each (NPS4), four L40S and four ConnectX-7, each GPU with its NIC on a node of its own."""
    tree = _host(root, "epyc-nps4-2", _NPS4, governor="performance")
    buses = {0: 0x01, 2: 0x41, 4: 0x81, 6: 0xC1}
    places = tuple(Place(f"0000:{bus:02x}:00.0", node, _NPS4[node].cpus) for node, bus in buses.items())
    gpus.install_gpus(tree, L40S, places, above=_port)
    for number, place in enumerate(places):
        bus = int(place.pci[5:7], 16) + 4
        card = replace(place, pci=f"0000:{bus:02x}:00.0")
        above = (f"pci0000:{int(place.pci[5:7], 16) - 1:02x}", f"0000:{int(place.pci[5:7], 16) - 1:02x}:03.1")
        pcibus.nic(tree, pcibus.CONNECTX_7_ETHERNET, card, above=above, netdev=f"ens{number + 1}np0", rdma=f"mlx5_{number}")
    rdma.stack(tree)
    containers.cdi(tree, len(places))
    return tree


@claims(source="AMD, EPYC 9354P; Linux kernel, Documentation/ABI/testing/sysfs-bus-pci, numa_node")
def one_socket(root: Path) -> Tree:
    """One EPYC and two L40S: the firmware names no NUMA node, and there is one. The governor is as the distribution leaves it."""
    tree = _host(root, "render-1s", _EPYC, governor="schedutil")
    places = tuple(Place(f"0000:{bus}:00.0", -1, "0-31") for bus in ("41", "81"))
    gpus.install_gpus(tree, L40S, places, above=_port)
    for port in (0, 1):
        card = Place(f"0000:c1:00.{port}", -1, "0-31")
        pcibus.nic(tree, pcibus.X710, card, above=("pci0000:c0", "0000:c0:03.1"), netdev=f"eno{port + 1}np{port}")
    containers.cdi(tree, len(places))
    return tree


@claims(never=BOARD, source="QEMU, machine type q35; libvirt, Domain XML format, cpu numa")
def vm_flat_tree(root: Path) -> Tree:
    """A virtual machine with two virtual NUMA nodes: each GPU and NIC hangs on a root port of QEMU's, of no node."""
    tree = _host(root, "vm-l40s-7", _GUEST)
    for file, word in (("sys_vendor", "QEMU"), ("product_name", "Standard PC (Q35 + ICH9, 2009)")):
        tree.write(f"/sys/class/dmi/id/{file}", f"{word}\n")
    places = tuple(Place(f"0000:0{bus}:00.0", -1, "0-63") for bus in range(5, 9))
    gpus.install_gpus(tree, L40S, places, above=_virtual_port)
    pcibus.nic(
        tree, pcibus.VIRTUAL_CONNECTX, Place("0000:09:00.0", -1, "0-63"), above=("pci0000:00", "0000:00:02.5"), netdev="ens9", rdma="mlx5_0"
    )
    pcibus.nic(tree, pcibus.VIRTIO, Place("0000:01:00.0", -1, "0-63"), above=("pci0000:00", "0000:00:02.0"), netdev="enp1s0")
    containers.cdi(tree, len(places))
    rdma.stack(tree)
    return tree


def _virtual_port(place: Place) -> tuple[str, ...]:
    return "pci0000:00", f"0000:00:02.{int(place.pci[5:7], 16) - 4}"


@claims("topology.nic_width", twin="hgx-h100-ubuntu2404")
def hgx_h100_narrow_nic(root: Path) -> Tree:
    """One of the eight ConnectX-7 has half of its lanes."""
    tree = hgx_h100(root)
    pcibus.link(tree, _NARROW, pcibus.CONNECTX_7.speed, 16, now=8)
    return tree


RECIPES = {"hgx-h100-narrow-nic": hgx_h100_narrow_nic, "epyc-nps4": epyc_nps4, "one-socket": one_socket, "vm-flat-tree": vm_flat_tree}
