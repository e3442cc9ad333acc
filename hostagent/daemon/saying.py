"""What the loop gives the teller: data alone, so that it goes through a socket."""

import zlib
from collections.abc import Mapping
from typing import Any, Literal

from hostagent.facts.frozen import frozen
from hostagent.report.nodewords import NodeWords

#: What made a pass begin.
Trigger = Literal["start", "interval", "kernel-log", "uevent", "configuration", "confirm"]


@frozen
class Saying:
    """What came of one pass. ``is_first``: the words of a start without a verdict of this boot (no report, no summary)."""

    node: str  # what schedulers call it
    words: NodeWords
    summary: Mapping[str, Any]
    packed_report: bytes  # by `packed`
    metrics: str  # Prometheus text of this report, single judgements only where they fail, warn or are unknown
    observed_at: float
    took_s: float
    trigger: Trigger
    passes: Mapping[str, int]  # by trigger, since the loop began
    transitions: Mapping[str, int]  # by condition, since the loop began
    profile_problem: str = ""  # why the profile in force is an older one
    is_first: bool = False

    @property
    def report(self) -> str:
        """JSON; "" for none."""
        return zlib.decompress(self.packed_report).decode() if self.packed_report else ""


def packed(report: str) -> bytes:
    """A tenth of its size: both processes keep it from pass to pass, and it is seldom asked for."""
    return zlib.compress(report.encode(), 1) if report else b""
