"""Placement of CPUs, memory, GPUs and NICs: NUMA nodes, packages, PCI bridges; only from sysfs."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


@frozen
class Hugepages:
    """The huge pages of one size on one NUMA node."""

    size_bytes: int  # 2097152, 1073741824 …
    total: int  # pages
    free: int


@frozen
class NumaNode:
    """One NUMA node that is online. Ids may have gaps; a node may have no CPUs, or no memory."""

    id: int
    cpus: str | Unread  # cpulist of its online CPUs, "" for none
    memory_bytes: int | Unread  # MemTotal, 0 for none
    distances: tuple[int, ...] | Unread  # to each online node, in the order of their ids; 10 is its own
    hugepages: tuple[Hugepages, ...] | Unread  # by size


@frozen
class CpuPackage:
    """One socket."""

    id: int
    cpus: str  # cpulist


@frozen
class CpuGovernor:
    """One cpufreq policy."""

    cpus: str  # cpulist of the CPUs that it governs
    governor: str | Unread  # performance, powersave, schedutil …


@frozen
class PciPlace:
    """Position of a GPU or a NIC on PCI: the bridges between it and its host bridge."""

    pci: str
    root: str  # the host bridge: pci0000:16
    bridges: tuple[str, ...]  # addresses, the root port first; none for an integrated endpoint


@frozen
class PciControl:
    """PCI settings of a GPU, a NIC, or a bridge above one (PCI Express Base Specification, sections 7.5.3.4 and 7.7.11)."""

    pci: str
    acs: int | Unread  # ACS control: 0x01 source validation, 0x04 request, 0x08 completion redirect; not-supported without it
    max_read_request: int | Unread  # bytes
    max_payload: int | Unread  # bytes
    iommu: str | Unread  # type of its IOMMU group: identity, DMA, DMA-FQ …; "" where the IOMMU is off; not-supported of a bridge
    fatal_errors: int | Unread  # uncorrectable fatal ones that AER counted since the boot; not-supported without AER


@frozen
class Topology:
    """The whole host."""

    numa_nodes: tuple[NumaNode, ...] | Unread  # by id; one of id 0 where the kernel has no NUMA
    packages: tuple[CpuPackage, ...] | Unread  # by id
    cores: tuple[str, ...] | Unread  # cpulists of the CPUs of each core: "0,64"
    places: tuple[PciPlace, ...] | Unread  # of GPUs and NICs, by address
    #: Of GPUs and NICs with an RDMA device, without virtual functions, and of their bridges, by address; () on a host without both.
    controls: tuple[PciControl, ...] | Unread
    #: Of GPUs that NVIDIA's driver has and of the bridges above them, by address; () unless PCIe alone may join two of them.
    gpu_ports: tuple[PciControl, ...] | Unread
    governors: tuple[CpuGovernor, ...] | Unread  # () in a machine without cpufreq
    numa_balancing: bool | Unread  # the kernel moves pages to the node that uses them
    cpu_vendor: str | Unread  # intel, amd, arm; other


@frozen(subject="pci", called="NIC")
class Nic:
    """One PCI function of class 02xx: Ethernet, InfiniBand or another network controller, RDMA or not."""

    pci: str  # 0000:1a:00.0
    vendor_id: str | Unread  # 0x15b3
    device_id: str | Unread
    bound_to: str | Unread  # mlx5_core, ena, vfio-pci; "" when no driver is bound
    virtual_of: str | Unread  # address of the physical function of an SR-IOV virtual function, "" of one that is physical
    numa_node: int | Unread  # -1 when the firmware does not say
    local_cpus: str | Unread  # cpulist
    netdevs: tuple[str, ...] | Unread  # network interfaces of this function: ens1np0
    rdma: tuple[str, ...] | Unread  # RDMA devices: mlx5_0
    link_speed: str | Unread  # sysfs words: "32.0 GT/s PCIe", "Unknown"
    link_speed_max: str | Unread  # the lower of the card's and of the port's above it
    link_width: int | Unread  # lanes
    link_width_max: int | Unread  # lanes that both the card and the port above it have
