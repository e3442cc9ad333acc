"""Faults of single versions of NCCL, and the versions that fix them.

Each has its sources (read 2026-11). A fault is listed if NVIDIA confirms it or the library showed it in a test; a version that was merely
measured as slower is not.
"""

from typing import NamedTuple

from hostagent.domains.nccl.tables.changes import COMM_ID_FAULT, Version


class Fault(NamedTuple):
    """A fault of the versions from `since` on, and before `fixed`."""

    code: str
    since: Version
    fixed: Version
    what: str  # completes "NCCL 2.18.1 …"
    source: str


FAULTS: tuple[Fault, ...] = (
    Fault(
        "wrong-results",
        (2, 18, 1),
        (2, 18, 3),
        "can give wrong results where a network card shares its PCIe switch with one GPU only (HGX H100)",
        "NCCL Release Notes, NCCL 2.18.1, Known Issues",
    ),
    Fault(
        "slow-capture",
        (2, 26, 2),
        (2, 27, 5),
        "takes long to capture large CUDA graphs",
        "NVIDIA/nccl releases, v2.27.5-1",
    ),
    Fault(
        "plug-in-path",
        (2, 27, 3),
        (2, 27, 5),
        "takes no path in NCCL_NET_PLUGIN and its like, only names",
        "NVIDIA/nccl issue 1732",
    ),
    Fault(
        "hang-on-arm",
        (2, 29, 2),
        (2, 29, 3),
        "hangs on Arm where it was built by a gcc before 10",
        "NVIDIA/nccl releases, v2.29.3-1",
    ),
    Fault(
        "comm-id",
        *COMM_ID_FAULT,
        "takes an interface that is not in the network that NCCL_COMM_ID names",
        "the libraries themselves, asked with ncclGetUniqueId (tests/real/test_libnccl.py)",
    ),
)


def faults(version: Version) -> tuple[Fault, ...]:
    """The faults of this version.

    >>> [one.code for one in faults((2, 29, 2))], faults((2, 28, 9))
    (['hang-on-arm', 'comm-id'], ())
    """
    return tuple(one for one in FAULTS if one.since <= version < one.fixed)
