"""Networks of NCCL by name, and names and needed libraries of network plug-ins.

Sources (read 2026-11): NVIDIA/nccl, src/plugin/{net,plugin_open}.cc; aws/aws-ofi-nccl; Mellanox/nccl-rdma-sharp-plugins.
"""

#: NCCL's own networks as NCCL_NET names them, in whatever case.
IB, SOCKET = "ib", "socket"
#: What aws-ofi-nccl calls its network, by its version.
OFI_NAMES = ("Libfabric", "AWS Libfabric")
#: Beginnings of settings that only plug-ins of Google's TCPX networks read.
TCPX = ("NCCL_GPUDIRECTTCPX_", "NCCL_FASTRAK_")
#: Beginnings of libraries that a job has loaded before NCCL loads a plug-in: what the linker does not find of these is no fault.
LOADED_BY_JOBS = ("libcuda.so", "libcudart.so", "libnvidia-ml.so", "libnccl.so")


def has_ib(needed: tuple[str, ...]) -> bool:
    """A plug-in for InfiniBand and RoCE, by the libraries that it needs.

    >>> has_ib(("libc.so.6", "libibverbs.so.1")), has_ib(("libc.so.6", "libfabric.so.1"))
    (True, False)
    """
    return any(one.startswith("libibverbs.so") for one in needed)


def has_libfabric(needed: tuple[str, ...]) -> bool:
    """A plug-in for libfabric, by the libraries that it needs.

    >>> has_libfabric(("libc.so.6", "libfabric.so.1")), has_libfabric(("libc.so.6",))
    (True, False)
    """
    return any(one.startswith("libfabric.so") for one in needed)


def takes_efa(provider: str) -> bool:
    """Whether libfabric uses the Elastic Fabric Adapter with this FI_PROVIDER: a list of names, which ^ leaves out.

    >>> [takes_efa(text) for text in ("efa", "EFA", "shm,efa", "^tcp", "^efa", "tcp;ofi_rxm", "sockets")]
    [True, True, True, True, False, False, False]
    """
    names = provider.casefold().removeprefix("^").split(",")
    return any("efa" in name.strip().split(";") for name in names) != provider.startswith("^")
