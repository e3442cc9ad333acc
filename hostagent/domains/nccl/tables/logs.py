"""The form of NCCL's log, from 2.4 to 2.32: kinds of networks by name, harmless warnings, meanings of status codes.

Sources (read 2026-11): NVIDIA/nccl src/{init,bootstrap,net,debug}.cc, src/transport/{net,net_ib,net_socket,p2p,shm}.cc, src/plugin/net.cc,
src/misc/{ibvwrap,shmutils,socket,param}.cc, src/ras/, held against the texts in libnccl 2.18.3, 2.27.3 and 2.32.3; aws/aws-ofi-nccl
src/nccl_ofi_net.cpp; Mellanox/nccl-rdma-sharp-plugins; GoogleCloudPlatform/container-engine-accelerators; PyTorch c10d NCCLUtils;
rdma-core libibverbs/verbs.h (ibv_wc_status).
"""

from collections.abc import Mapping
from typing import Literal

#: Kinds of networks: own RDMA, TCP by design, TCP as the fallback, decided by the provider.
NetKind = Literal["rdma", "tcp_plugin", "socket", "libfabric", "external"]


def kind_of(network: str) -> NetKind:
    """The kind of network by its name in a channel or ``Using network``.

    >>> [kind_of(name) for name in ("IB", "IBext_v8", "gIB", "AWS Libfabric", "Socket", "GPUDirectTCPX_v7", "FasTrak", "UCX")]
    ['rdma', 'rdma', 'rdma', 'libfabric', 'socket', 'tcp_plugin', 'tcp_plugin', 'external']
    """
    name = network.lower()
    if name in {"ib", "gib"} or name.startswith("ibext"):
        return "rdma"
    if name == "socket":
        return "socket"
    if name in {"fastsocket", "fastrak"} or name.startswith("gpudirecttcpx"):
        return "tcp_plugin"
    return "libfabric" if name.endswith("libfabric") else "external"


#: Providers of Libfabric that are RDMA; and those that are TCP.
RDMA_PROVIDERS, TCP_PROVIDERS = frozenset({"efa", "efa-direct"}), ("tcp", "sockets")
#: Interfaces that containers and guests make, or that do not lead to other hosts: as `NCCL_SOCKET_IFNAME` would name them, by prefix.
VIRTUAL_INTERFACES = ("docker", "cali", "cni", "flannel", "veth", "virbr", "tailscale", "br-", "lxc")
#: What a channel's transport may end with, in this order; an integer in parentheses is the rank that forwards (PXN).
CHANNEL_TAIL = r"/\d+(?:\(\d+\))?(?P<gdr>/GDRDMA)?(?:\(PCI\))?(?:/Shared)?"
#: From this version on connections are made at the first collective, and with them the lines of the channels.
LAZY_SINCE = (2, 22)

#: Settings that keep NCCL from RDMA, with a pattern of the values that do.
FORCING: Mapping[str, str] = {"NCCL_IB_DISABLE": r"-?0*[1-9]\d*", "NCCL_NET": r"(?i:socket)"}

#: Harmless warnings, and how each begins: a record that was cut is held against that.
BENIGN: Mapping[str, str] = {
    "RAS failed to establish a client listening socket": r"RAS failed to establish a client listening socket",
    "Failed to open libibverbs.so": r"Failed to open libibverbs\.so",  # up to 2.10, on every host without rdma-core
    "Failed to find CUDA library libcuda.so": r"Failed to find CUDA library libcuda\.so",  # 2.18
    "NET/IB : ": r"NET/IB : \S+ (?:Got non-fatal async event|GID table changed)",
    "NET/IB : Got async event : ": (
        r"NET/IB :(?: \S+:\d+)? Got async event : "
        r"(?:GID table change|LID change|P_Key change|SM change|client reregistration|port active|last WQE reached|"
        r"communication established)"
    ),
}
#: A warning that is none where RAS says after it that it does without, or where the same process goes on.
BIND_FAILED = r"Call to bind failed: Address already in use"
#: Of the plug-in for Libfabric: NCCL goes on with another network, as `Using network` then says.
OFI_FAILED = r"NET/OFI .*(?:Initializing plugin failed|aws-ofi-nccl initialization failed)|.*aws-ofi-nccl initialization failed"
#: Ranks of different networks meet: a verdict of its own.
WRONG_TYPE = r".*\bwrong type (\d+) != (\d+)"
#: Files with harmless return traces.
BENIGN_TRACES = ("ras/", "src/ras/")
SOCKET_TYPES: Mapping[str, str] = {
    "0": "unknown", "1": "bootstrap", "2": "proxy", "3": "Socket", "4": "IB", "5": "RAS",
}  # fmt: skip

#: NCCL's results as its programs, nccl-tests and frameworks print them; the second part is of no other program.
RESULT_TEXTS = (
    "unhandled cuda error", "unhandled system error", "internal error", "invalid argument", "invalid usage",
    "remote process exited or there was a network error",
)  # fmt: skip
RESULT_NAMES = r"nccl(?:UnhandledCuda|System|Internal|InvalidArgument|InvalidUsage|Remote)Error"
#: As PyTorch ends a collective that no longer moves (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp).
TIMED_OUT = "Watchdog caught collective operation timeout"
#: The numbers of return traces.
RESULTS: Mapping[str, str] = {
    "1": "a CUDA error", "2": "an error of the system", "3": "an internal error", "4": "a wrong argument", "5": "wrong usage",
    "6": "an error of another rank or of the network",
}  # fmt: skip

#: Other libraries that write the same lines, or lines like them.
OTHER_LIBRARIES = ("RCCL", "HCCL", "MCCL", "oneCCL", "XCCL")


class Status:
    """A completion status of the HCA, named as in ``ibv_wc_status`` without IBV_WC_."""

    BY_NUMBER: Mapping[str, tuple[str, str]] = {
        "1": ("LOC_LEN_ERR", "a message is longer than its buffer"),
        "2": ("LOC_QP_OP_ERR", "the HCA refused its own request"),
        "4": ("LOC_PROT_ERR", "the HCA may not use this memory: GPUDirect RDMA, IOMMU or ACS"),
        "5": ("WR_FLUSH_ERR", "a consequence: the first error of this connection stands further up, or on the other rank"),
        "9": ("REM_INV_REQ_ERR", "the other side refused the request"),
        "10": ("REM_ACCESS_ERR", "the other HCA may not use that memory"),
        "11": ("REM_OP_ERR", "the other side could not do it"),
        "12": (
            "RETRY_EXC_ERR",
            "no answer from the other side: no path, a path MTU that is too small, loss, a link that is down or a wrong GID",
        ),
        "13": ("RNR_RETRY_EXC_ERR", "the other side was never ready to receive"),
    }
    LOCAL_PROTECTION, RETRY_EXCEEDED, FLUSHED = "4", "12", "5"
