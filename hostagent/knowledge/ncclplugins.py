"""Variables that plug-ins of NCCL and libfabric read, and of which variables the values are kept.

Sources: aws/aws-ofi-nccl, include/nccl_ofi_param.h; ofiwg/libfabric, man/fi_efa.7 and fabric.7; Mellanox/nccl-rdma-sharp-plugins, src.
"""

from hostagent.knowledge.ncclvariables import variables

#: How variables begin that are told at all.
PREFIXES = ("NCCL_", "OFI_", "FI_")

_ROWS = """\
FI_EFA_ENABLE_SHM_TRANSFER FI_EFA_FORK_SAFE FI_EFA_SET_CUDA_SYNC_MEMOPS FI_EFA_USE_DEVICE_RDMA FI_EFA_USE_HUGE_PAGE
FI_HMEM FI_HMEM_CUDA_USE_GDRCOPY FI_LOG_LEVEL FI_PROVIDER
NCCL_IBEXT_DISABLE NCCL_PLUGIN_P2P
OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK OFI_NCCL_FORCE_PRODUCT_NAME OFI_NCCL_GDR_FLUSH_DISABLE OFI_NCCL_NIC_DUP_CONNS
OFI_NCCL_PROTOCOL OFI_NCCL_TOPO_FILE_WRITE_ENABLE OFI_NCCL_USE_IPV6_TCP OFI_NCCL_EXCLUDE_TCP_IF
"""
#: Names that somebody other than NCCL itself reads.
NAMES = frozenset(_ROWS.split())
#: Known, and yet their values are nobody's business: the name of a host, and what keeps strangers out of a job.
_HIDDEN = frozenset({"NCCL_HOSTID", "NCCL_SOCKET_MAGIC"})


def is_known(name: str) -> bool:
    """Whether some version of NCCL, or one of its plug-ins, reads it.

    >>> is_known("NCCL_DEBUG"), is_known("FI_PROVIDER"), is_known("NCCL_X_TOKEN"), is_known("NCCL_NET ")
    (True, True, False, False)
    """
    return name in NAMES or name in variables()


def keeps_value(name: str) -> bool:
    """Whether the value stands on a tape and in a report.

    >>> keeps_value("NCCL_DEBUG"), keeps_value("NCCL_HOSTID")
    (True, False)
    """
    return is_known(name) and name not in _HIDDEN
