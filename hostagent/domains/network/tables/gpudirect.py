"""GPUDirect RDMA: which ways a network card has into GPU memory, and which GPUs let none in.

Sources (read 2026-11): NVIDIA GPUDirect RDMA documentation and GPU Operator documentation, GPUDirect RDMA (DMA-BUF: kernel 5.12, open
module, Turing or newer); Linux kernel, commit bfe0cc6eb249 (mlx5 takes DMA-BUF since 5.12); NVIDIA/nccl, src/transport/net_ib.cc (which
files say that peer memory is there); rdma-core, libibverbs/libibverbs.map.in (ibv_reg_dmabuf_mr); amzn/amzn-drivers, issue 282 and the
release notes of EFA 2.1 (efa_nv_peermem; the out-of-tree driver has a way of its own); NVIDIA developer forum, DGX Spark GPUDirect RDMA.
"""

from typing import NamedTuple

#: The first kernel with RDMA drivers that take memory as DMA-BUF.
DMABUF_KERNEL = (5, 12)
#: Marks the release of kernels with backports: RHEL 8 has release 4.18 and the RDMA drivers of 5.x.
BACKPORTS = ".el8"
#: nvidia_peermem under its names, and the module that does the same for Amazon's EFA.
PEERMEM = ("nvidia_peermem", "nv_peer_mem")
EFA_PEERMEM = "efa_nv_peermem"
#: Prefixes of GPU names without GPUDirect RDMA, a feature of data centre and workstation cards.
_CONSUMER = ("NVIDIA GeForce", "GeForce", "NVIDIA TITAN", "TITAN")


class _Chips(NamedTuple):
    first: int
    last: int


#: GPUs on one chip with the CPU: their memory is the host's, and I/O cannot reach what cudaMalloc gives (Jetson Thor, DGX Spark).
_INTEGRATED = (_Chips(0x2B00, 0x2B7F), _Chips(0x2E00, 0x2E7F))


def lets_cards_in(device_id: str, name: str) -> bool:
    """Whether a network card may reach the memory of a GPU; True where neither its id nor its name says no.

    >>> lets_cards_in("0x2330", "NVIDIA H100"), lets_cards_in("0x2e12", "NVIDIA GB10"), lets_cards_in("0x2684", "NVIDIA GeForce RTX 4090")
    (True, False, False)
    """
    number = _number(device_id)
    return not name.startswith(_CONSUMER) and not any(chips.first <= number <= chips.last for chips in _INTEGRATED)


def takes_dmabuf(release: str) -> "bool | None":
    """Whether the RDMA drivers of a kernel take memory as DMA-BUF, by its release; None where that does not say.

    >>> takes_dmabuf("5.15.0-91-generic"), takes_dmabuf("5.4.0-216-generic"), takes_dmabuf("4.18.0-553.el8_10.x86_64"), takes_dmabuf("?")
    (True, False, None, None)
    """
    parts = release.split(".")
    minor = parts[1].partition("-")[0] if len(parts) > 1 else ""
    if not (parts[0].isdecimal() and minor.isdecimal() and len(parts[0] + minor) < 10):
        return None
    if (int(parts[0]), int(minor)) >= DMABUF_KERNEL:
        return True
    return None if BACKPORTS in release else False


def _number(device_id: str) -> int:
    try:
        return int(device_id, 16)
    except ValueError:
        return -1
