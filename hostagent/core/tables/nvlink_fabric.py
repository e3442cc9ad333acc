"""Programs of an NVLink fabric, marks of a host that has one, and the boards as built.

Sources: NVIDIA Fabric Manager User Guide (release 580: packages, service, NVLink 5 and nvlsm, GPU baseboard topologies, tables of
section Supported Virtual Machine Configurations), NVIDIA Driver Installation Guide (the packages of 580 and later have no branch in
their names), NVIDIA IMEX Service Guide, kubernetes-sigs/dra-driver-nvidia-gpu, open-gpu-kernel-modules linux_nvswitch.c (driver name)
and nvrm_registry.h (options that switch NVLinks off); PCI ids from the PCI ID database and lspci of p4d, p5e and HGX hosts. State of
2026-11.
"""

# HGX-2: 16 GPUs on two boards and 12 switches, or 8 and 6 on one; HGX A100 8 and 6; HGX H100 and H200 8 and 4; HGX B200 and B300
# 8, and PCI shows no switch: GPUs with these ids on bare metal, or bridges in a virtual machine, make the board, found by the VPD
# of ConnectX-7 bridges, which may need root. Full passthrough: A100 with 4 GPUs and 3 switches, or 2 and 1; H100 the whole board
# alone. A800 and H800 have eight links. HGX boards with four GPUs have no switches. A B200 host in a virtual machine without its
# bridges shows no board.

from typing import NamedTuple

MANAGER_UNIT = "nvidia-fabricmanager"
MANAGER_PROCESS = "nv-fabricmanager"
MANAGER_PACKAGES = ("nvidia-fabricmanager", "nvidia-fabric-manager")
#: Daemons that hold GPUs from their start to their end: no GPU is reset, and no module unloaded, while one runs.
GPU_HOLDERS = ("nvidia-persistenced", "nv-hostengine")
NVLSM_PROCESS = "nvlsm"
#: Modules without which nvlsm cannot reach the switches of NVLink 5.
NVLSM_MODULES = ("mlx5_core", "ib_umad")
IMEX_UNIT = "nvidia-imex"
IMEX_PROCESS = "nvidia-imex"
IMEX_PACKAGES = ("nvidia-imex",)
#: States of an IMEX domain (nvidia-imex-ctl), and those in which it serves jobs on all its nodes.
IMEX_STATES = ("UP", "READY", "INITIALIZING", "STARTING", "RECOVERING", "DEGRADED", "DOWN", "FAILED", "UNAVAILABLE", "INVALID")
IMEX_GOOD_STATES = ("UP", "READY")
#: Of the DRA driver's plug-in that starts an IMEX in pods for each ComputeDomain: its directory below the kubelet's plugins.
COMPUTE_DOMAINS = "compute-domain.nvidia.com"
#: Used by DCGM and other monitors to reach the switches; only the driver's own version works.
LIBRARY_PACKAGES = ("libnvidia-nscq", "libnvsdm")
NVSWITCH_DRIVER = "nvidia-nvswitch"
#: Logged by the fabric manager when its version is not the driver's.
MISMATCH = "don't match with driver version"
#: Logged when all is set up; the rest of the sentence differs between releases.
CONFIGURED = "Successfully configured all the available"
#: Ranges of PCI device ids, as sysfs writes them, of the GPUs of HGX B200 and B300
#: baseboards: their NVLink 5 switches show as bridges of ConnectX-7 HCAs.
BASEBOARD_GPUS = (("0x2900", "0x293f"), ("0x3180", "0x31bf"))


class Set(NamedTuple):
    """GPUs and NVSwitches that one host or virtual machine has together, and how many NVLinks of each GPU are then up."""

    gpus: int
    switches: int
    links: int


class Board(NamedTuple):
    """What a board, or two of one kind in a host, is built with."""

    name: str
    switch: str  # PCI device id of its NVSwitches, "" where PCI shows none
    gpus: tuple[tuple[str, str], ...]  # ranges of PCI device ids of the GPUs on it
    whole: tuple[Set, ...]
    assigned: tuple[Set, ...]  # further sets that a virtual machine may be given


BOARDS = (
    Board("HGX-2", "0x1ac2", (("0x1d80", "0x1dff"),), (Set(16, 12, 6), Set(8, 6, 6)), (Set(4, 3, 3), Set(2, 1, 1))),
    Board("HGX A100", "0x1af1", (("0x2080", "0x20ff"),), (Set(8, 6, 12), Set(16, 12, 12)), (Set(4, 3, 6), Set(2, 1, 2))),
    Board("HGX H100", "0x22a3", (("0x2300", "0x233f"),), (Set(8, 4, 18),), ()),
    Board("HGX B200", "", BASEBOARD_GPUS, (Set(8, 0, 18),), ()),
)

#: NVLinks of a product, by PCI device id. Export products have fewer than their board: A800 and H800 eight. For other products one
#: link that is up is enough.
LINKS_OF = {
    **dict.fromkeys(("0x1db8",), 6),  # V100 SXM3
    **dict.fromkeys(("0x20b0", "0x20b2"), 12),  # A100 SXM4 40GB, 80GB
    **dict.fromkeys(("0x20bd", "0x20f3", "0x2324"), 8),  # A800 SXM4 40GB, 80GB; H800 SXM5
    **dict.fromkeys(("0x2329", "0x2330", "0x2335", "0x2901", "0x3182"), 18),  # H20, H100 SXM5, H200 SXM5, B200, B300
}

#: Parameters of the nvidia module (name, and part of the value) that switch NVLinks or NVSwitches off on purpose.
LINKS_OFF = (
    ("NvLinkDisable", "1"),
    ("RegistryDwords", "RMNvLinkDisableLinks="),
    ("RegistryDwords", "RMNvLinkEnable="),
    ("RegistryDwordsPerDevice", "RMNvLinkDisableLinks="),
    ("NvSwitchBlacklist", "-"),  # UUIDs
    ("NvSwitchExcludelist", "-"),
)


def is_on(board: Board, device_id: str) -> bool:
    """Whether a GPU of this PCI device id sits on such a board.

    >>> is_on(BOARDS[2], "0x2330"), is_on(BOARDS[2], "0x1eb8")
    (True, False)
    """
    return any(first <= device_id <= last for first, last in board.gpus)


def has_links_built_in(device_id: str) -> bool:
    """Whether NVLinks of a board join all GPUs of this kind: not those of cards, which an NVLink bridge may join in pairs.

    >>> has_links_built_in("0x2330"), has_links_built_in("0x20b5"), has_links_built_in("0x26b9")
    (True, False, False)
    """
    return device_id in LINKS_OF or has_hidden_switches(device_id)


def has_hidden_switches(device_id: str) -> bool:
    """Whether a GPU sits on a board with NVSwitches that PCI does not show.

    >>> has_hidden_switches("0x2901"), has_hidden_switches("0x20b5")
    (True, False)
    """
    return any(first <= device_id <= last for first, last in BASEBOARD_GPUS)
