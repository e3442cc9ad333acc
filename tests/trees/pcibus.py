"""PCI functions of a host as sysfs shows them: bridges, GPUs, network controllers (Linux kernel, ABI/testing/sysfs-bus-pci)."""

from dataclasses import dataclass, replace

from hostagent.facts.cpulist import parse_cpulist
from tests.trees import netdevs, pciconfig
from tests.trees import rdma as hardware
from tests.trees.netdevs import Netdev
from tests.trees.pciconfig import Express
from tests.trees.rdma import Hca
from tests.trees.topology import mask
from tests.trees.tree import Tree

_DEVICES = "/sys/bus/pci/devices"
_MELLANOX, _INTEL, _BRIDGE = 0x15B3, 0x8086, 0x060400
ETHERNET, INFINIBAND = 0x020000, 0x020700


@dataclass(frozen=True)
class Place:
    """Where a GPU or a NIC sits."""

    pci: str
    numa_node: int
    cpus: str


def function(
    tree: Tree,
    address: str,
    vendor: int,
    device: int,
    kind: int,
    *,
    driver: str = "",
    subsystem: int = 0,
    place: Place | None = None,
    above: tuple[str, ...] = (),
    express: "Express | None" = None,
) -> None:
    """One PCI function (Linux kernel, ABI/testing/sysfs-bus-pci): ids, place, its configuration space, and errors that AER counted.

    `above`: what it hangs on, the host bridge with its directories first; () is a host bridge of its own bus.
    """
    near = place.cpus if place else "0-55"
    path = f"devices/{'/'.join(above or (f'pci{address[:7]}',))}/{address}"
    directory = f"/sys/{path}"
    header = vendor.to_bytes(2, "little") + device.to_bytes(2, "little") + b"\x42\x01\x10\x00\xa1" + kind.to_bytes(3, "little")
    files = {
        "vendor": f"0x{vendor:04x}", "device": f"0x{device:04x}", "class": f"0x{kind:06x}", "revision": "0xa1",
        "subsystem_vendor": f"0x{vendor:04x}", "subsystem_device": f"0x{subsystem:04x}", "enable": "1",
        "power/runtime_status": "active", "numa_node": str(place.numa_node if place else 0), "local_cpulist": near, "local_cpus": mask(parse_cpulist(near)),
    }  # fmt: skip
    for name, text in files.items():
        tree.write(f"{directory}/{name}", f"{text}\n")
    tree.write(f"{directory}/config", pciconfig.space(header, express or Express()))
    tree.link(f"/sys/bus/pci/devices/{address}", f"../../../{path}")
    pciconfig.count_errors(tree, address)
    if driver:
        tree.link(f"{directory}/driver", f"{'../' * (path.count('/') + 1)}bus/pci/drivers/{driver}")
        tree.link(f"/sys/bus/pci/drivers/{driver}/{address}", f"../../../../{path}")


def bridges(tree: Tree, above: tuple[str, ...], place: Place, *, speed: str = "32.0 GT/s PCIe", width: int = 16) -> None:
    """The bridges of a path that are not there yet; `above` is the host bridge, then the root port, then ports of switches."""
    for depth, address in enumerate(above[1:], 1):
        if not tree.at(f"{_DEVICES}/{address}").is_symlink():
            port = "root" if depth == 1 else "downstream" if depth % 2 else "upstream"
            express = Express(port, read_request=128, acs=None if port == "upstream" else 0)
            function(tree, address, 0x1000, 0xC030, _BRIDGE, driver="pcieport", place=place, above=above[:depth], express=express)
            link(tree, address, speed, width)
        _lead(tree, address, (*above[depth + 1 :], place.pci)[0], place.pci)


def _lead(tree: Tree, address: str, next_one: str, last: str) -> None:
    """The buses below a bridge, in its configuration (PCI-to-PCI Bridge Architecture Specification, section 3.2)."""
    config = f"{_DEVICES}/{address}/config"
    before = tree.at(config).read_bytes()
    nearest, farthest = int(next_one.split(":")[1], 16), max(before[0x1A], int(last.split(":")[1], 16))
    buses = bytes([int(address.split(":")[1], 16), nearest, farthest])
    tree.write(config, before[:0x0E] + b"\1" + before[0x0F:0x18] + buses + before[0x1B:])


def link(tree: Tree, address: str, speed: str, width: int, *, now: int = 0) -> None:
    """The link of a device, of as many lanes as it can have unless it has `now`."""
    for name, lanes in (("current_link", now or width), ("max_link", width)):
        tree.write(f"{_DEVICES}/{address}/{name}_speed", f"{speed}\n")
        tree.write(f"{_DEVICES}/{address}/{name}_width", f"{lanes}\n")


@dataclass(frozen=True)
class Card:
    """What one kind of NIC is."""

    vendor: int
    device: int
    driver: str
    kind: int = ETHERNET  # PCI class
    speed: str = "32.0 GT/s PCIe"
    width: int = 16
    prefix: str = "a0:88:c2"  # of its hardware addresses
    mbps: int = 400000


CONNECTX_7 = Card(_MELLANOX, 0x1021, "mlx5_core", INFINIBAND)
CONNECTX_7_ETHERNET = Card(_MELLANOX, 0x1021, "mlx5_core")
BLUEFIELD_3 = Card(_MELLANOX, 0xA2DC, "mlx5_core")
E810 = Card(_INTEL, 0x159B, "ice", speed="16.0 GT/s PCIe", width=8, prefix="b4:96:91", mbps=25000)
X710 = Card(_INTEL, 0x1572, "i40e", speed="8.0 GT/s PCIe", width=8, prefix="3c:fd:fe", mbps=10000)
VIRTIO = Card(0x1AF4, 0x1041, "virtio-pci", speed="2.5 GT/s PCIe", width=1, prefix="52:54:00", mbps=-1)
VIRTUAL_CONNECTX = Card(_MELLANOX, 0x101E, "mlx5_core")


def nic(
    tree: Tree,
    card: Card,
    place: Place,
    *,
    above: tuple[str, ...] = (),
    netdev: "str | Netdev" = "",
    rdma: "str | Hca" = "",
    driver: "str | None" = None,
) -> None:
    """A port of a card with its interface and RDMA device; a name alone is one as it should be."""
    bridges(tree, above, place, speed=card.speed, width=card.width)
    bound = card.driver if driver is None else driver
    express = Express(read_request=4096 if card.vendor == _MELLANOX else 512, acs=0 if card.vendor == _MELLANOX else None)
    function(
        tree, place.pci, card.vendor, card.device, card.kind, driver=bound, subsystem=0x0001, place=place, above=above, express=express
    )  # fmt: skip
    link(tree, place.pci, card.speed, card.width)
    directory = "/" + str(tree.at(f"{_DEVICES}/{place.pci}/x").parent.relative_to(tree.root))
    if netdev:
        one = _interface(card, place, netdev)
        inner = "/virtio0" if bound == VIRTIO.driver else ""  # the virtio device stands between
        netdevs.add(tree, one, directory + inner, device=f"../../../{(directory + inner).rpartition('/')[2]}")
        if one.type == netdevs.INFINIBAND:
            netdevs.ipoib(tree, one.name)
    if rdma:
        device = _device(card, place, rdma)
        if netdev and device.layer == "Ethernet" and bound == CONNECTX_7.driver and card != VIRTUAL_CONNECTX:
            netdevs.bridging(tree, one.name)
        hardware.add(tree, device, place.pci, directory, netdev=one.name if netdev else "", mac=hardware.hardware(place.pci, card.prefix))


def _interface(card: Card, place: Place, given: "str | Netdev") -> Netdev:
    """By name alone: IPoIB without an address, or an Ethernet port with one in a network of its own and frames that RoCE fills."""
    mac = hardware.hardware(place.pci, card.prefix)
    if card.kind == INFINIBAND:
        one = Netdev(given, 4092, "up") if isinstance(given, str) else given
        guid = hardware.node_guid(mac)
        whole = "00001049fe80000000000000" + guid.replace(":", "")
        return replace(one, mac=one.mac or ":".join(whole[at : at + 2] for at in range(0, 40, 2)), type=netdevs.INFINIBAND, speed=card.mbps)
    if isinstance(given, Netdev):
        return replace(given, mac=given.mac or mac, speed=card.mbps if given.speed is None and given.state != "down" else given.speed)
    bus = int(place.pci[5:7], 16)
    return Netdev(given, 9000 if card.vendor == _MELLANOX else 1500, "up", (f"10.{bus}.{place.pci[-1]}.5/24",), mac, speed=card.mbps)


def _device(card: Card, place: Place, given: "str | Hca") -> Hca:
    if isinstance(given, Hca):
        return given
    lid = sum(int(part, 16) for part in place.pci.split(":")[:2])
    return Hca(given, lid=lid, sm_lid=0x1) if card.kind == INFINIBAND else Hca(given, "Ethernet")
