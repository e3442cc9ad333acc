"""Levels of NCCL_NET_GDR_LEVEL and NCCL_P2P_LEVEL: how far apart a GPU and a card, or two GPUs, may be.

Source: NVIDIA/nccl, src/graph/paths.cc (ncclGetLevel, ncclTopoCheckGdr) and src/graph/topo.h. No library here can be asked.
"""

from hostagent.domains.nccl.numbers import parse_number
from hostagent.domains.nccl.tables.changes import Version
from hostagent.domains.nccl.tables.variables import NUMBERED_LEVELS, levels

_C2C = "P2C"
#: What NCCL calls the way over several host bridges of one NUMA node, and over C2C before it has a word for that.
_AS_PHB = ("NODE", _C2C)
#: Above PXB NCCL takes no way between GPUs, but in a pair below CPUs of AMD.
_AMD_PAIR = 2


def parse_level(text: str, version: Version) -> str:
    """The level in effect, "" where NCCL ignores the value: case matters, and so does a space. A number is the old spelling.

    >>> [parse_level(text, (2, 28, 9)) for text in ("PHB", "phb", "2", "9", "PXB ", "0x1", "")]
    ['PHB', '', 'PXB', 'SYS', '', 'PIX', '']
    """
    if text in levels(version):
        return text
    if not text[:1].isascii() or not text[:1].isdecimal():
        return ""
    number = parse_number(text)
    return NUMBERED_LEVELS[-1] if number is None else NUMBERED_LEVELS[min(number, len(NUMBERED_LEVELS) - 1)]


def default_peer_level(gpus: int, cpu_vendor: str) -> str:
    """How far apart two GPUs of a job may be that NCCL lets reach each other's memory, if no setting says so (ncclTopoCheckP2p).

    >>> default_peer_level(2, "amd"), default_peer_level(2, "intel"), default_peer_level(8, "amd")
    ('SYS', 'PXB', 'PXB')
    """
    return "SYS" if cpu_vendor == "amd" and gpus <= _AMD_PAIR else "PXB"


def is_within(distance: str, level: str, version: Version) -> bool:
    """Whether a way of this class (`hostagent.domains.topology.distance.CLASSES`) is no longer than the level.

    >>> [is_within(way, "PXB", (2, 28, 9)) for way in ("LOC", "PIX", "PXB", "P2C", "PHB", "NODE", "SYS")]
    [True, True, True, False, False, False, False]
    """
    known = levels(version)
    word = distance if distance in known else "PHB" if distance in _AS_PHB else "SYS"
    return known.index(word) <= known.index(level)
