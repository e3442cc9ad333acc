"""Distance classes between a GPU and a NIC, or two GPUs: the terms of ``nvidia-smi topo -m`` and NCCL, the nearest first.

Sources (read 2026-11): nvidia-smi's own legend; NVIDIA/nccl, src/graph/topo.h (P2C: since 2.27).
"""

from collections.abc import Mapping

CLASSES: Mapping[str, str] = {
    "LOC": "the same device",
    "NV#": "joined by # NVLinks",
    "PIX": "at most one PCIe switch between them",
    "PXB": "several PCIe switches between them, and no CPU",
    "P2C": "the GPU is joined to the CPU by NVLink-C2C, and the NIC is at that CPU",
    "PHB": "through the PCIe host bridge of one CPU",
    "NODE": "through several PCIe host bridges of one NUMA node",
    "SYS": "through the link between NUMA nodes",
}


def class_of(word: str) -> str:
    """The key of `CLASSES` for a cell: ``NV18`` is ``NV#``; "" for none.

    >>> class_of("NV18"), class_of("PIX"), class_of("NVX")
    ('NV#', 'PIX', '')
    """
    if word.startswith("NV") and word[2:].isascii() and word[2:].isdigit():
        return "NV#"
    return word if word in CLASSES and word != "NV#" else ""
