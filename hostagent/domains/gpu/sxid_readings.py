"""The meaning of an SXid by its number and by the severity in its line."""

import re
from typing import Literal, NamedTuple

from hostagent.core.tables.kernel_log import SXID_FATAL
from hostagent.domains.gpu.tables.sxids import BY_LINE, Effect, SxidMeaning, sxid_meaning
from hostagent.facts.gpu import Xid

Weight = Literal["none", "non-fatal", "stalls", "fatal"]

_FATAL = re.compile(SXID_FATAL)
_WEIGHTS: dict[Effect, Weight] = {"none": "none", "job": "non-fatal", "stalls": "stalls", "line": "non-fatal"}


class SxidReading(NamedTuple):
    """What one of the log's SXids means."""

    weight: Weight
    meaning: SxidMeaning

    @property
    def needs_reset(self) -> bool:
        """Whether no job gets through the switch before a reset."""
        return self.weight in ("stalls", "fatal")


def read_sxid(one: Xid) -> SxidReading:
    """The meaning of an SXid; the line's word Fatal wins.

    >>> from hostagent.core.unread import Unread
    >>> gap = Unread("not-recorded")
    >>> line = "nvidia-nvswitch3: SXid (PCI:0000:0a:00.0): 22013, {}, Link 55 Minion Link DLREQ interrupt"
    >>> [read_sxid(Xid("0000:0a:00.0", 22013, line.format(word), 1, gap, "", gap, gap)).weight for word in ("Non-fatal", "Fatal")]
    ['none', 'fatal']
    """
    known = sxid_meaning(one.code)
    if _FATAL.search(one.line):
        meaning = "" if known.effect == "none" else known.meaning  # that of the harmless kind
        return SxidReading("fatal", known._replace(meaning=meaning, action=BY_LINE))
    return SxidReading(_WEIGHTS[known.effect], known)
