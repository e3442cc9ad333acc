"""RDMA devices and their ports: InfiniBand, RoCE, EFA (Linux kernel, ABI/stable/sysfs-class-infiniband; ibv_query_port(3))."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


@frozen
class Gid:
    """A slot of a port's GID table that is not empty."""

    index: int
    value: str  # as sysfs writes it: 0000:0000:0000:0000:0000:ffff:0a00:0101
    type: str | Unread  # sysfs' words: "RoCE v2", "IB/RoCE v1"
    netdev: str | Unread  # the interface with that address, "" where the slot names none


@frozen
class Pkey:
    """A slot of a port's P_Key table that is not empty."""

    index: int
    value: int  # bit 0x8000 is full membership


@frozen(subject="name", called="port", parent="pci")
class RdmaPort:
    """One port of an RDMA device, named as NCCL writes it. Management functions of NVLink 5 switches have none here."""

    name: str  # mlx5_0:1
    device: str  # mlx5_0
    number: int  # 1
    pci: str | Unread  # of its function; "" of a device made of software (rxe, siw)
    virtual_of: str | Unread  # address of the physical function of a virtual one, "" of one that is physical
    driver: str | Unread  # of the PCI function: mlx5_core, efa, bnxt_en; "" of software
    node_type: str | Unread  # sysfs' words: CA, RNIC, usNIC, unspecified
    firmware: str | Unread
    board_id: str | Unread  # PSID on Mellanox cards, "" where the driver has none
    node_guid: str | Unread  # 9803:9b03:00aa:bb00
    node: str | Unread  # name below /dev/infiniband: uverbs0; "" where there is none
    link_layer: str | Unread  # InfiniBand, Ethernet, Unspecified
    state: str | Unread  # DOWN, INIT, ARMED, ACTIVE
    physical_state: str | Unread  # LinkUp, Polling, Disabled, Sleep …
    rate_gbps: float | Unread
    rate_words: str | Unread  # "400 Gb/sec (4X NDR)"
    lid: int | Unread
    sm_lid: int | Unread  # of the subnet manager; 0 where there is none, and on Ethernet
    pkeys: tuple[Pkey, ...] | Unread  # by index
    gids: tuple[Gid, ...] | Unread  # by index
    netdev: str | Unread  # its interface: of the GID table, else the one of its function; "" for none
    active_mtu: int | Unread  # bytes, by ibv_query_port; of RoCE and InfiniBand
    max_mtu: int | Unread  # bytes, by ibv_query_port
    link_policy: str | Unread  # of an InfiniBand virtual function, set on its physical one: Follow, Up, Down; "" of others
    traffic_class: int | Unread  # default of rdma_cm on RoCE (OFED's tc/1/traffic_class); not-supported where the driver has none
    link_downed: int | Unread  # since the counters were last cleared: times that the link went down


@frozen
class HandleLimit:
    """rdma.max of a cgroup that containers or jobs run in (Linux kernel, cgroup-v2: RDMA)."""

    cgroup: str  # kubepods.slice
    device: str  # mlx5_0
    handles: int  # -1 is max
    objects: int


@frozen
class Rdma:
    """The host's RDMA stack, apart from its ports."""

    devices: tuple[str, ...] | Unread  # names below /sys/class/infiniband, management functions too
    managers: tuple[str, ...] | Unread  # those that are management functions of NVLink 5 switches: no NICs
    nodes: tuple[str, ...] | Unread  # names below /dev/infiniband: uverbs0, rdma_cm
    netns_mode: str | Unread  # shared, exclusive: whether other network namespaces see a device
    library: str | Unread  # path of libibverbs as it was loaded, "" where the host has none
    registers_dmabuf: bool | Unread  # libibverbs has ibv_reg_dmabuf_mr
    peer_memory: str | Unread  # "" not there, loaded (and not usable), usable: nvidia_peermem or its forerunners
    driver_version: str | Unread  # of mlx5_core where it is not the kernel's own: 24.10-1.1.4; "" inbox
    limits: tuple[HandleLimit, ...] | Unread  # those that are set
    stacks: tuple[str, ...] | Unread  # origins of RDMA kernel modules: inbox, DOCA-OFED, Network Operator, provider
