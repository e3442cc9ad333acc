"""Hosts that logged Xids; each differs from a healthy one by its kernel log alone."""

from pathlib import Path

from tests.trees import gpuhosts, system
from tests.trees.boards import hgx_b200
from tests.trees.claim import claims
from tests.trees.hosts import hgx_h100
from tests.trees.tree import Tree

_SOURCE = "NVIDIA, Xid Catalog, NVLink 5; NVIDIA/NVSentinel issue 1357; leptonai/gpud pull request 1174"
#: An NVLink 5 fault that ended a job: what the driver asks for is in an Xid 154, if there is one.
_LOST_RESPONSE = "NVRM: Xid (PCI:0000:52:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link {:02} (0x04085a07 0x00000008 0x00000000 0x00000000)"
_ENDED = "NVRM: Xid (PCI:0000:52:00): 45, pid=71{:03}, name=pt_main_thread, Ch 0000000c caused by previous Xid 145"
_RESET = "NVRM: Xid (PCI:0000:52:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
#: What never helps where the driver asks for no recovery.
_NO_RESET = ("gpu-reset", "reboot")


@claims(never=_NO_RESET, twin="hgx-b200", source=_SOURCE)
def hgx_b200_nonfatal(root: Path) -> Tree:
    """A response over NVLink was lost and ended a job: nonfatal, and the driver asks for no recovery."""
    tree = hgx_b200(root)
    system.log_kernel(tree, _LOST_RESPONSE.format(11), _ENDED.format(40), _ENDED.format(41))
    return tree


@claims("gpu.xid", twin="hgx-b200-nonfatal", source="NVIDIA, Xid Catalog, Xid 154")
def hgx_b200_nonfatal_then_reset(root: Path) -> Tree:
    """The same, and then the driver asks for a reset of that GPU (Xid 154)."""
    tree = hgx_b200_nonfatal(root)
    system.log_kernel(tree, _RESET)
    return tree


@claims("gpu.xid", twin="hgx-b200-nonfatal")
def hgx_b200_nonfatal_storm(root: Path) -> Tree:
    """The same on all links of the GPU, hundreds of times within minutes: no job gets through."""
    tree = hgx_b200(root)
    records = (_LOST_RESPONSE.format(number % 18) if number % 12 else _ENDED.format(number) for number in range(240))
    system.log_kernel(tree, *records)
    return tree


@claims("gpu.xid", twin="hgx-b200", source="NVIDIA, Xid Catalog, NVLink 5; leptonai/gpud pull request 1160")
def hgx_b200_link_fatal(root: Path) -> Tree:
    """A link went down because of its other end."""
    tree = hgx_b200(root)
    system.log_kernel(
        tree, "NVRM: Xid (PCI:0000:52:00): 149, NETIR_LINK_DOWN Fatal XC0 i0 Link 03 (0x02500011 0x00000000 0x00000000 0x00000000)"
    )
    return tree


@claims(twin="hgx-b200", source="NVIDIA, Xid Catalog, NVLink 5")
def hgx_b200_corrected(root: Path) -> Tree:
    """The hardware corrected an error of an NVLink buffer: nothing to do."""
    tree = hgx_b200(root)
    system.log_kernel(
        tree, "NVRM: Xid (PCI:0000:52:00): 145, RLW_TAGSTATE Nonfatal XC0 i0 Link 05 (0x04004808 0x00000001 0x00000000 0x00000000)"
    )
    return tree


@claims(
    "gpu.xid", never=_NO_RESET, twin="hgx-h100-ubuntu2404", source="NVIDIA, Xid Catalog, workflow of Xid 74; NVIDIA/NVSentinel issue 364"
)
def hgx_h100_link_corrected(root: Path) -> Tree:
    """Xid 74 of a Hopper GPU whose registers name corrected errors alone."""
    tree = hgx_h100(root)
    system.log_kernel(
        tree,
        "NVRM: Xid (PCI:0000:1b:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14(0x0, 0x0, 0x0, 0x0, 0x100000, 0x0, 0x0)",
    )
    return tree


@claims("gpu.xid", twin="g5-contained-error", source="NVIDIA open-gpu-kernel-modules, row remapper messages")
def g5_remapped_twice(root: Path) -> Tree:
    """A row that waits to be remapped failed again (Xid 64): a reset ends it, no board has to go."""
    tree = gpuhosts.g5_contained_error(root)
    system.log_kernel(
        tree,
        "NVRM: Xid (PCI:0000:1b:00): 64, pid=8810, name=python3, Row Remapper: (0x0000000000f1c7c4) - Attempting to remap a row that is already "
        "pending remapping. Remapping will occur when the GPU is reset",
    )
    return tree
