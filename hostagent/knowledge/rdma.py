"""RDMA cards and drivers: which PCI functions can RDMA, what their ports should reach, and by which rules they are judged.

Sources: PCI ID database; Linux kernel, drivers/infiniband/hw; rdma-core, udev persistent naming; AWS EFA documentation.
"""

#: Bit of a P_Key that is full membership (InfiniBand Architecture Specification, 10.9.1.1).
FULL_MEMBER = 0x8000
#: sysfs' words of a link layer.
INFINIBAND, ETHERNET = "InfiniBand", "Ethernet"
#: The driver of AWS's Elastic Fabric Adapter: its ports have neither LID nor subnet manager nor a GID of RoCE.
EFA = "efa"
#: GIDs of RoCE by type, in sysfs' words.
ROCE_V2, ROCE_V1 = "RoCE v2", "IB/RoCE v1"
#: Names that people give to RDMA devices of software (rdma-link(8)), which in older kernels hang below the card whose interface they use.
_SOFTWARE_NAMES = ("rxe", "siw")
#: Nodes whose ports NCCL or its plugin for libfabric uses: neither iWARP (RNIC) nor usNIC.
_NODE_TYPES = frozenset({"CA", "unspecified"})


def is_software(pci: str, firmware: str, device: str) -> bool:
    """Soft-RoCE or soft-iWARP: no card's firmware is behind it.

    >>> is_software("", "", "my_rxe"), is_software("0000:1a:00.0", "", "rxe0"), is_software("0000:1a:00.0", "28.39.1002", "mlx5_0")
    (True, True, False)
    """
    return not pci or (not firmware and device.startswith(_SOFTWARE_NAMES))


def talks_to_nccl(node_type: str) -> bool:
    """By sysfs' words.

    >>> talks_to_nccl("CA"), talks_to_nccl("unspecified"), talks_to_nccl("RNIC")
    (True, True, False)
    """
    return node_type in _NODE_TYPES
