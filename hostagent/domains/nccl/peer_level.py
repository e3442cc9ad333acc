"""Which pairs of GPUs of one host NCCL joins by peer access over PCIe: those no further apart than the level in effect.

Source: NVIDIA/nccl, src/graph/paths.cc (ncclTopoCheckP2p, ncclGetLevel).
"""

from typing import NamedTuple

from hostagent.core.unread import Unread, need
from hostagent.domains.nccl.devices import version, winning
from hostagent.domains.nccl.levels import default_peer_level, is_within, parse_level
from hostagent.domains.nccl.numbers import parse_number
from hostagent.domains.nccl.tables.changes import NEWEST, Version
from hostagent.facts.nccl import Nccl

_DISABLE, _LEVEL = "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"
_CLOSED = "LOC"


class PeerLevel(NamedTuple):
    """The level in effect."""

    word: str
    version: Version
    setting: str  # NCCL_P2P_LEVEL=PHB; "" for NCCL's default

    @property
    def is_closed(self) -> bool:
        """A setting keeps NCCL from all ways between GPUs."""
        return self.word == _CLOSED

    def reaches(self, distance: str) -> bool:
        """Whether NCCL joins two GPUs that are this far apart."""
        return is_within(distance, self.word, self.version)


def peer_level(nccl: "Nccl | Unread", gpus: int, cpu_vendor: str) -> PeerLevel:
    """The level of a job on all `gpus` GPUs. Settings that were not read change nothing."""
    settings = {} if isinstance(nccl, Unread) or isinstance(nccl.settings, Unread) else winning(nccl)
    found = None if isinstance(nccl, Unread) else version(nccl)
    release = NEWEST if isinstance(found, Unread) or found is None else need(found)
    if parse_number(settings.get(_DISABLE, "")) == 1:
        return PeerLevel(_CLOSED, release, f"{_DISABLE}={settings[_DISABLE]}")
    if word := parse_level(settings.get(_LEVEL, ""), release):
        return PeerLevel(word, release, f"{_LEVEL}={settings[_LEVEL]}")
    return PeerLevel(default_peer_level(gpus, cpu_vendor), release, "")
