"""Names of the inputs of fabric and host class, in order. A light module: the gate reads thousands of summaries with it."""

#: Version of both lists: it begins each class, so that classes by another list are not taken for another fabric.
VERSION = 1
#: Inputs that must be equal on all nodes of a job that brings its own NCCL.
CLASS_INPUTS = (
    "gpu_product",
    "gpu_memory",
    "gpu_count",
    "gpus_per_numa",
    "mig",
    "driver_branch",
    "link_layer",
    "hcas",
    "rate_gbps",
    "mtu",
    "active_mtu",
    "gid_type",
    "gdr",
    "traffic_class",
)
#: These too, for a job that uses the host's NCCL.
HOST_INPUTS = ("hca_names", "nccl", "net_plugin", "socket_ifname", "settings")
#: Replaces the names that were cut from an input; their count follows.
CUT = "… (+"


def release(text: str) -> str:
    """Before the first dash of a class: the version of its list of inputs, "" where it has none.

    >>> release("1-d7a6d5cdb615"), release("d7a6d5cdb615")
    ('1', '')
    """
    version, dash, _ = text.partition("-")
    return version if dash else ""
