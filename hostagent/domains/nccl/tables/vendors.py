"""Networks of providers with their own plug-in for NCCL: what a job uses there instead of variables of NCCL.

Sources (read 2026-11): Google Cloud, AI Hypercomputer documentation (NCCL/gIB: set_nccl_env.sh is sourced, /usr/local/gib/lib64 is on
LD_LIBRARY_PATH); GoogleCloudPlatform/container-engine-accelerators, gpudirect-tcpxo (nccl-env-profile.sh) and gpudirect-tcpx, and Google
Kubernetes Engine documentation, GPUDirect-TCPX; AWS, Get started with EFA and NCCL; aws/aws-ofi-nccl (the plug-in sets what it needs).
"""

from typing import NamedTuple


class Stack(NamedTuple):
    """One provider's network."""

    name: str
    plugin: str  # the common name of its plug-in
    script: str  # what a shell of the job sources, "" where the plug-in needs none
    marks: tuple[str, ...]  # parts of the path of its plug-in, in small letters
    own_bootstrap: bool  # its script chooses NCCL_SOCKET_IFNAME, too
    how: str  # one sentence


GIB = Stack(
    "gIB", "libnccl-net of nccl-gib", "/usr/local/gib/scripts/set_nccl_env.sh", ("/gib/", "-gib.", "nccl-gib"), True,
    "Source its script in the job, and have /usr/local/gib/lib64 on LD_LIBRARY_PATH.",
)  # fmt: skip
TCPXO = Stack(
    "GPUDirect-TCPXO", "libnccl-net of FasTrak", "/usr/local/nvidia/lib64/nccl-env-profile.sh", ("tcpxo", "fastrak"), True,
    "Source its script in the job, with NCCL_LIB_DIR naming the script's directory.",
)  # fmt: skip
TCPX = Stack(
    "GPUDirect-TCPX", "libnccl-net of GPUDirect-TCPX", "", ("tcpx",), True,
    "Take the settings from the provider's manifest of the same version as the plug-in.",
)  # fmt: skip
EFA_STACK = Stack(
    "EFA", "aws-ofi-nccl", "", ("-ofi", "ofi-nccl"), False,
    "Have the plug-in aws-ofi-nccl and libfabric in the job's image; it chooses the settings itself.",
)  # fmt: skip
#: The first with a mark in the path of a plug-in counts.
STACKS = (GIB, TCPXO, TCPX, EFA_STACK)


def stack_of(path: str) -> "Stack | None":
    """The provider's stack that has this plug-in; None if no provider has it.

    >>> stack_of("/usr/local/gib/lib64/libnccl-net.so").name, stack_of("/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so").name
    ('gIB', 'EFA')
    >>> stack_of("/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so")
    """
    small = path.lower()
    return next((one for one in STACKS if any(mark in small for mark in one.marks)), None)
