"""Configuration space of PCI Express functions: header, capabilities and extended capabilities, as ``lspci -xxxx`` shows them.

Numbers are those of the PCI Express Base Specification (7.5.3 PCI Express capability, 7.7.11 ACS, 7.8.4 AER) and Linux kernel,
include/uapi/linux/pci_regs.h. Places of the capabilities are those that ``lspci -vvv`` of a ConnectX-7 and of a PEX890xx show.
"""

import struct
from dataclasses import dataclass
from typing import Literal

from tests.trees.tree import Tree

Port = Literal["endpoint", "root", "upstream", "downstream"]
_TYPES: dict[Port, int] = {"endpoint": 0, "root": 4, "upstream": 5, "downstream": 6}
_POWER, _EXPRESS, _MSI_X = 0x40, 0x60, 0x9C
_AER, _ARI, _ACS = 0x100, 0x150, 0x230
#: Source validation, request and completion redirect, upstream forwarding: what the kernel switches on where an IOMMU is in use.
ACS_ON = 0x1D
_DEVICES = "/sys/bus/pci/devices"
#: Linux kernel, drivers/pci/pcie/aer.c, aer_uncorrectable_error_string.
_FATAL = (
    "Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC", "UnsupReq", "ACSViol",
    "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked", "TLPBlockedErr", "PoisonTLPBlocked",
)  # fmt: skip


@dataclass(frozen=True)
class Express:
    """How a function is set up. `acs` None: it has no such capability, as endpoints and upstream ports of switches have none."""

    port: Port = "endpoint"
    payload: int = 256  # bytes
    read_request: int = 512
    acs: "int | None" = None
    size: int = 4096  # of the space that can be read: 256 where there is no extended one, 64 without CAP_SYS_ADMIN

    @property
    def control(self) -> int:
        """Device Control: errors are reported, relaxed ordering, extended tags, no snoop, and the two sizes."""
        return 0x091F | (self.payload.bit_length() - 8) << 5 | (self.read_request.bit_length() - 8) << 12


def space(head: bytes, express: Express) -> bytes:
    """The configuration space of a function with this header."""
    data = bytearray(max(express.size, 4096))
    data[: len(head)] = head
    data[0x34] = _EXPRESS
    struct.pack_into("<BBHIHH", data, _EXPRESS, 0x10, _MSI_X, 2 | _TYPES[express.port] << 4, 0x10008FE2, express.control, 0)
    struct.pack_into("<BBH", data, _MSI_X, 0x11, _POWER, 0x803F)
    struct.pack_into("<BBH", data, _POWER, 0x01, 0x00, 0x4803)
    struct.pack_into("<I", data, _AER, 0x0001 | 2 << 16 | _ARI << 20)
    struct.pack_into("<I", data, _ARI, 0x000E | 1 << 16 | (_ACS if express.acs is not None else 0) << 20)
    if express.acs is not None:
        struct.pack_into("<IHH", data, _ACS, 0x000D | 1 << 16, 0x5D if express.port == "endpoint" else 0x5F, express.acs)
    return bytes(data[: express.size])


def set_up(tree: Tree, address: str, express: Express) -> None:
    """Change how a function is set up: its header stays."""
    config = f"{_DEVICES}/{address}/config"
    tree.write(config, space(tree.at(config).read_bytes()[:64], express))


def hide(tree: Tree) -> None:
    """As who lacks CAP_SYS_ADMIN sees it: headers alone (Linux kernel, drivers/pci/pci-sysfs.c, pci_read_config)."""
    for path in tree.at(_DEVICES).iterdir():
        config = f"{_DEVICES}/{path.name}/config"
        tree.write(config, tree.at(config).read_bytes()[:64])


def count_errors(tree: Tree, address: str, **fatal: int) -> None:
    """What AER has counted since the boot (Linux kernel, ABI/testing/sysfs-bus-pci-devices-aer_stats): ``DLP=2``."""
    rows = "".join(f"{name} {fatal.get(name, 0)}\n" for name in _FATAL)
    for kind, text in (("fatal", rows), ("nonfatal", "".join(f"{name} 0\n" for name in _FATAL))):
        total = sum(fatal.values()) if kind == "fatal" else 0
        tree.write(f"{_DEVICES}/{address}/aer_dev_{kind}", f"{text}TOTAL_ERR_{kind.upper()} {total}\n")
    tree.write(f"{_DEVICES}/{address}/aer_dev_correctable", "RxErr 0\nBadTLP 0\nBadDLLP 0\nRollover 0\nTimeout 0\nTOTAL_ERR_COR 0\n")


def isolate(tree: Tree, kind: str = "identity", *addresses: str) -> None:
    """An IOMMU group of its own for each function, of this type (Linux kernel, ABI/testing/sysfs-kernel-iommu_groups)."""
    for address in addresses or sorted(path.name for path in tree.at(_DEVICES).iterdir()):
        groups = tree.at("/sys/kernel/iommu_groups")
        number = len(list(groups.iterdir())) if groups.exists() else 0
        place = str(tree.at(f"{_DEVICES}/{address}/x").parent.relative_to(tree.root))
        up = "../" * (place.count("/"))
        tree.link(f"/{place}/iommu_group", f"{up}kernel/iommu_groups/{number}")
        tree.write(f"/sys/kernel/iommu_groups/{number}/type", f"{kind}\n")
        tree.link(f"/sys/kernel/iommu_groups/{number}/devices/{address}", f"../../../../{place.removeprefix('sys/')}")
