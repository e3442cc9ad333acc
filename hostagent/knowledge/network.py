"""Numbers and names of networks that jobs depend on.

Sources: Linux kernel, include/rdma/ib_addr.h (iboe_get_mtu) and rdma_core's ibv_mtu; PyTorch documentation, torchrun (--rdzv-endpoint,
port 29500).
"""

#: Bytes of headers of one RoCE packet that an interface's MTU has to hold beside the payload: GRH 40, UDP 8, BTH 12, XRC 4,
#: AtomicETH 28, ICRC 4.
ROCE_HEADERS = 96
#: Active MTUs, in bytes, the largest first.
ACTIVE_MTUS = (4096, 2048, 1024, 512, 256)
#: TCP ports that launchers of jobs listen on.
JOB_PORTS = (29500,)


def roce_mtu(netdev_mtu: int) -> int:
    """The active MTU that the kernel gives a RoCE port whose interface has this MTU; 0 where it is too small for any.

    >>> roce_mtu(9000), roce_mtu(4192), roce_mtu(4191), roce_mtu(1500), roce_mtu(300)
    (4096, 4096, 2048, 1024, 0)
    """
    return next((size for size in ACTIVE_MTUS if size <= netdev_mtu - ROCE_HEADERS), 0)
