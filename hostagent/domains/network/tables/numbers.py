"""Numbers and names of networks that jobs depend on.

Sources: Linux kernel, include/rdma/ib_addr.h (iboe_get_mtu) and rdma_core's ibv_mtu; PyTorch documentation, torchrun (--rdzv-endpoint,
port 29500); names of interfaces: Docker, libvirt, LXC, Podman and Tailscale documentation, and those of the CNI plug-ins Calico, Flannel,
Cilium, Weave, Antrea and OVN-Kubernetes.
"""

import re

#: Bytes of headers of one RoCE packet that an interface's MTU has to hold in addition to the payload: GRH 40, UDP 8, BTH 12, XRC 4,
#: AtomicETH 28, ICRC 4.
ROCE_HEADERS = 96
#: Active MTUs, in bytes, the largest first.
ACTIVE_MTUS = (4096, 2048, 1024, 512, 256)
#: TCP ports that launchers of jobs listen on.
JOB_PORTS = (29500,)

#: Interfaces of containers, pods and virtual machines of one host: jobs do not reach other hosts through them.
_LOCAL_NETWORKS = re.compile(
    r"docker|podman|cni|cbr0|br-[0-9a-f]{12}$|veth|vnet|virbr|lxc|lxdbr|incusbr|tailscale"
    r"|cali|tunl|vxlan\.calico|flannel|cilium_|weave|antrea-|ovn-k8s-|kube-|nodelocaldns"
)


def is_of_containers(name: str) -> bool:
    """By the interface's name. ``br-`` and twelve digits is a network of Docker's; ``br-ex`` is an administrator's bridge.

    >>> [is_of_containers(name) for name in ("docker0", "br-0123456789ab", "cali12ab34cd56e", "br-ex", "eth0", "tailscale0")]
    [True, True, True, False, False, True]
    """
    return _LOCAL_NETWORKS.match(name) is not None


def roce_mtu(netdev_mtu: int) -> int:
    """The active MTU that the kernel gives a RoCE port on an interface with this MTU; 0 where it is too small for any.

    >>> roce_mtu(9000), roce_mtu(4192), roce_mtu(4191), roce_mtu(1500), roce_mtu(300)
    (4096, 4096, 2048, 1024, 0)
    """
    return next((size for size in ACTIVE_MTUS if size <= netdev_mtu - ROCE_HEADERS), 0)
