"""GPUs that the driver keeps from each other's memory over PCIe, by name.

Sources: NVIDIA driver, nvmlDeviceGetP2PStatus of GeForce cards ("chipset not supported" on each host), as
tinygrad/open-gpu-kernel-modules and NVIDIA/nccl-tests issue 117 show it; GeForce cards before Turing had it.
The status that NVML gives wins over this table: a changed driver allows it.
"""

#: Prefixes of names.
_REFUSED = ("NVIDIA GeForce RTX", "GeForce RTX", "NVIDIA GeForce GTX 16", "GeForce GTX 16")


def is_refused(name: str) -> bool:
    """Whether the driver lets no other GPU reach the memory of one of this name.

    >>> is_refused("NVIDIA GeForce RTX 5090"), is_refused("NVIDIA RTX 6000 Ada Generation")
    (True, False)
    """
    return name.startswith(_REFUSED)
