"""The network cards of an eight-GPU board: a rail for each GPU on its PCIe switch, storage, and everything else.

Published: names, layers and positions of cards in imbue-ai/cluster-health issue 4 (rails without addresses of IPoIB, other cards
Ethernet); firmware and board ids in deepseek-ai/DeepEP issue 38; rates and firmware of a ConnectX-6 Dx in NVIDIA/l2fwd-nv issue 6; GIDs
of RoCE and of a bond in NVIDIA/nccl issues 1131 and 769.
"""

from dataclasses import replace

from tests.trees import netdevs, pcibus, rdma
from tests.trees.netdevs import Netdev
from tests.trees.pcibus import Card, Place
from tests.trees.rdma import Hca
from tests.trees.tree import Tree

CONNECTX_6_DX = Card(0x15B3, 0x101D, "mlx5_core", speed="16.0 GT/s PCIe", mbps=100000)
_STORAGE, _OTHER = "0000:b8:00", "0000:38:00"


def switch(place: Place) -> tuple[str, ...]:
    """What a GPU hangs on: a switch of its own, and so a root port; a NIC hangs on the same switch."""
    bus = int(place.pci[5:7], 16)
    port, upstream, down = bus - 6, bus - 5, bus - 4
    return (f"pci0000:{port:02x}", f"0000:{port:02x}:01.0", f"0000:{upstream:02x}:00.0", f"0000:{down:02x}:00.0")


def beside(place: Place) -> Place:
    """Where the NIC of a GPU is."""
    return replace(place, pci=f"0000:{int(place.pci[5:7], 16) - 3:02x}:00.0")


def _above(place: Place) -> tuple[str, ...]:
    *higher, port = switch(place)
    return (*higher, port.replace(":00.0", ":01.0"))


def infiniband(tree: Tree, places: tuple[Place, ...]) -> None:
    """Rails of InfiniBand, NDR; IPoIB is not set up."""
    for number, place in enumerate(places):
        near = beside(place)
        hca = Hca(f"mlx5_{number}", lid=0x61 + number, sm_lid=0x1)
        netdev = Netdev(f"ibp{int(near.pci[5:7], 16)}s0", 4092, "down")
        pcibus.nic(tree, pcibus.CONNECTX_7, near, above=_above(place), netdev=netdev, rdma=hca)


def roce(tree: Tree, places: tuple[Place, ...], *, mtu: int = 9000, subnet: str = "10.{0}.1.7/24", traffic_class: str = "") -> None:
    """Rails of RoCE, each with an address in a network of its own unless `subnet`, of the number of the rail, says another."""
    for number, place in enumerate(places):
        address = subnet.format(number + 1) if subnet else ""
        netdev = Netdev(name_of(place), mtu, addresses=(address,) if address else ())
        hca = Hca(f"mlx5_{number}", "Ethernet", mtu=4096 if mtu >= 4192 else 1024, traffic_class=traffic_class)
        pcibus.nic(tree, pcibus.CONNECTX_7_ETHERNET, beside(place), above=_above(place), netdev=netdev, rdma=hca)


def name_of(place: Place, function: int = 0) -> str:
    """The interface of the NIC beside a GPU, as systemd names it."""
    suffix = f"f{function}" if function else ""
    return f"enp{int(beside(place).pci[5:7], 16)}s0{suffix}np{function}"


def others(tree: Tree, cpus: tuple[str, str], *, first: int = 8) -> None:
    """Two ports for storage, RoCE of 100 Gb/s; and a card for everything else."""
    for port in (0, 1):
        place = Place(f"{_STORAGE}.{port}", 1, cpus[1])
        netdev = Netdev(f"enp184s0f{port}np{port}", 9000, addresses=(f"10.20.{port}.17/24",))
        hca = Hca(f"mlx5_{first + port}", "Ethernet", rdma.EDR, firmware="22.32.2004", board="MT_0000000359", type="MT4125")
        pcibus.nic(tree, CONNECTX_6_DX, place, above=("pci0000:b7", "0000:b7:01.0"), netdev=netdev, rdma=hca)
    everything_else(tree, cpus[0])


def everything_else(tree: Tree, cpus: str) -> None:
    """A card of two Ethernet ports, with a cable in one of them."""
    cabled, free = Netdev("ens3f0np0", addresses=("10.0.4.17/22",)), Netdev("ens3f1np1", state="down", speed=-1)
    for port, netdev in enumerate((cabled, free)):
        pcibus.nic(tree, pcibus.E810, Place(f"{_OTHER}.{port}", 0, cpus), above=("pci0000:37", "0000:37:01.0"), netdev=netdev)
    netdevs.default_route(tree, "ens3f0np0", "10.0.4.1")


def bonds(tree: Tree, places: tuple[Place, ...], *, vlan: int = 0) -> None:
    """A bond over both ports of each rail's card, one RDMA device each; with `vlan` the addresses are those of a VLAN on it."""
    for number, place in enumerate(places):
        names = tuple(name_of(place, port).replace("s0np0", "s0f0np0") for port in (0, 1))
        master = f"bond{number + 1}"
        for port, name in enumerate(names):
            near = replace(beside(place), pci=beside(place).pci.replace(".0", f".{port}"))
            pcibus.nic(tree, replace(pcibus.CONNECTX_7_ETHERNET, mbps=200000), near, above=_above(place), netdev=Netdev(name, 9000))
            netdevs.bridging(tree, name, lossless=(3,), vendors=True)
        address = (f"10.{number + 1}.1.7/24",)
        mac = tree.text(f"/sys/class/net/{names[0]}/address").strip()
        netdevs.bond(tree, Netdev(master, 9000, addresses=() if vlan else address, mac=mac, speed=400000), names)
        tagged = f"{master}.{vlan}"
        if vlan:
            netdevs.vlan(tree, Netdev(tagged, 9000, addresses=address, mac=mac, speed=400000), master, vlan)
        home = "/" + str(tree.at(f"/sys/bus/pci/devices/{beside(place).pci}/x").parent.relative_to(tree.root))
        hca = Hca(f"mlx5_bond_{number}", "Ethernet", rdma.HDR, over=(tagged,) if vlan else ())
        rdma.add(tree, hca, beside(place).pci, home, netdev=master)


def virtual_function(tree: Tree, place: Place, netdev: Netdev, name: str) -> None:
    """A container that was given the first virtual function of the NIC beside a GPU; it sees the physical one without its interface."""
    physical, virtual = beside(place), _virtual(place)
    pcibus.nic(tree, pcibus.CONNECTX_7_ETHERNET, physical, above=_above(place))
    hca = Hca(name, "Ethernet", type="MT4126")
    pcibus.nic(tree, replace(pcibus.VIRTUAL_CONNECTX, mbps=400000), virtual, above=_above(place), netdev=netdev, rdma=hca)
    rdma.virtual(tree, virtual.pci, physical.pci)


def given_away(tree: Tree, place: Place) -> None:
    """The first virtual function of the NIC beside a GPU, in a pod."""
    virtual = _virtual(place)
    pcibus.nic(tree, pcibus.VIRTUAL_CONNECTX, virtual, above=_above(place))
    rdma.virtual(tree, virtual.pci, beside(place).pci)


def _virtual(place: Place) -> Place:
    return replace(beside(place), pci=beside(place).pci.replace(":00.0", ":00.1"))
