"""RDMA: virtual functions, drivers and link layers, what ports should reach, and by which rules they are judged. Cards are in `nics`.

Sources: PCI ID database; Linux kernel, drivers/infiniband/hw; rdma-core, udev persistent naming; AWS EFA documentation.
"""

from collections.abc import Mapping

#: Bit of a P_Key that is full membership (InfiniBand Architecture Specification, 10.9.1.1).
FULL_MEMBER = 0x8000
#: Link layers, as in sysfs.
INFINIBAND, ETHERNET = "InfiniBand", "Ethernet"
#: The driver of AWS's Elastic Fabric Adapter: its ports have neither LID nor subnet manager nor a GID of RoCE.
EFA = "efa"
#: States of a port that works, as in sysfs; one that corrects its link defers the change.
UP = ("ACTIVE", "ACTIVE_DEFER")
#: Types of RoCE GIDs, as in sysfs.
ROCE_V2, ROCE_V1 = "RoCE v2", "IB/RoCE v1"
#: What the GID of an address of IPv4 begins with.
IPV4 = "0000:0000:0000:0000:0000:ffff:"
#: Vendor, and PCI ids of virtual functions by which a guest knows them (Linux kernel, mlx5/core/main.c, MLX5_PCI_DEV_IS_VF): its driver
#: does no Data Center Bridging.
VIRTUAL_FUNCTIONS = ("0x15b3", frozenset({"0x1012", "0x1014", "0x1016", "0x1018", "0x101a", "0x101c", "0x101e", "0xa2d3"}))
#: Gb/s. A port of a card that is not known to be made for RDMA is a rail from this rate on: ordinary Ethernet is slower.
_RAIL_GBPS = 100
#: Names that people give to RDMA devices of software (rdma-link(8)), in older kernels below the card of the interface that they use.
_SOFTWARE_NAMES = ("rxe", "siw")
#: Node types that NCCL or its plugin for libfabric uses: neither iWARP (RNIC) nor usNIC.
_NODE_TYPES = frozenset({"CA", "unspecified"})


def is_rail_speed(gbps: float) -> bool:
    """Whether a port is as fast as rails are.

    >>> is_rail_speed(200), is_rail_speed(25)
    (True, False)
    """
    return gbps >= _RAIL_GBPS


def is_software(pci: str, firmware: str, device: str) -> bool:
    """Soft-RoCE or soft-iWARP: no card's firmware is behind it.

    >>> is_software("", "", "my_rxe"), is_software("0000:1a:00.0", "", "rxe0"), is_software("0000:1a:00.0", "28.39.1002", "mlx5_0")
    (True, True, False)
    """
    return not pci or (not firmware and device.startswith(_SOFTWARE_NAMES))


def talks_to_nccl(node_type: str) -> bool:
    """Whether NCCL can use a device, by its node type in sysfs.

    >>> talks_to_nccl("CA"), talks_to_nccl("unspecified"), talks_to_nccl("RNIC")
    (True, True, False)
    """
    return node_type in _NODE_TYPES


#: Origins of the kernel's RDMA modules, and the modules that distinguish them: a module of the kernel itself has no version of its own,
#: one of DOCA-OFED (formerly MLNX_OFED) and of Amazon's package does.
INBOX, DOCA, OPERATOR, PROVIDER = "inbox", "DOCA-OFED", "Network Operator", "provider"
MELLANOX = "mlx5_core"
STACK_MODULES: Mapping[str, str] = {MELLANOX: DOCA, EFA: PROVIDER}
#: Where a usable nvidia_peermem, or one of its forerunners, shows itself: NCCL looks there (src/transport/net_ib, ncclIbGdrSupport).
PEER_MEMORY_FILES = (
    "/sys/kernel/mm/memory_peers/nv_mem/version",
    "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
    "/sys/module/nvidia_peermem/version",
)
#: Control groups of containers, services and login sessions, by either driver of the kubelet.
CGROUPS = ("kubepods.slice", "kubepods", "system.slice", "docker", "user.slice", "machine.slice")
