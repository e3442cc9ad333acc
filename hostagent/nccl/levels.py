"""Distances as NCCL reads them: words in capitals, or numbers of old (NVIDIA/nccl, src/graph/paths.cc, ncclGetLevel)."""

from hostagent.knowledge.ncclchanges import Version
from hostagent.knowledge.ncclvariables import NUMBERED_LEVELS, levels
from hostagent.nccl.numbers import parse_number


def read_level(value: str, version: Version) -> str:
    """The word that counts; "" where NCCL ignores the value.

    >>> [read_level(text, (2, 28, 9)) for text in ("PXB", "pxb", "2", "9", "P2C ")]
    ['PXB', '', 'PXB', 'SYS', '']
    """
    if value in levels(version):
        return value
    if not value[:1].isascii() or not value[:1].isdecimal():
        return ""
    number = parse_number(value)
    return NUMBERED_LEVELS[min(number if number is not None else len(NUMBERED_LEVELS), len(NUMBERED_LEVELS) - 1)]


def is_within(distance: str, level: str, version: Version) -> bool:
    """Whether a GPU and a card that are so far from each other are near enough; all host bridges of a CPU are PHB to NCCL.

    >>> is_within("PXB", "PIX", (2, 28, 9)), is_within("NODE", "PHB", (2, 28, 9)), is_within("P2C", "PXB", (2, 29, 7))
    (False, True, False)
    """
    known = levels(version)
    word = "PHB" if distance == "NODE" else distance
    return word in known and known.index(word) <= known.index(level)
