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
