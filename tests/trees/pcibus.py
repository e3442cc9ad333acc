"""PCI functions of a host as sysfs shows them: bridges, GPUs, network controllers (Linux kernel, ABI/testing/sysfs-bus-pci)."""

from dataclasses import dataclass

from hostagent.facts.cpulist import parse_cpulist
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
) -> None:
    """One PCI function (Linux kernel, ABI/testing/sysfs-bus-pci): ids, place, and the header of its configuration space.

    `above`: what it hangs on, the host bridge with its directories first; () is a host bridge of its own bus.
    """
    near = place.cpus if place else "0-55"
    path = f"devices/{'/'.join(above or (f'pci{address[:7]}',))}/{address}"
    directory = f"/sys/{path}"
    header = vendor.to_bytes(2, "little") + device.to_bytes(2, "little") + b"\x42\x01\x10\x00\xa1" + kind.to_bytes(3, "little")
    files = {
        "vendor": f"0x{vendor:04x}", "device": f"0x{device:04x}", "class": f"0x{kind:06x}", "revision": "0xa1",
        "subsystem_vendor": f"0x{vendor:04x}", "subsystem_device": f"0x{subsystem:04x}", "enable": "1",
        "numa_node": str(place.numa_node if place else 0), "local_cpulist": near, "local_cpus": mask(parse_cpulist(near)),
    }  # fmt: skip
    for name, text in files.items():
        tree.write(f"{directory}/{name}", f"{text}\n")
    tree.write(f"{directory}/config", header + bytes(64 - len(header)))
    tree.link(f"/sys/bus/pci/devices/{address}", f"../../../{path}")
    if driver:
        tree.link(f"{directory}/driver", f"{'../' * (path.count('/') + 1)}bus/pci/drivers/{driver}")
        tree.link(f"/sys/bus/pci/drivers/{driver}/{address}", f"../../../../{path}")


def bridges(tree: Tree, above: tuple[str, ...], place: Place, *, speed: str = "32.0 GT/s PCIe", width: int = 16) -> None:
    """The bridges of a path that are not there yet; `above` is the host bridge, then the root port, then ports of switches."""
    for depth, address in enumerate(above[1:], 1):
        if not tree.at(f"{_DEVICES}/{address}").is_symlink():
            function(tree, address, 0x1000, 0xC030, _BRIDGE, driver="pcieport", place=place, above=above[:depth])
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


CONNECTX_7 = Card(_MELLANOX, 0x1021, "mlx5_core", INFINIBAND)
CONNECTX_7_ETHERNET = Card(_MELLANOX, 0x1021, "mlx5_core")
BLUEFIELD_3 = Card(_MELLANOX, 0xA2DC, "mlx5_core")
E810 = Card(_INTEL, 0x159B, "ice", speed="16.0 GT/s PCIe", width=8)
X710 = Card(_INTEL, 0x1572, "i40e", speed="8.0 GT/s PCIe", width=8)
VIRTIO = Card(0x1AF4, 0x1041, "virtio-pci", speed="2.5 GT/s PCIe", width=1)
VIRTUAL_CONNECTX = Card(_MELLANOX, 0x101E, "mlx5_core")


def nic(
    tree: Tree, card: Card, place: Place, *, above: tuple[str, ...] = (), netdev: str = "", rdma: str = "", driver: "str | None" = None
) -> None:
    """A port of a card with its interface and RDMA device."""
    bridges(tree, above, place, speed=card.speed, width=card.width)
    bound = card.driver if driver is None else driver
    function(tree, place.pci, card.vendor, card.device, card.kind, driver=bound, subsystem=0x0001, place=place, above=above)
    link(tree, place.pci, card.speed, card.width)
    directory = str(tree.at(f"{_DEVICES}/{place.pci}/x").parent.relative_to(tree.root))
    if netdev and bound == VIRTIO.driver:  # the virtio device stands between
        directory += "/virtio0"
    if netdev:
        tree.write(f"/{directory}/net/{netdev}/address", f"02:00:00:{place.pci[5:7]}:00:0{place.pci[-1]}\n")
        tree.link(f"/sys/class/net/{netdev}", f"../../{directory.removeprefix('sys/')}/net/{netdev}")
    if rdma:
        tree.link(f"/{directory}/infiniband/{rdma}/device", f"../../../{place.pci}")
        tree.link(f"/sys/class/infiniband/{rdma}", f"../../{directory.removeprefix('sys/')}/infiniband/{rdma}")
