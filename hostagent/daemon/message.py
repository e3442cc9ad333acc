"""The message from the main loop to the publisher process: data alone, so that it can be pickled."""

import zlib
from collections.abc import Mapping
from typing import Any, Literal

from hostagent.core.frozen import frozen
from hostagent.engine.report.node_status import NodeWords, Transition

#: What made a pass begin.
Trigger = Literal["start", "interval", "kernel-log", "uevent", "link", "configuration", "confirm"]


@frozen
class Message:
    """The result of one pass; before the first pass without report and summary."""

    node: str  # its name in the scheduler
    words: NodeWords
    summary: Mapping[str, Any]
    packed_report: bytes  # by `packed`
    metrics: str  # Prometheus text of this report, single judgements only where they fail, warn or are unknown
    observed_at: float  # when the pass began to read, seconds since the epoch; 0 before the first one
    judged_by: float  # when it was judged, monotonic seconds; 0 before the first one
    took_s: float
    trigger: Trigger
    passes: Mapping[str, int]  # by trigger, since the loop began
    transitions: Mapping[str, int]  # by condition, since the loop began
    profile_problem: str = ""  # why the profile in force is an older one
    news: tuple[Transition, ...] = ()  # the newest transitions since the loop began
    is_kept: bool = False  # published by an earlier process of this boot: written again only when no pass comes
    is_stale: bool = False  # made by `hostagent.daemon.staleness`

    @property
    def has_pass(self) -> bool:
        return bool(self.judged_by)

    @property
    def report(self) -> str:
        """JSON; "" for none."""
        return zlib.decompress(self.packed_report).decode() if self.packed_report else ""


def packed(report: str) -> bytes:
    """Compressed to a tenth: both processes keep it from pass to pass, and it is seldom requested."""
    return zlib.compress(report.encode(), 1) if report else b""
